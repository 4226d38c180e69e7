# Kernels. kernels/*.c is compiled once, for the base instruction set; oneDNN is used where it is found.
file(GLOB kernel_sources CONFIGURE_DEPENDS kernels/*.c)
list(FILTER kernel_sources EXCLUDE REGEX "/op\\.c$")
foreach(name kernels gemm conv dnn dnn_conv dnn_descriptor dnn_engines)
  list(APPEND kernel_sources kernels/cuda/${name}.c)
endforeach()

option(PLIM_ONEDNN "Use oneDNN where it is found" ON)
if(PLIM_ONEDNN)
  find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
  find_library(DNNL_LIBRARY dnnl)
endif()
set(dnnl_major 0)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  file(STRINGS ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h dnnl_line REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX REPLACE ".* " "" dnnl_major "${dnnl_line}")
endif()
if(dnnl_major EQUAL 2) # version 3 has another C API
  set(PLIM_HAVE_ONEDNN ON)
else()
  list(FILTER kernel_sources EXCLUDE REGEX "/onednn[a-z_]*\\.c$")
  list(APPEND kernel_sources kernels/absent/onednn.c)
endif()

# The bodies, once an instruction set and storage type. Only these objects are compiled with -march: everything else, the choice among
# them included, runs on any CPU. Optimized in every build type: unoptimized they are a hundred times slower.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(isa_V2 -march=x86-64-v2)
  set(isa_V3 -march=x86-64-v3)
  # Vectors of 256 bits: reading from memory, where these ops spend their time, is 10 to 15 % faster than with 512.
  set(isa_V4 -march=x86-64-v4 -mprefer-vector-width=256)
  set(isas V2 V3 V4)
else()
  set(isas GENERIC)
endif()
set(kernel_optimization -O3 --param=unroll-jam-max-unroll=1) # unroll-and-jam breaks vector loops apart
if(PLIM_SANITIZE)
  set(kernel_optimization -O1) # the sanitizers' checks make the rest slow to compile and no faster
endif()
set(kernel_objects)
function(add_bodies name isa)
  add_library(${name} OBJECT kernels/cpu/bodies.c)
  target_link_libraries(${name} PRIVATE plim_flags)
  target_compile_definitions(${name} PRIVATE K_TABLE=${name} ${ARGN})
  target_compile_options(${name} PRIVATE -fopenmp-simd ${kernel_optimization} ${isa_${isa}})
endfunction()
foreach(isa ${isas})
  add_bodies(plim_bodies_${isa} ${isa})
  add_bodies(plim_bodies_${isa}_bf16 ${isa} K_BF16)
  list(APPEND kernel_objects $<TARGET_OBJECTS:plim_bodies_${isa}> $<TARGET_OBJECTS:plim_bodies_${isa}_bf16>)
endforeach()

# CUDA where nvcc is found; see below.
option(PLIM_CUDA "Compile the kernels for CUDA where nvcc is found" ON)
if(PLIM_CUDA AND NOT PLIM_SANITIZE)
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
  endif()
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  list(APPEND kernel_sources kernels/absent/cuda.c)
endif()

add_library(plim_kernels STATIC ${kernel_sources} ${kernel_objects})
target_link_libraries(plim_kernels PUBLIC plim_flags OpenMP::OpenMP_C m)
if(PLIM_HAVE_ONEDNN)
  target_compile_definitions(plim_kernels PUBLIC PLIM_HAVE_ONEDNN)
  target_include_directories(plim_kernels SYSTEM PRIVATE ${DNNL_INCLUDE_DIR})
  target_link_libraries(plim_kernels PUBLIC ${DNNL_LIBRARY})
endif()

# The same bodies for CUDA, where nvcc is found. Nothing on the CPU depends on them. The runtime library is linked
# statically and finds the driver at run time, so that programs start where there is none. No fused multiply-adds, as on
# the CPU: what sums nothing over lanes gives the CPU's bits.
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  add_library(plim_kernels_cuda STATIC kernels/cuda/bodies.cu kernels/cuda/bodies_bf16.cu kernels/cuda/driver.c
    kernels/cuda/cublas.c kernels/cuda/cudnn.c kernels/cuda/library.c kernels/cuda/nvml.c)
  target_include_directories(plim_kernels_cuda PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(plim_kernels_cuda PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xptxas --warn-on-spills -fmad=false>"
    "$<$<COMPILE_LANGUAGE:C>:SHELL:-Wall -Wextra -Wshadow -Werror>")
  target_compile_features(plim_kernels_cuda PRIVATE cuda_std_17)
  target_compile_definitions(plim_kernels_cuda INTERFACE PLIM_HAVE_CUDA)
  target_link_libraries(plim_kernels_cuda PUBLIC CUDA::cudart_static stdc++ ${CMAKE_DL_LIBS})
  target_link_libraries(plim_kernels PUBLIC plim_kernels_cuda)
endif()

# What the compiler makes of them, in words, for tests to read: the instructions of the kernels of a storage type, and the
# registers that they take on each architecture.
set(plim_cuda_reports)
if(CMAKE_CUDA_COMPILER)
  find_program(PTXAS ptxas HINTS ${CUDAToolkit_BIN_DIR})
  file(GLOB body_sources CONFIGURE_DEPENDS kernels/*.h kernels/bodies/*.inc kernels/cuda/*.inc)
  function(report_kernels name)
    set(to ${CMAKE_BINARY_DIR}/ptx/${name})
    set(reports ${to}.ptx)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/ptx)
    add_custom_command(OUTPUT ${to}.ptx DEPENDS kernels/cuda/${name}.cu ${body_sources} VERBATIM
      COMMAND ${CMAKE_CUDA_COMPILER} -ptx -std=c++17 -O3 -fmad=false -arch=compute_75 -I${CMAKE_SOURCE_DIR}
        -o ${to}.ptx ${CMAKE_SOURCE_DIR}/kernels/cuda/${name}.cu)
    foreach(sm 75 80 90)
      list(APPEND reports ${to}.sm_${sm}.txt)
      add_custom_command(OUTPUT ${to}.sm_${sm}.txt DEPENDS ${to}.ptx VERBATIM
        COMMAND sh -c "\"$0\" -v -arch=sm_${sm} -o /dev/null \"$1.ptx\" 2> \"$1.sm_${sm}.txt\"" ${PTXAS} ${to})
    endforeach()
    set(plim_cuda_reports ${plim_cuda_reports} ${reports} PARENT_SCOPE)
  endfunction()
  if(PTXAS)
    report_kernels(bodies)
    report_kernels(bodies_bf16)
  endif()
endif()

# Kernels beside a memcpy of the same bytes; built on request: ninja bench_kernels.
add_executable(bench_kernels EXCLUDE_FROM_ALL tools/bench_kernels.c)
target_link_libraries(bench_kernels PRIVATE plim_kernels plimsoll-plan)
