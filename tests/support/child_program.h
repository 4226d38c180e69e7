/* Running the command line: exit status, what it printed, what it complained about. */
#ifndef PLIM_TESTS_SUPPORT_CHILD_PROGRAM_H
#define PLIM_TESTS_SUPPORT_CHILD_PROGRAM_H

#include <jansson.h>

typedef struct program_run {
  int status;          /* exit status; -1: killed */
  char out[1 << 16];   /* standard output, cut */
  char error[1 << 14]; /* standard error, cut */
} program_run;

/* Run `plimsoll ARGUMENTS` through a shell in the test's folder (plim_test_folder must have been called): redirections
 * and quotes work. Its profile cache is in that folder. The result is static. The variable PLIM_TEST_PROGRAM names
 * another build of the program, of which the same is asked. */
const program_run *plim_test_program(const char *arguments, ...) __attribute__((format(printf, 1, 2)));

/* The same through another command, which gets the program's path as $PLIMSOLL. `worked PID TICKS` waits until a
 * process has used so many ticks of the CPU, and fails when it ends before. */
const program_run *plim_test_shell(const char *command);

/* Put the files that `plimsoll ARGUMENTS` writes into the test's folder, and its standard output into the last run. The
 * command runs once a build of the program, for whichever test asks first; its files are kept in the build folder. */
const program_run *plim_test_fixture(const char *arguments);

/* The last run's standard output as one JSON object; fails the test when it is none. The caller owns the reference. */
json_t *plim_test_json(void);

/* Fail the test unless the last run ended with this status and said these words on standard error; with status 0 and no
 * words it has to have said nothing. */
void plim_test_expect(int status, const char *words);

/* The test fails, and goes on, unless a run ended with 0 and has these words on standard output. */
void plim_test_expect_output(const program_run *run, const char *words);

#endif
