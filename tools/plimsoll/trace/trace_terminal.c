/* The terminal that screens are drawn on: opening it, keys, questions. Whether there is one is asked before a screen is
 * opened, because newterm leaks where it fails. term.h defines common words as macros: no other file includes it. */
#include "tools/plimsoll/trace/trace_step.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <term.h>
#include <unistd.h>

enum { KEY_STOP = 26 /* Ctrl-Z */, ESCAPE_MS = 25, WAIT_MS = 200 };

/* Is the kind of this terminal, $TERM, described on this machine, and one whose cursor can be moved? */
static int is_known(void) {
  int found;
  if (setupterm(NULL, STDOUT_FILENO, &found) != OK) return 0;
  int can_move = cursor_address != NULL; /* a dumb one cannot */
  (void)del_curterm(cur_term);
  return can_move;
}

void *trace_terminal_open(void) {
  SCREEN *terminal = is_known() ? newterm(NULL, stdout, stdin) : NULL;
  if (!terminal) return NULL;
  (void)raw(); /* Ctrl-C and Ctrl-Z are keys */
  (void)noecho();
  (void)keypad(stdscr, TRUE);
  (void)set_escdelay(ESCAPE_MS);
  timeout(WAIT_MS);
  (void)curs_set(0);
  return terminal;
}

void trace_terminal_close(void *terminal) {
  (void)endwin();
  delscreen(terminal);
}

/* Stop as a program that Ctrl-Z stops; curses puts the terminal right before and after. */
static void stop(void) {
  (void)kill(0, SIGTSTP);
  (void)clearok(curscr, TRUE);
  (void)refresh();
}

/* A new size that comes between drawing and waiting wakes no one: it is noticed when a wait ends. */
int trace_terminal_key(const plim_context *ctx) {
  for (;;) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    int key = plim_context_cancelled(ctx) ? TRACE_KEY_INTERRUPT : getch();
    if (key == KEY_STOP) {
      stop();
      continue;
    }
    if (key != ERR) return key;
    if (poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL))) return ERR;
  }
}

void trace_terminal_ask(const plim_context *ctx, int row, const char *question, char answer[TRACE_ANSWER]) {
  int n = 0, key;
  answer[0] = 0;
  for (;;) {
    (void)mvhline(row, 0, ' ', COLS);
    (void)mvprintw(row, 1, "%s %s", question, answer);
    (void)refresh();
    key = trace_terminal_key(ctx);
    if (key == '\n' || key == '\r' || key == KEY_ENTER) return;
    int given_up = key == TRACE_KEY_ESCAPE || key == TRACE_KEY_INTERRUPT || key == ERR;
    if (given_up) n = 0;
    if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n > 0) n--;
    if (key >= ' ' && key < 127 && n < TRACE_ANSWER - 1) answer[n++] = (char)key;
    answer[n] = 0;
    if (given_up) return;
  }
}
