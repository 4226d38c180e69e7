/* Draws the screen of trace step. From top to bottom: title, the command, the arena as a strip with the windows of
 * the last decision, panes or the map, a line for answers, the keys. */
#include <ctype.h>
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/size.h"
#include "tools/plimsoll/trace/trace_step.h"

enum { ROW_TITLE, ROW_OP, ROW_BYTES, ROW_STRIP, ROW_WINDOW, ROW_LEGEND, ROW_PANES, ROW_BODY };
enum {
  ROWS_BELOW = 2 /* answers, keys */,
  LEFT_MIN = 30,
  BOTH_LEAST = 56,
  LEFT_MAX = 64,
  LEFT_WITH_ADDRESS = 54,
  MARGIN = 1
};
enum { CELLS = 1024 /* most columns that are drawn */, MAP_CELLS = 1 << 16, TEXT = 512 };

static const char ellipsis[] = "...";
static const char keys[] = "n p command  d D evict  r R recompute  g go  / find  m map  w what-if  ? q quit";

/* ---- colours ---- */

static const struct {
  char letter;
  short colour;
} letters[] = {{'p', COLOR_BLUE}, {'s', COLOR_CYAN},  {'i', COLOR_YELLOW}, {'a', COLOR_GREEN}, {'g', COLOR_MAGENTA},
               {'o', COLOR_RED},  {'w', COLOR_WHITE}, {'=', COLOR_RED},    {'-', COLOR_YELLOW}};
enum { LETTERS = sizeof letters / sizeof *letters };
static int coloured;

void trace_draw_colours(void) {
  const char *none = getenv("NO_COLOR"); /* no-color.org: set to anything */
  coloured = has_colors() && !(none && *none);
  if (!coloured) return;
  (void)start_color();
  (void)use_default_colors();
  for (int i = 0; i < LETTERS; i++) (void)init_pair((short)(i + 1), letters[i].colour, -1);
}

static char plain_letter(char cell) {
  if (cell == '[' || cell == ']') return '=';
  if (cell == '(' || cell == ')') return '-';
  return (char)tolower(cell);
}

static attr_t attribute_of(char cell) {
  attr_t look = isupper((unsigned char)cell) ? A_BOLD | A_REVERSE : A_NORMAL;
  for (int i = 0; i < LETTERS; i++) {
    if (letters[i].letter == plain_letter(cell)) return look | (coloured ? COLOR_PAIR(i + 1) : 0);
  }
  return look;
}

/* ---- blocks of the screen ---- */

static int columns_drawn(void) {
  int columns = COLS - 2 * MARGIN;
  return columns > CELLS ? CELLS : columns < 1 ? 1 : columns;
}

/* Text in [column, column + width) of a row, cut. */
static void put(int row, int column, int width, const char *text) {
  if (row < 0 || row >= LINES || column >= COLS) return;
  if (width > COLS - column) width = COLS - column;
  (void)mvaddnstr(row, column, text, width);
}

/* Text that says when it was cut. */
static void put_cut(int row, int column, int width, const char *text) {
  put(row, column, width, text);
  if ((int)strlen(text) > width && width > (int)strlen(ellipsis)) put(row, column + width - 4, 4, "... ");
}

static void put_cells(int row, int column, const char *cell, int n, attr_t look) {
  for (int i = 0; i < n; i++) {
    attr_t attribute = attribute_of(cell[i]) | look;
    (void)attron(attribute);
    put(row, column + i, 1, cell + i);
    (void)attroff(attribute);
  }
}

