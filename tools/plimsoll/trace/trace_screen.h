/* Stepping through a run on a whole terminal: the loop over keys, what is drawn, and what the terminal can do. */
#ifndef PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SCREEN_H
#define PLIM_TOOLS_PLIMSOLL_TRACE_TRACE_SCREEN_H

#include "tools/plimsoll/trace/trace_panes.h"
#include "tools/plimsoll/trace/trace_session.h"

/* Run until q. *shown is 0, and nothing was done, when this terminal cannot be drawn on. `other` may be NULL. */
plim_status trace_screen(const traced *t, const traced *other, int *shown);

/* ---- for trace_screen.c: what is on the screen, and drawing it ---- */

enum { SCREEN_MESSAGE = 256 };

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
  char message[SCREEN_MESSAGE];
} screen;

void trace_draw_colours(void);
plim_status trace_draw(screen *s);

/* Rows of the panes, columns of the right pane, as the terminal is now. */
int32_t trace_draw_rows(void);
int32_t trace_draw_right(const screen *s);

/* 1: the terminal is too narrow for two panes side by side. */
int trace_draw_one_pane(void);

/* Is the kind of this terminal, $TERM, described on this machine, and one whose cursor can be moved? */
int trace_terminal_known(void);

#endif
