/* A program on a terminal: keys go in, and what it draws is kept as a screen of characters, as a VT100 would show it.
 */
#ifndef PLIM_TESTS_SUPPORT_TERMINAL_H
#define PLIM_TESTS_SUPPORT_TERMINAL_H

/* Run `command` through a shell in the test's folder (plim_test_folder must have been called), with $PLIMSOLL, on a
 * terminal of a kind ("vt100") and size. One at a time. */
void plim_test_terminal_open(const char *command, const char *kind, int rows, int columns);

void plim_test_terminal_keys(const char *keys);
void plim_test_terminal_resize(int rows, int columns);

/* Wait until these words are in one row of the screen; fails the test when they never come. Returns the row. */
int plim_test_terminal_expect(const char *words);

/* The characters of a row, without blanks at its end. */
const char *plim_test_terminal_row(int row);

/* Wait for the program's end: its exit status; -1: killed. */
int plim_test_terminal_close(void);

#endif
