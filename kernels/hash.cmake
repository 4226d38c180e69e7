# cmake -DOUT=header -DNAME=macro -DFOLDERS="a b" -DFLAGS=text -P hash.cmake: writes the macro, 12 digits that change
# when a source of these folders, the compiler or its flags do. Measured times, bits and kept plans are good for one such
# hash only.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
separate_arguments(FOLDERS)
list(TRANSFORM FOLDERS REPLACE "(.+)" "${root}/\\1/*" OUTPUT_VARIABLE patterns)
file(GLOB_RECURSE sources ${patterns})
list(SORT sources)
set(text "${FLAGS}")
foreach(source ${sources})
  file(SHA256 ${source} digest)
  file(RELATIVE_PATH name ${root} ${source})
  string(APPEND text "\n${name} ${digest}")
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING ${digest} 0 12 digest)
file(WRITE ${OUT} "#define ${NAME} \"${digest}\"\n")
