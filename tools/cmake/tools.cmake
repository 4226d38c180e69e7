# Functions of this build. Flags are set on our own targets alone, so that none reaches a program that links them.
set(plim_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
set(plim_c_warnings -Wstrict-prototypes -Wmissing-prototypes)
if(PLIM_WERROR)
  list(APPEND plim_warnings -Werror)
endif()
set(plim_sanitizers ${PLIM_SANITIZE})
if(PLIM_FUZZ)
  set(plim_sanitizers fuzzer-no-link,address,undefined)
endif()

# plim_own(TARGET): compile one of our targets as all of them are compiled.
function(plim_own target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tools/include
    ${PROJECT_BINARY_DIR}/generated)
  target_include_directories(${target} SYSTEM PRIVATE ${JANSSON_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L PLIM_VERSION="${PROJECT_VERSION}")
  # One object serves both libraries: no one may replace a function of ours inside the shared one, so it can be inlined.
  target_compile_options(${target} PRIVATE ${plim_warnings} "$<$<COMPILE_LANGUAGE:C>:${plim_c_warnings}>"
    -ffp-contract=off -fno-semantic-interposition)
  if(plim_sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${plim_sanitizers} -fno-sanitize-recover=all
      -fno-omit-frame-pointer -g1)
    target_link_options(${target} PRIVATE -fsanitize=${plim_sanitizers})
    target_compile_definitions(${target} PRIVATE PLIM_SANITIZED PLIM_SANITIZE_NAME="${plim_sanitizers}")
  endif()
endfunction()

# plim_run(TARGET): the same for what libplimsoll is made of, or calls.
function(plim_run target)
  plim_own(${target})
  target_include_directories(${target} SYSTEM PRIVATE ${ZLIB_INCLUDE_DIRS})
  separate_arguments(flags UNIX_COMMAND "${OpenMP_C_FLAGS}")
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${flags}>")
  target_compile_definitions(${target} PRIVATE ${plim_have})
endfunction()

# plim_program(TARGET): the same for a program, or a library of one; it links libplimsoll.
function(plim_program target)
  plim_run(${target})
  target_link_libraries(${target} PRIVATE plimsoll ${JANSSON_LINK_LIBRARIES} ${plim_program_links})
endfunction()

# plim_exports(NAME FILE): writes what the linker lets others see of a shared library: the functions that its public
# headers name, as version PLIMSOLL_n. libplimsoll calls more of libplimsoll-plan than these; they have the version
# PLIMSOLL_PRIVATE, and no one else may rely on them. Where libplimsoll-plan is built alone there are none.
function(plim_exports name file)
  set(names)
  set(headers ${plim_run_headers})
  if(name STREQUAL plan)
    set(headers ${plim_plan_headers})
  endif()
  foreach(header ${headers})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "plim_[a-z0-9_]+\\(")
    string(REGEX MATCHALL "plim_[a-z0-9_]+\\(" found "${lines}")
    list(APPEND names ${found})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  endforeach()
  list(SORT names)
  list(REMOVE_DUPLICATES names)
  string(CONCAT names ${names})
  string(REPLACE "(" ";\n    " names "${names}")
  set(rest "\n  local: *;\n};\n")
  if(name STREQUAL plan AND NOT PLIM_PLAN_ONLY)
    set(rest "\n};\nPLIMSOLL_PRIVATE {\n  global: plim_*;\n  local: *;\n};\n")
  endif()
  file(CONFIGURE OUTPUT ${file} CONTENT "PLIMSOLL_${PROJECT_VERSION_MAJOR} {\n  global:\n    ${names}${rest}" @ONLY)
endfunction()

# plim_library(NAME FILE OBJECTS): libFILE.a as target FILE, and libFILE.so as FILE-shared where PLIM_SHARED is on.
# plimsoll::NAME is the shared one where there is one; plimsoll::NAME-static always is the other.
function(plim_library name file objects)
  add_library(${file} STATIC ${objects})
  add_library(plimsoll::${name}-static ALIAS ${file})
  set(libraries ${file})
  set_target_properties(${file} PROPERTIES EXPORT_NAME ${name}-static)
  if(PLIM_SHARED)
    set(exports ${PROJECT_BINARY_DIR}/generated/${file}.map)
    plim_exports(${name} ${exports})
    add_library(${file}-shared SHARED ${objects})
    add_library(plimsoll::${name} ALIAS ${file}-shared)
    set_target_properties(${file}-shared PROPERTIES OUTPUT_NAME ${file} EXPORT_NAME ${name} LINK_DEPENDS ${exports}
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_link_options(${file}-shared PRIVATE LINKER:--version-script=${exports} LINKER:-Bsymbolic-functions
      LINKER:--no-undefined LINKER:--as-needed)
    list(APPEND libraries ${file}-shared)
  else()
    add_library(plimsoll::${name} ALIAS ${file})
  endif()
  foreach(library ${libraries})
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/tools/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/plimsoll>)
    if(NOT name STREQUAL plan)
      string(REPLACE plimsoll plimsoll-plan other ${library})
      target_link_libraries(${library} PUBLIC ${other})
      # Installed, they lie in one folder. The run path of a program does not serve what its libraries need.
      set_target_properties(${library} PROPERTIES INSTALL_RPATH "\$ORIGIN")
    endif()
  endforeach()
endfunction()

# plim_library_needs(NAME LIBRARIES NAMES): what it links, as found here, and as -lNAME once installed.
function(plim_library_needs name libraries names)
  set(file plimsoll)
  if(name STREQUAL plan)
    set(file plimsoll-plan)
  endif()
  list(REMOVE_ITEM libraries "")
  list(REMOVE_ITEM names "")
  foreach(target ${file} ${file}-shared)
    if(TARGET ${target})
      target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${libraries}>" "$<INSTALL_INTERFACE:${names}>")
    endif()
  endforeach()
  set(static_links)
  foreach(link ${names})
    string(APPEND static_links " -l${link}")
  endforeach()
  string(REPLACE "-l-" "-" static_links "${static_links}") # of -lNAME and -LFOLDER
  set(plim_${name}_static_links "${static_links}" PARENT_SCOPE)
endfunction()

# plim_needs_run(FILE RESULT): does a source include what libplimsoll-plan has not, directly or through tests/support?
# plim_run_support lists the files there that do.
function(plim_needs_run file result)
  set(${result} OFF PARENT_SCOPE)
  file(STRINGS ${file} includes REGEX "^#include [<\"]")
  foreach(include ${includes})
    string(REGEX REPLACE "^#include [<\"](.*)[>\"].*" "\\1" include "${include}")
    string(REGEX REPLACE "^tests/support/(.*)\\.h$" "\\1" support "${include}")
    if(include MATCHES "^(runtime/(net|device|profile|exec|program|data|train)|tools|kernels)/|^plimsoll/plimsoll.h$"
        AND NOT include MATCHES "^kernels/(op|philox|fnv)\\.h$|^tools/plimsoll-bench/(peers|tight_boxes)" OR support IN_LIST plim_run_support)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# plim_wants(OPTION FOUND WHAT): an option's AUTO becomes ON or OFF; ON without the thing itself is an error.
macro(plim_wants option found what)
  if(${option} STREQUAL AUTO)
    set(${option} OFF)
    if(${found})
      set(${option} ON)
    endif()
  elseif(${option} AND NOT ${found})
    message(FATAL_ERROR "${option} is ON, and ${what} was not found")
  endif()
endmacro()

# plim_note(WHAT USED VERSION COST): a line of the summary: what is used, or what it costs to be without.
set(plim_notes "")
macro(plim_note what used version cost)
  if(${used})
    string(APPEND plim_notes "  ${what} ${version}\n")
  else()
    string(APPEND plim_notes "  ${what}: none. ${cost}\n")
  endif()
endmacro()

# plim_requires(WHAT FOUND VERSION PACKAGE): the same of what is needed; PACKAGE is where Debian has it.
macro(plim_requires what found version package)
  if(NOT ${found})
    message(FATAL_ERROR "${what} was not found, or is too old, and is needed. In Debian: ${package}.")
  endif()
  plim_note("${what}" ON "${version}" "")
endmacro()

function(plim_summary)
  set(built libplimsoll-plan)
  if(NOT PLIM_PLAN_ONLY)
    string(APPEND built ", libplimsoll, program")
  endif()
  set(as static)
  if(PLIM_SHARED)
    string(APPEND as " and shared")
  endif()
  message(STATUS "Plimsoll ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}: ${built}; libraries ${as}\n${plim_notes}")
endfunction()
