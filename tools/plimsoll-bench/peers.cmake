# Published planners, and buffers made up by seed: for plimsoll-bench and tests, no part of a library.
set(peers peers fastsa revolve coarse tight_boxes joint_case)
list(TRANSFORM peers REPLACE "(.+)" "tools/plimsoll-bench/\\1.c")
add_library(plim_peers STATIC EXCLUDE_FROM_ALL ${peers})
plim_own(plim_peers)
target_link_libraries(plim_peers PUBLIC plimsoll-plan)
