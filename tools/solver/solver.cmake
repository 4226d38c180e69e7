# plimsoll-solver, which the libraries start for the exact planners. It links no malloc of its own: a solver's library and
# we then share the system's. It is in bin/ below the libraries of a build, where they look for it.
add_executable(plimsoll-solver ${CMAKE_CURRENT_LIST_DIR}/solver_main.c ${CMAKE_CURRENT_LIST_DIR}/solver_process.c)
plim_own(plimsoll-solver)
target_link_libraries(plimsoll-solver PRIVATE plimsoll-plan)
set_target_properties(plimsoll-solver PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
