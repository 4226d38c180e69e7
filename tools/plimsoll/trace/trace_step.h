/* Stepping through a run by hand, by lines or on a terminal. A run in one arena and one over spaces have the same
 * prompt: a kind of run has a table of jumps, a table of lines, and its views.
 *
 * Files: trace_prompt.c (jumps and lines), trace_panes.c (panes), trace_terminal.c, trace_screen.c and trace_draw.c
 * (the screen of a run in one arena), trace_spaces_screen.c (that of a run over spaces). */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_STEP_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_STEP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/context.h"
#include "tools/plimsoll/trace/trace_run.h"
#include "tools/plimsoll/trace/trace_spaces.h"

/* ==== where to go ==== */

/* From a command of the plan to another, by what happens there. */
typedef struct trace_jump {
  char key;         /* 0 ends a table */
  const char *what; /* as in "next command that ..." */
  const char *none; /* as in "there is no ... after command 12" */
  int32_t direction;
  /* Does it happen at the command? `run` is what is stepped through. */
  plim_status (*happens)(const void *run, int32_t command, int *yes);
} trace_jump;

/* The row of a key, NULL: there is none. */
const trace_jump *trace_jump_find(const trace_jump *table, char key);

/* The first command after `from` (or before it) at which it happens; -1: none. */
plim_status trace_jump_to(const trace_jump *jump, const void *run, int32_t n_commands, int32_t from, int32_t *command);

/* The command that a word names; -1: it is no number. */
int32_t trace_command_number(const char *word);

enum { TRACE_SENTENCE = 512 };

/* Sentences of prompt and screens. The first two write to text [TRACE_SENTENCE] and return it: a jump found no command,
 * a run has no command of that number. The third: there is no run to compare with. */
const char *trace_says_no_jump(const trace_jump *jump, int32_t from, char *text);
const char *trace_says_no_command(int32_t n_commands, char *text);
extern const char trace_says_no_other[];

/* ==== lines ==== */

typedef struct trace_stepper trace_stepper;

/* What a line does; `word` is what stands after it, "" for nothing. */
typedef plim_status trace_action(trace_stepper *s, const char *word);

/* The line of every kind that shows the history of a tensor; a name that is none gets a sentence. */
trace_action trace_step_tensor;

typedef struct trace_line {
  const char *name, *argument, *what; /* name NULL ends a table */
  trace_action *run;
} trace_line;

/* A kind of run. */
typedef struct trace_kind {
  const trace_jump *jump;
  const trace_line *line; /* beside those that every kind has */
  plim_status (*command)(const void *run, int32_t command, FILE *to);
  plim_status (*tensor)(const void *run, const char *name, FILE *to); /* PLIM_EUSAGE: there is none of that name */
  plim_status (*summary)(const void *run, FILE *to);
} trace_kind;

/* Of a traced, and of a traced_spaces. */
extern const trace_kind trace_kind_arena, trace_kind_spaces;

/* What the line of that name does, of the kind or of every kind; its row. NULL: there is none. */
const trace_line *trace_line_find(const trace_kind *kind, const char *name);

/* Print the jumps and lines of a kind. */
void trace_print_lines(const trace_kind *kind, FILE *to);

struct trace_stepper {
  const trace_kind *kind;
  plim_context *ctx;
  const void *run;
  const traced *other; /* the run to compare with; NULL: none */
  int32_t n_commands;
  FILE *to; /* views and answers */
  int32_t command;
  int ended;
};

/* Read lines from standard input until its end or "q". A line that is no command gets a sentence and changes nothing.
 * On a terminal there is a prompt. */
plim_status trace_prompt(trace_stepper *s);

/* ==== panes ==== */

/* A text laid out in a pane: what a view printed, in rows of a width. */

typedef struct trace_pane {
  FILE *to; /* views print here */
  char *chars;
  size_t size;
} trace_pane;

/* An empty text to print into. */
plim_status trace_pane_open(plim_context *ctx, trace_pane *pane);
void trace_pane_close(trace_pane *pane);

/* The next row of at most `width` columns from *at on, which moves on; long lines continue in rows that are indented.
 * NULL at the end.
 *   indent, length  [1]  out  blanks in front, characters of the row */
const char *trace_pane_row(trace_pane *pane, int32_t width, size_t *at, int32_t *indent, int32_t *length);

/* How many rows there are. */
int32_t trace_pane_rows(trace_pane *pane, int32_t width);

/* ==== the terminal ==== */

enum { TRACE_KEY_INTERRUPT = 3 /* Ctrl-C */, TRACE_KEY_ESCAPE = 27, TRACE_ANSWER = 128 };

/* Open the terminal of standard output for drawing; NULL: this one cannot be drawn on. */
void *trace_terminal_open(void);
void trace_terminal_close(void *terminal);

/* The next key; TRACE_KEY_INTERRUPT after a signal, too; ERR when the terminal is gone. Ctrl-Z stops the program. */
int trace_terminal_key(const plim_context *ctx);

/* A line typed after a question that is drawn in `row`; "" when it was given up. */
void trace_terminal_ask(const plim_context *ctx, int row, const char *question, char answer[TRACE_ANSWER]);

/* ==== screens ==== */

/* Run until q. *shown is 0, and nothing was done, when this terminal cannot be drawn on, and in a program without
 * ncurses. `other` may be NULL. */
#ifdef PLIM_HAVE_CURSES
plim_status trace_screen(const traced *t, const traced *other, int *shown);
plim_status trace_spaces_screen(const traced_spaces *t, int *shown);
#else
static inline plim_status trace_screen(const traced *t, const traced *other, int *shown) {
  (void)t, (void)other;
  *shown = 0;
  return PLIM_OK;
}
static inline plim_status trace_spaces_screen(const traced_spaces *t, int *shown) {
  (void)t;
  *shown = 0;
  return PLIM_OK;
}
#endif

/* ---- for trace_screen.c: what is on the screen, and drawing it ---- */

/* What the pane on the right shows. */
typedef enum screen_view { SCREEN_WHY, SCREEN_ABSENT, SCREEN_TENSOR, SCREEN_HELP, SCREEN_TEXT } screen_view;

typedef struct screen {
  const traced *t, *other; /* other NULL: none */
  int32_t command;
  screen_view view;
  int zoomed, mapped, ended;   /* zoomed: the right pane takes all columns; mapped: the map instead of the panes */
  int on_right;                /* keys up and down go to the right pane */
  plim_resident *resident;     /* [n_residents] by address, what is there all the time left out */
  int32_t n_residents, n_kept; /* n_kept: resident with that */
  int32_t selected, first;     /* of resident; first that is visible */
  int32_t storage;             /* whose history SCREEN_TENSOR shows */
  trace_pane pane;             /* the text on the right */
  int32_t scrolled;            /* its first visible row */
  int32_t map_row;             /* cursor */
  char message[TRACE_SENTENCE];
} screen;

void trace_draw_colours(void);
plim_status trace_draw(screen *s);

/* Rows of the panes, as the terminal is now. */
int32_t trace_draw_rows(void);

/* 1: the terminal is too narrow for two panes side by side. */
int trace_draw_one_pane(void);

#endif