static void put_title(const screen *s) {
  char text[TEXT], cap[PLIM_SIZE_TEXT_BYTES], command[64];
  int budget = s->t->plan->budget_bytes < PLIM_BYTES_UNLIMITED;
  (void)snprintf(text, sizeof text, " %s, by %s%s%s", s->t->graph->name, s->t->plan->planner, budget ? ", budget " : "",
                 budget ? plim_size_print(s->t->plan->budget_bytes, cap) : "");
  (void)snprintf(command, sizeof command, "command %d of %d ", (int)s->command, (int)s->t->plan->n_commands);
  (void)attron(A_REVERSE);
  (void)mvhline(ROW_TITLE, 0, ' ', COLS);
  put_cut(ROW_TITLE, 0, COLS - (int)strlen(command), text);
  put(ROW_TITLE, COLS - (int)strlen(command), (int)strlen(command), command);
  (void)attroff(A_REVERSE);
}

static void put_command(const screen *s) {
  const traced *t = s->t;
  const plim_command *command = &t->plan->command[s->command];
  char text[TEXT], live[PLIM_SIZE_TEXT_BYTES], size[PLIM_SIZE_TEXT_BYTES];
  int64_t again_ns, clock_ns = traced_clock_ns(t, s->command, &again_ns);
  int n = snprintf(text, sizeof text, "%s%s, %s: planned %.1f us", traced_op_name(t, s->command),
                   plim_inspect_is_repeat(t->inspect, s->command) ? ", again" : "",
                   command->kind == PLIM_COMMAND_RUN ? t->plan->variant[command->variant].variant.name : "copy",
                   (double)traced_planned_ns(t, s->command) / 1e3);
  if (t->runs > 0 && n < (int)sizeof text) {
    (void)snprintf(text + n, sizeof text - (size_t)n, ", measured %.1f us", (double)t->measured_ns[s->command] / 1e3);
  }
  (void)attron(A_BOLD);
  put(ROW_OP, MARGIN, COLS - MARGIN, text);
  (void)attroff(A_BOLD);
  (void)snprintf(text, sizeof text, "%s%slive %s of %s, clock %.3f ms, %.3f ms recomputed",
                 traced_fails_at(t, s->command) ? traced_end_title(t) : "", traced_fails_at(t, s->command) ? "; " : "",
                 plim_size_print(plim_inspect_live_bytes(t->inspect, s->command), live),
                 plim_size_print(trace_strip_bytes(t), size), (double)clock_ns / 1e6, (double)again_ns / 1e6);
  put(ROW_BYTES, MARGIN, COLS - MARGIN, text);
}

/* A letter of the words of the legend, which has no colour. */
static void put_word(int row, int column, const char *letter) {
  (void)attron(A_DIM);
  put(row, column, 1, letter);
  (void)attroff(A_DIM);
}

static plim_status put_strip(const screen *s) {
  char cell[CELLS];
  const plim_decision *choice;
  const plim_decision_reasons *why;
  int columns = columns_drawn();
  int32_t first, n = traced_choices(s->t, s->command, &choice, &first);
  PLIM_TRY(trace_strip(s->t, s->command, columns, cell));
  put_cells(ROW_STRIP, MARGIN, cell, columns, A_NORMAL);
  if (n > 0) {
    PLIM_TRY(plim_decision_log_explain(s->t->decisions, first, &why)); /* with which the reasons begin, too */
    trace_strip_windows(s->t, why, columns, cell);
    put_cells(ROW_WINDOW, MARGIN, cell, columns, A_NORMAL);
  }
  int column = MARGIN;
  for (const char *c = trace_strip_legend; *c; c++, column++) {
    int alone = c[1] == ' ' && (c == trace_strip_legend || c[-1] == ' ');
    if (alone) put_cells(ROW_LEGEND, column, c, 1, A_NORMAL);
    if (!alone) put_word(ROW_LEGEND, column, c);
  }
  return PLIM_OK;
}

/* ---- panes ---- */

int32_t trace_draw_rows(void) {
  int rows = LINES - ROW_BODY - ROWS_BELOW;
  return rows > 0 ? rows : 0;
}

int trace_draw_one_pane(void) {
  return COLS < BOTH_LEAST;
}

