# cmake -DOUT=header -DFLAGS=text -P hash.cmake: writes PLIM_KERNELS_HASH, 12 digits that change when a kernel source,
# the compiler or its flags do. Measured times and bits are good for one such hash only.
file(GLOB_RECURSE sources ${CMAKE_CURRENT_LIST_DIR}/*)
list(SORT sources)
set(text "${FLAGS}")
foreach(source ${sources})
  file(SHA256 ${source} digest)
  file(RELATIVE_PATH name ${CMAKE_CURRENT_LIST_DIR} ${source})
  string(APPEND text "\n${name} ${digest}")
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING ${digest} 0 12 digest)
file(WRITE ${OUT} "#define PLIM_KERNELS_HASH \"${digest}\"\n")
