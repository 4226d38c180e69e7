# plim_source_hash(header MACRO folder...): what a part was built from, a header made anew when a file of its folders
# changes (hash.cmake).
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
function(plim_source_hash header name)
  string(REPLACE ";" " " folders "${ARGN}")
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  add_custom_command(OUTPUT ${header} DEPENDS ${files} ${PROJECT_SOURCE_DIR}/kernels/hash.cmake
    COMMAND ${CMAKE_COMMAND} -DOUT=${header} -DNAME=${name} "-DFOLDERS=${folders}"
      "-DFLAGS=${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}} ${PLIM_SANITIZE}"
      -P ${PROJECT_SOURCE_DIR}/kernels/hash.cmake VERBATIM)
endfunction()
