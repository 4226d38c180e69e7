# libplimsoll-plan with the static jansson of this system inside, its names hidden: our objects and jansson's are linked
# into one object that keeps plim_* alone. libplimsoll passes jansson's values to libplimsoll-plan, so that both must
# have the same jansson: only a build of libplimsoll-plan alone can have its own.
if(NOT PLIM_PLAN_ONLY)
  message(FATAL_ERROR "PLIM_BUNDLE_JANSSON needs PLIM_PLAN_ONLY: libplimsoll and libplimsoll-plan share jansson's values")
endif()
find_library(JANSSON_STATIC libjansson.a HINTS ${JANSSON_LIBDIR} ${JANSSON_STATIC_LIBRARY_DIRS})
if(NOT JANSSON_STATIC)
  message(FATAL_ERROR "PLIM_BUNDLE_JANSSON needs libjansson.a, which was not found")
endif()
# Distributions compile the archive for programs: it refers to `stdin` as only a program may. It does so to name the
# file in an error, and only when told to read one, which we never do.
set(jansson ${PROJECT_BINARY_DIR}/generated/jansson.o)
set(no_stdin ${PROJECT_BINARY_DIR}/generated/no_stdin.c)
file(WRITE ${no_stdin} "void *bundle_no_stdin;\n")
add_library(plim_bundle OBJECT ${no_stdin})
add_custom_command(OUTPUT ${jansson} DEPENDS ${JANSSON_STATIC} VERBATIM
  COMMAND ${CMAKE_LINKER} -r -o ${jansson} --whole-archive ${JANSSON_STATIC}
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdin=bundle_no_stdin ${jansson})
set(bundle ${PROJECT_BINARY_DIR}/generated/plan_bundle.o)
add_custom_command(OUTPUT ${bundle} DEPENDS ${jansson} plim_plan_objects plim_bundle VERBATIM COMMAND_EXPAND_LISTS
  COMMAND ${CMAKE_LINKER} -r -o ${bundle} $<TARGET_OBJECTS:plim_plan_objects> $<TARGET_OBJECTS:plim_bundle> ${jansson}
  COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=plim_*" ${bundle})
set_source_files_properties(${bundle} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_custom_target(plim_bundled DEPENDS ${bundle})
set(plan_objects ${bundle})