/* 0: the right pane alone. Where there is no room for two it is one or the other, as the keys go. */
static int left_columns(const screen *s) {
  int columns = COLS * 9 / 20;
  if (s->zoomed) return 0;
  if (trace_draw_one_pane()) return s->on_right ? 0 : COLS;
  return columns < LEFT_MIN ? LEFT_MIN : columns > LEFT_MAX ? LEFT_MAX : columns;
}

static int32_t right_columns(const screen *s) {
  int left = left_columns(s);
  return COLS - left - (left > 0 ? 2 : MARGIN);
}

static void put_pane_title(int column, int width, int focused, const char *text) {
  if (focused) (void)attron(A_BOLD | A_UNDERLINE);
  put(ROW_PANES, column, width, text);
  if (focused) (void)attroff(A_BOLD | A_UNDERLINE);
}

/* The end of a name tells more than its begin, for which an ellipsis stands when it was cut. text [TEXT] */
static const char *name_end(const char *name, int width, char *text) {
  size_t length = strlen(name), most = width > 0 ? (size_t)width : 0;
  if (length <= most || most <= strlen(ellipsis)) return name;
  (void)snprintf(text, TEXT, "%s%s", ellipsis, name + length - (most - strlen(ellipsis)));
  return text;
}

static void put_resident(const screen *s, int32_t i, int row, int columns) {
  const plim_resident *r = &s->resident[i];
  const plim_plan_buffer *buffer = &s->t->plan->buffer[r->buffer];
  char text[2 * TEXT], cut[TEXT], size[PLIM_SIZE_TEXT_BYTES], next[32] = "-", place[TRACED_ADDRESS_BYTES];
  int address = columns >= LEFT_WITH_ADDRESS, name = columns - 19 - (address ? 12 : 0);
  if (r->next_use >= 0) (void)snprintf(next, sizeof next, "%d", (int)r->next_use);
  int n = address ? snprintf(text, sizeof text, "%11s ", traced_address(buffer->offset, place)) : 0;
  (void)snprintf(text + n, sizeof text - (size_t)n, "%9s %-*s%5s", plim_size_print(buffer->bytes, size), name,
                 name_end(plim_inspect_name(s->t->inspect, r->storage), name, cut), next);
  char letter = trace_strip_letter(s->t, r->storage);
  put_cells(row, MARGIN, &letter, 1, A_NORMAL);
  if (i == s->selected) (void)attron(s->on_right ? A_UNDERLINE : A_REVERSE);
  put(row, MARGIN + 2, columns - MARGIN - 3, text);
  if (i == s->selected) (void)attroff(s->on_right ? A_UNDERLINE : A_REVERSE);
}

static void put_left(screen *s, int columns) {
  char text[TEXT];
  int32_t rows = trace_draw_rows();
  if (s->selected < s->first) s->first = s->selected;
  if (s->selected >= s->first + rows) s->first = s->selected - rows + 1;
  int32_t below = s->n_residents - s->first - rows;
  (void)snprintf(text, sizeof text, below > 0 ? "resident by address, %d more; use" : "resident by address; next use",
                 (int)below);
  put_pane_title(MARGIN, columns - MARGIN, !s->on_right, text);
  for (int32_t i = 0; i < rows && s->first + i < s->n_residents; i++) {
    put_resident(s, s->first + i, ROW_BODY + i, columns);
  }
  int32_t shown = s->n_residents - s->first;
  if (shown >= rows) return;
  (void)snprintf(text, sizeof text, "%d more are persistent", (int)s->n_kept);
  put(ROW_BODY + shown, MARGIN + 2, columns - MARGIN - 2, text);
}

