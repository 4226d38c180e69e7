/* The command line under test. */
#include "tests/support/child_program.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/folder.h"

static program_run last;

static void read_back(const char *name, char *to, size_t size) {
  FILE *file = fopen(plim_test_path(name), "rb");
  size_t got = file ? fread(to, 1, size - 1, file) : 0;
  to[got] = 0;
  if (file) (void)fclose(file);
}

/* worked PID TICKS: wait until a process has used so much of the CPU; fails when it ended before, or after a minute. */
#define WORKED                                                                                    \
  "worked() { for n in $(seq 600); do set -- $1 $2 $(sed 's/.*) //' /proc/$1/stat 2>/dev/null); " \
  "[ \"${3:-Z}\" = Z ] && return 1; [ ${14} -ge $2 ] && return 0; sleep 0.1; done; return 1; } && "

const program_run *plim_test_shell(const char *command) {
  char line[4096];
  const char *folder = plim_test_path(""), *program = getenv("PLIM_TEST_PROGRAM");
  if (!program) program = PLIM_BINARY_DIR "/bin/plimsoll";
  int length = snprintf(line, sizeof line,
                        WORKED
                        "cd %s && export XDG_CACHE_HOME=%s PLIMSOLL=%s OMP_WAIT_POLICY=passive && "
                        "{ %s ; } >out.txt 2>error.txt",
                        folder, folder, program, command);
  cr_assert(length > 0 && length < (int)sizeof line);
  int status = system(line);
  last.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  read_back("out.txt", last.out, sizeof last.out);
  read_back("error.txt", last.error, sizeof last.error);
  return &last;
}

const program_run *plim_test_program(const char *arguments, ...) {
  char line[2048] = "$PLIMSOLL ";
  size_t used = strlen(line);
  va_list args;
  va_start(args, arguments);
  int length = vsnprintf(line + used, sizeof line - used, arguments, args);
  va_end(args);
  cr_assert(length >= 0 && (size_t)length < sizeof line - used);
  return plim_test_shell(line);
}

/* Tests that want the same files may run side by side: each makes a folder of its own, and the first to rename it wins.
 */
const program_run *plim_test_fixture(const char *arguments) {
  char line[2048];
  int length = snprintf(
      line, sizeof line,
      "kept=%s; mkdir -p $kept; key=$(echo '%s' | cksum | tr ' ' -); "
      "made=$kept/$key-$(stat -Lc %%.9Y-%%s $PLIMSOLL); test -d $made || { new=$(mktemp -d $kept/new-XXXXXX) && "
      "(cd $new && XDG_CACHE_HOME=$new $PLIMSOLL %s >printed) && find $kept -maxdepth 1 -name $key-\\* ! -path $made "
      "-exec rm -rf {} + && "
      "{ mv -T $new $made 2>/dev/null || rm -rf $new; }; } && cp -R $made/. . && cat printed",
      PLIM_BINARY_DIR "/test-fixtures", arguments, arguments);
  cr_assert(length > 0 && (size_t)length < sizeof line);
  return plim_test_shell(line);
}

json_t *plim_test_json(void) {
  json_error_t error;
  json_t *object = json_loads(last.out, JSON_REJECT_DUPLICATES, &error);
  cr_assert(json_is_object(object), "not one JSON object: %s in %s", error.text, last.out);
  return object;
}

void plim_test_expect(int status, const char *words) {
  cr_assert_eq(last.status, status, "exit status %d, expected %d: %s", last.status, status, last.error);
  cr_assert_not_null(strstr(last.error, words), "\"%s\" lacks \"%s\"", last.error, words);
  if (status == 0 && !*words) cr_assert_str_empty(last.error, "a success complained: %s", last.error);
}

void plim_test_expect_output(const program_run *run, const char *words) {
  cr_expect_eq(run->status, 0, "%s", run->error);
  cr_expect_not_null(strstr(run->out, words), "'%s' is not in:\n%s", words, run->out);
}
