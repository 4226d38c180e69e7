# The programs. Only programs link jemalloc: a library that did would replace its host's malloc.
pkg_check_modules(JEMALLOC jemalloc)
plim_wants(PLIM_JEMALLOC JEMALLOC_FOUND jemalloc)
set(plim_program_links)
if(PLIM_JEMALLOC)
  list(APPEND plim_have PLIM_HAVE_JEMALLOC)
  set(plim_program_links ${JEMALLOC_LINK_LIBRARIES})
endif()
plim_note(jemalloc ${PLIM_JEMALLOC} "${JEMALLOC_VERSION}" "The program uses the system's malloc; --addresses jemalloc is refused (Debian: libjemalloc-dev).")

# The stepper's screen needs ncurses; without it the stepper reads lines.
pkg_check_modules(CURSES ncursesw)
plim_wants(PLIM_CURSES CURSES_FOUND ncurses)
file(GLOB cli_sources CONFIGURE_DEPENDS tools/plimsoll/*.c tools/plimsoll/trace/*.c)
if(PLIM_CURSES)
  list(APPEND plim_have PLIM_HAVE_CURSES)
  list(APPEND plim_program_links ${CURSES_LINK_LIBRARIES})
else()
  list(FILTER cli_sources EXCLUDE REGEX "/trace_(screen|draw|terminal|spaces_screen)\\.c$")
endif()
plim_note(ncurses ${PLIM_CURSES} "${CURSES_VERSION}" "plimsoll trace step reads lines; it has no screen (Debian: libncurses-dev).")

# The commands are a library, so that a test can link them with a fake GPU.
list(REMOVE_ITEM cli_sources ${PROJECT_SOURCE_DIR}/tools/plimsoll/main.c)
set(trace_page ${PROJECT_BINARY_DIR}/generated/trace_page.h)
set(embed ${PROJECT_SOURCE_DIR}/tools/cmake/embed.cmake)
set(page ${PROJECT_SOURCE_DIR}/tools/plimsoll/trace/trace_page.html)
add_custom_command(OUTPUT ${trace_page} DEPENDS ${page} ${embed} VERBATIM
  COMMAND ${CMAKE_COMMAND} -DFROM=${page} -DOUT=${trace_page} -DNAME=trace_page -P ${embed})
add_library(plim_space_commands STATIC ${cli_sources} ${trace_page})
plim_program(plim_space_commands)
target_compile_definitions(plim_space_commands PRIVATE _GNU_SOURCE)
add_executable(plimsoll-cli tools/plimsoll/main.c)
plim_program(plimsoll-cli)
target_compile_definitions(plimsoll-cli PRIVATE _GNU_SOURCE)
set_target_properties(plimsoll-cli PROPERTIES OUTPUT_NAME plimsoll)
target_link_libraries(plimsoll-cli PRIVATE plim_space_commands)
add_dependencies(plimsoll-cli plimsoll-solver)

# plimsoll bench runs this one, which lies beside it.
file(GLOB bench_sources CONFIGURE_DEPENDS tools/plimsoll-bench/bench_*.c tools/plimsoll-bench/published_*.c)
add_executable(plimsoll-bench ${bench_sources})
plim_program(plimsoll-bench)
target_link_libraries(plimsoll-bench PRIVATE plim_space_commands plim_peers)
add_dependencies(plimsoll-bench plimsoll-solver)
add_dependencies(plimsoll-cli plimsoll-bench)

# The man page and the shells' completions are printed by the program itself, from its table of options.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(plim_texts "")
  foreach(text "plimsoll.1 help --man" "plimsoll.bash completion bash" "_plimsoll completion zsh" "plimsoll.fish completion fish")
    separate_arguments(words UNIX_COMMAND "${text}")
    list(POP_FRONT words name)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/share/${name} DEPENDS plimsoll-cli VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
      COMMAND plimsoll-cli ${words} > ${PROJECT_BINARY_DIR}/share/${name})
    list(APPEND plim_texts ${PROJECT_BINARY_DIR}/share/${name})
  endforeach()
  add_custom_target(plimsoll-texts ALL DEPENDS ${plim_texts})
endif()

# Kernels beside a memcpy of the same bytes; built on request: --target bench_kernels.
add_executable(bench_kernels EXCLUDE_FROM_ALL tools/bench_kernels.c)
plim_program(bench_kernels)
