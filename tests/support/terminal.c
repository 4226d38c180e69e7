#define _DEFAULT_SOURCE /* forkpty */
/* As much of a VT100 as curses makes use of. */
#include "tests/support/terminal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/folder.h"

enum { ROWS = 100, COLUMNS = 240, PARAMETERS = 4, PATIENCE_MS = 20000, ESCAPE = 27 };

static struct {
  int fd, rows, columns, row, column;
  pid_t pid;
  char cell[ROWS][COLUMNS];
  /* a sequence that has begun: 0 none, ESCAPE after ESC, '[' after ESC [, '(' after ESC ( or ) */
  int state, n, parameter[PARAMETERS];
} t;

static void clear_cells(int row, int from, int to) {
  for (int c = from; c < to; c++) t.cell[row][c] = ' ';
}

static void put(char c) {
  if (t.column == t.columns) { /* the last column was written: this one wraps */
    t.column = 0;
    if (t.row + 1 < t.rows) t.row++;
  }
  t.cell[t.row][t.column++] = c;
}

static int least(int parameter) {
  return parameter > 0 ? parameter : 1;
}

static void erase(int whole_screen) {
  int how = t.parameter[0]; /* 0: from the cursor on, 1: up to it, 2: all */
  for (int r = 0; r < t.rows; r++) {
    if (!whole_screen && r != t.row) continue;
    int before = r<t.row, behind = r> t.row;
    int from = how == 0 && r == t.row ? t.column : 0, to = how == 1 && r == t.row ? t.column + 1 : t.columns;
    if ((how == 0 && before) || (how == 1 && behind)) continue;
    clear_cells(r, from, to);
  }
}

static void end_sequence(char c) {
  if (c == 'H' || c == 'f') {
    t.row = least(t.parameter[0]) - 1;
    t.column = least(t.parameter[1]) - 1;
  }
  if (c == 'A') t.row -= least(t.parameter[0]);
  if (c == 'B') t.row += least(t.parameter[0]);
  if (c == 'C') t.column += least(t.parameter[0]);
  if (c == 'D') t.column -= least(t.parameter[0]);
  if (t.row < 0) t.row = 0;
  if (t.row >= t.rows) t.row = t.rows - 1;
  if (t.column < 0) t.column = 0;
  if (t.column >= t.columns) t.column = t.columns - 1;
  if (c == 'J') erase(1);
  if (c == 'K') erase(0);
}

/* One character after ESC [. */
static void parameter_or_end(char c) {
  if (c >= '0' && c <= '9') {
    t.parameter[t.n] = t.parameter[t.n] * 10 + (c - '0');
  } else if (c == ';') {
    if (t.n + 1 < PARAMETERS) t.n++;
  } else if (c >= '@') {
    end_sequence(c);
    t.state = 0;
  }
}

static void show(char c) {
  switch (t.state) {
    case ESCAPE:
      t.state = c == '[' || c == '(' || c == ')' ? c == '[' ? '[' : '(' : 0;
      t.n = 0;
      memset(t.parameter, 0, sizeof t.parameter);
      return;
    case '[':
      parameter_or_end(c);
      return;
    case '(':
      t.state = 0;
      return;
    default:
      break;
  }
  if (c == ESCAPE) t.state = ESCAPE;
  if (c == '\r') t.column = 0;
  if (c == '\n' && t.row + 1 < t.rows) t.row++;
  if (c == '\b' && t.column > 0) t.column--;
  if (c >= ' ' && c < 127) put(c);
}

/* 0: the program has ended. */
static int read_some(void) {
  char buffer[4096];
  struct pollfd ready = {t.fd, POLLIN, 0};
  if (poll(&ready, 1, PATIENCE_MS) <= 0) return 0;
  ssize_t n = read(t.fd, buffer, sizeof buffer);
  for (ssize_t i = 0; i < n; i++) show(buffer[i]);
  return n > 0;
}

static void blank(int rows, int columns) {
  t.rows = rows;
  t.columns = columns;
  t.row = t.column = 0;
  for (int r = 0; r < ROWS; r++) clear_cells(r, 0, COLUMNS);
}

void plim_test_terminal_open(const char *command, const char *kind, int rows, int columns) {
  struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  char program[512];
  cr_assert(rows <= ROWS && columns < COLUMNS);
  memset(&t, 0, sizeof t);
  blank(rows, columns);
  (void)snprintf(program, sizeof program, "%s/bin/plimsoll", PLIM_BINARY_DIR);
  t.pid = forkpty(&t.fd, NULL, NULL, &size);
  if (t.pid < 0) cr_skip_test("there are no pseudo-terminals here");
  if (t.pid > 0) return;
  (void)setenv("TERM", kind, 1);
  (void)setenv("PLIMSOLL", program, 1);
  if (chdir(plim_test_path("")) == 0) (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

void plim_test_terminal_keys(const char *keys) {
  cr_assert_eq(write(t.fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

void plim_test_terminal_resize(int rows, int columns) {
  struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  blank(rows, columns);
  cr_assert_eq(ioctl(t.fd, TIOCSWINSZ, &size), 0);
}

const char *plim_test_terminal_row(int row) {
  static char text[COLUMNS + 1];
  int length = t.columns;
  memcpy(text, t.cell[row], (size_t)t.columns);
  while (length > 0 && text[length - 1] == ' ') length--;
  text[length] = 0;
  return text;
}

int plim_test_terminal_expect(const char *words) {
  for (;;) {
    for (int r = 0; r < t.rows; r++) {
      if (strstr(plim_test_terminal_row(r), words)) return r;
    }
    if (!read_some()) break;
  }
  for (int r = 0; r < t.rows; r++) (void)fprintf(stderr, "%s\n", plim_test_terminal_row(r));
  cr_assert_fail("\"%s\" does not come", words);
  return -1;
}

int plim_test_terminal_close(void) {
  int status = -1;
  while (read_some()) {
  }
  (void)waitpid(t.pid, &status, 0);
  (void)close(t.fd);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
