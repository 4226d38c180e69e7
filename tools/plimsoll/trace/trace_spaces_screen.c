/* The screen of trace step for a plan over spaces. The text of one command in rows of the terminal's width; a key
 * leads to another command or moves the rows. */
#include <curses.h>
#include <stdio.h>

#include "tools/plimsoll/trace/trace_step.h"

typedef struct plan_screen {
  const traced_spaces *t;
  int32_t c, scrolled;
  int ended;
  trace_pane pane;
  char message[TRACE_SENTENCE];
} plan_screen;

/* The text that is shown; view 0: the command, 's' the whole, '?' the keys, 'f' a storage. */
static plim_status show(plan_screen *s, char view, const char *name) {
  trace_pane_close(&s->pane);
  PLIM_TRY(trace_pane_open(s->t->ctx, &s->pane));
  s->scrolled = 0;
  if (view == 's') return trace_spaces_summary(s->t, s->pane.to);
  if (view == 'f') return trace_spaces_storage(s->t, name, s->pane.to);
  if (view != '?') return trace_spaces_step(s->t, s->c, s->pane.to);
  trace_print_lines(&trace_kind_spaces, s->pane.to);
  fprintf(s->pane.to, "g, f, v and / ask for the rest. Arrows, PgUp, PgDn move the rows; any jump leads back.\n");
  return PLIM_OK;
}

static void draw(plan_screen *s) {
  static const char keys[] = "n p command  c C copy  w W wait  r R recompute  g go  f find  s sum  ? help  q quit";
  int32_t rows = trace_pane_rows(&s->pane, COLS), last = rows - (LINES - 1), indent, length;
  size_t at = 0;
  if (s->scrolled > last) s->scrolled = last > 0 ? last : 0;
  (void)erase();
  for (int32_t y = -s->scrolled; y < LINES - 1; y++) {
    const char *row = trace_pane_row(&s->pane, COLS, &at, &indent, &length);
    if (!row) break;
    if (y >= 0) (void)mvaddnstr(y, indent, row, length);
  }
  (void)attron(A_REVERSE);
  (void)mvhline(LINES - 1, 0, ' ', COLS);
  (void)mvaddnstr(LINES - 1, 0, s->message[0] ? s->message : keys, COLS - 1);
  (void)attroff(A_REVERSE);
  (void)refresh();
}

static void ask(const plan_screen *s, const char *question, char answer[TRACE_ANSWER]) {
  trace_terminal_ask(s->t->ctx, LINES - 1, question, answer);
}

static plim_status go(plan_screen *s, int32_t c) {
  if (c < 0 || c >= s->t->plan->n_commands) {
    (void)trace_says_no_command(s->t->plan->n_commands, s->message);
    return PLIM_OK;
  }
  s->c = c;
  return show(s, 0, NULL);
}

static plim_status find(plan_screen *s) {
  char answer[TRACE_ANSWER];
  ask(s, "storage that an op of this name writes:", answer);
  if (!answer[0]) return PLIM_OK;
  plim_status status = show(s, 'f', answer);
  if (status != PLIM_EUSAGE) return status;
  (void)snprintf(s->message, sizeof s->message, "%s", plim_context_error(s->t->ctx));
  return show(s, 0, NULL);
}

static plim_status go_asked(plan_screen *s) {
  char answer[TRACE_ANSWER];
  ask(s, "to command:", answer);
  return answer[0] ? go(s, trace_command_number(answer)) : PLIM_OK;
}

static plim_status jump(plan_screen *s, const trace_jump *by) {
  int32_t to;
  PLIM_TRY(trace_jump_to(by, s->t, s->t->plan->n_commands, s->c, &to));
  if (to >= 0) return go(s, to);
  (void)trace_says_no_jump(by, s->c, s->message);
  return PLIM_OK;
}

static plim_status obey(plan_screen *s, int key) {
  int page = LINES > 2 ? LINES - 2 : 1;
  if (key == KEY_RIGHT || key == ' ' || key == '\n') key = 'n';
  if (key == KEY_LEFT) key = 'p';
  const trace_jump *by = key > 0 && key < 127 ? trace_jump_find(trace_kind_spaces.jump, (char)key) : NULL;
  if (by) return jump(s, by);
  switch (key) {
    case KEY_DOWN:
      s->scrolled++;
      return PLIM_OK;
    case KEY_UP:
      s->scrolled -= s->scrolled > 0;
      return PLIM_OK;
    case KEY_NPAGE:
      s->scrolled += page;
      return PLIM_OK;
    case KEY_PPAGE:
      s->scrolled = s->scrolled > page ? s->scrolled - page : 0;
      return PLIM_OK;
    case 'g':
      return go_asked(s);
    case 'f':
    case 'v':
    case '/':
      return find(s);
    case 's':
      return show(s, 's', NULL);
    case '?':
    case 'h':
      return show(s, '?', NULL);
    case TRACE_KEY_ESCAPE:
      return show(s, 0, NULL);
    case TRACE_KEY_INTERRUPT:
      plim_context_cancel(s->t->ctx);
      s->ended = 1;
      return PLIM_OK;
    case 'q':
    case ERR:
      s->ended = 1;
      return PLIM_OK;
    default:
      return PLIM_OK;
  }
}

plim_status trace_spaces_screen(const traced_spaces *t, int *shown) {
  plan_screen s = {.t = t};
  void *terminal = trace_terminal_open();
  *shown = terminal != NULL;
  if (!terminal) return PLIM_OK;
  plim_status status = show(&s, 0, NULL);
  while (status == PLIM_OK && !s.ended) {
    draw(&s);
    int key = trace_terminal_key(t->ctx);
    s.message[0] = 0;
    if (key != KEY_RESIZE) status = obey(&s, key);
  }
  trace_terminal_close(terminal);
  trace_pane_close(&s.pane);
  return status;
}
