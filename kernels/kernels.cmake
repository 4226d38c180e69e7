# Kernels: everything in kernels/*.c is compiled once.
file(GLOB kernel_sources CONFIGURE_DEPENDS kernels/*.c)
list(FILTER kernel_sources EXCLUDE REGEX "/op\\.c$")
if(NOT kernel_sources)
  set(kernel_sources kernels/op.c)
endif()
add_library(plim_kernels STATIC ${kernel_sources})
target_link_libraries(plim_kernels PUBLIC plim_flags OpenMP::OpenMP_C m)