static void put_right(screen *s, int column) {
  static const char *const title[] = {[SCREEN_WHY] = "why",
                                      [SCREEN_ABSENT] = "absent, and recomputed",
                                      [SCREEN_TENSOR] = "history",
                                      [SCREEN_HELP] = "keys",
                                      [SCREEN_TEXT] = "answer"};
  int32_t width = right_columns(s), rows = trace_draw_rows(), n = trace_pane_rows(&s->pane, width), length, indent;
  const char *row;
  char text[TEXT];
  size_t at = 0;
  if (s->scrolled > n - rows) s->scrolled = n - rows;
  if (s->scrolled < 0) s->scrolled = 0;
  int32_t below = n - rows - s->scrolled;
  (void)snprintf(text, sizeof text, below > 0 ? "%s (%d more rows: Tab, Down)" : "%s", title[s->view], (int)below);
  put_pane_title(column, width, s->on_right, text);
  for (int32_t i = 0; (row = trace_pane_row(&s->pane, width, &at, &indent, &length)) && i < s->scrolled + rows; i++) {
    if (i >= s->scrolled) put(ROW_BODY + i - s->scrolled, column + indent, length, row);
  }
}

/* ---- the map ---- */

static void put_cursor(screen *s, int rows, int columns) {
  char size[PLIM_SIZE_TEXT_BYTES];
  int64_t address = trace_map_address(s->t, rows, s->map_row);
  int32_t id = trace_map_buffer(s->t, s->command, address), column = trace_map_column(s->t, columns, s->command);
  const plim_plan_buffer *buffer = id >= 0 ? &s->t->plan->buffer[id] : NULL;
  (void)mvchgat(ROW_BODY + s->map_row, MARGIN + column, 1, A_REVERSE | A_BOLD, 0, NULL);
  if (s->message[0]) return; /* an answer comes first */
  if (!buffer) {
    (void)snprintf(s->message, sizeof s->message, "address %lld is free at command %d", (long long)address,
                   (int)s->command);
  } else {
    (void)snprintf(s->message, sizeof s->message, "%s, %s, commands %d to %d, address %lld",
                   plim_inspect_name(s->t->inspect, buffer->storage), plim_size_print(buffer->bytes, size),
                   (int)buffer->begin, (int)buffer->end - 1, (long long)buffer->offset);
  }
}

static void put_map(screen *s) {
  char cell[MAP_CELLS];
  int rows = trace_draw_rows(), columns = columns_drawn();
  while (rows * columns > MAP_CELLS) rows--;
  if (rows < 1) return;
  if (s->map_row >= rows) s->map_row = rows - 1;
  put_pane_title(MARGIN, COLS - MARGIN, 1,
                 "addresses upwards over commands to the right; Left Right Up Down, Enter: history");
  trace_map(s->t, rows, columns, cell);
  for (int row = 0; row < rows; row++) put_cells(ROW_BODY + row, MARGIN, cell + row * columns, columns, A_NORMAL);
  put_cursor(s, rows, columns);
}

/* What does not fit is said, where nothing else is to be said. */
static void say_too_small(screen *s) {
  int least = ROW_BODY + ROWS_BELOW + 1;
  if ((LINES >= least && COLS >= LEFT_MIN) || s->message[0]) return;
  (void)snprintf(s->message, sizeof s->message, "too small: %dx%d", LEFT_MIN, least);
}

plim_status trace_draw(screen *s) {
  (void)erase();
  say_too_small(s);
  put_title(s);
  put_command(s);
  PLIM_TRY(put_strip(s));
  if (s->mapped) {
    put_map(s);
  } else {
    int left = left_columns(s);
    if (left > 0) put_left(s, left);
    if (left < COLS) put_right(s, left > 0 ? left + 1 : MARGIN);
  }
  if (s->message[0]) (void)mvhline(LINES - 2, 0, ' ', COLS);
  (void)attron(A_BOLD);
  put(LINES - 2, MARGIN, COLS - MARGIN, s->message);
  (void)attroff(A_BOLD);
  put(LINES - 1, MARGIN, COLS - MARGIN, keys);
  (void)refresh();
  return PLIM_OK;
}
