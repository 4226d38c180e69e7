/* Is there a terminal that a screen can be opened on? Asked before a screen is opened, because newterm leaks where
 * it fails. In a file of its own: term.h defines common words as macros. */
#include "tools/plimsoll/trace/trace_screen.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

int trace_terminal_known(void) {
  int found;
  if (setupterm(NULL, STDOUT_FILENO, &found) != OK) return 0;
  int can_move = cursor_address != NULL; /* a dumb one cannot */
  (void)del_curterm(cur_term);
  return can_move;
}
