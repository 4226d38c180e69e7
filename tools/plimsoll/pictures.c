/* Pictures as SVG: words and marks, and live bytes over the commands of one step. */
#include "tools/plimsoll/pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "runtime/base/text.h"

/* ==== words and marks ==== */

/* Words and marks of pictures. */

void svg_add(plim_text *t, const char *words, int most) {
  for (int i = 0; words[i] && i < most; i++) {
    switch (words[i]) {
      case '<':
        plim_text_add(t, "&lt;");
        break;
      case '>':
        plim_text_add(t, "&gt;");
        break;
      case '&':
        plim_text_add(t, "&amp;");
        break;
      default:
        plim_text_format(t, "%c", words[i]);
    }
  }
}

double svg_tick(double range, int most) {
  double power = pow(10, floor(log10(range / most)));
  static const double step[] = {1, 2, 5, 10};
  for (int i = 0; i < 4; i++) {
    if (range / (step[i] * power) <= most) return step[i] * power;
  }
  return 10 * power;
}

/* ==== live chart ==== */

/* Live bytes over the commands of one step, drawn as SVG by hand: two step curves, the budget, axes, a legend. */

enum { WIDTH = 960, HEIGHT = 520, LEFT = 84, RIGHT = 28, TOP = 64, BOTTOM = 72, MOST_TICKS = 12, MOST_NAME = 50 };

/* Data to pixels. */
typedef struct frame {
  int32_t commands; /* at the right edge */
  double mib;       /* at the top edge */
  double mib_tick;  /* between two marks */
  int32_t command_tick;
} frame;

static double x_of(const frame *f, double command) {
  return LEFT + command * (WIDTH - LEFT - RIGHT) / f->commands;
}
static double y_of(const frame *f, double mib) {
  return HEIGHT - BOTTOM - mib * (HEIGHT - TOP - BOTTOM) / f->mib;
}
static double mib_of(int64_t bytes) {
  return (double)bytes / (1024 * 1024);
}

/* Live bytes at every command. bytes [plan->n_commands] out. */
static plim_status sum_live_bytes(plim_context *ctx, const plim_plan *plan, int64_t *bytes) {
  int64_t *change = NULL, live = 0;
  PLIM_TRY(plim_allocate(ctx, plan->n_commands + 1, sizeof *change, &change));
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    change[plan->buffer[i].begin] += plan->buffer[i].bytes;
    change[plan->buffer[i].end] -= plan->buffer[i].bytes;
  }
  for (int32_t j = 0; j < plan->n_commands; j++) {
    live += change[j];
    bytes[j] = live;
  }
  plim_release(ctx, change, plan->n_commands + 1, sizeof *change);
  return PLIM_OK;
}

static void draw_text(plim_text *t, double x, double y, const char *anchor, const char *more, const char *words) {
  plim_text_format(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more, words);
}

static void draw_axes(plim_text *t, const frame *f) {
  char label[PLIM_SIZE_TEXT_BYTES];
  for (int tick = 0; tick * f->mib_tick <= f->mib * 1.0001; tick++) {
    double mib = tick * f->mib_tick;
    plim_text_format(t, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
                     y_of(f, mib), y_of(f, mib));
    (void)snprintf(label, sizeof label, "%g", mib);
    draw_text(t, LEFT - 10, y_of(f, mib) + 5, "end", "", label);
  }
  for (int32_t command = 0; command <= f->commands; command += f->command_tick) {
    plim_text_format(t, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x_of(f, command),
                     x_of(f, command), HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5);
    (void)snprintf(label, sizeof label, "%d", command);
    draw_text(t, x_of(f, command), HEIGHT - BOTTOM + 22, "middle", "", label);
  }
  plim_text_format(t, "<path class=\"axis\" d=\"M%d %dV%dH%d\" fill=\"none\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
                   WIDTH - RIGHT);
  draw_text(t, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 48, "middle", "", "command of one step");
  draw_text(t, 0, 0, "middle", " transform=\"translate(24 250) rotate(-90)\"", "live bytes, MiB");
}

static plim_status draw_curve(plim_text *t, const frame *f, const plim_plan *plan, const char *class) {
  int64_t *bytes = NULL;
  PLIM_TRY(plim_allocate(plan->ctx, plan->n_commands, sizeof *bytes, &bytes));
  plim_status status = sum_live_bytes(plan->ctx, plan, bytes);
  if (status == PLIM_OK) {
    plim_text_format(t, "<path class=\"%s\" d=\"M%.1f %d", class, x_of(f, 0), HEIGHT - BOTTOM);
    for (int32_t j = 0; j < plan->n_commands; j++) {
      plim_text_format(t, "V%.1fH%.1f", y_of(f, mib_of(bytes[j])), x_of(f, j + 1));
    }
    plim_text_format(t, "V%d\"/>\n", HEIGHT - BOTTOM);
  }
  plim_release(plan->ctx, bytes, plan->n_commands, sizeof *bytes);
  return status;
}

/* A mark below the axis for every command that runs an op again. */
static plim_status draw_repeats(plim_text *t, const frame *f, const plim_graph *graph, const plim_plan *plan,
                                int32_t *repeats) {
  uint8_t *ran = NULL;
  *repeats = 0;
  PLIM_TRY(plim_allocate(graph->ctx, graph->n_ops, 1, &ran));
  plim_text_add(t, "<path class=\"repeat\" d=\"");
  for (int32_t j = 0; j < plan->n_commands; j++) {
    int32_t op = plan->command[j].op;
    if (plan->command[j].kind != PLIM_COMMAND_RUN) continue;
    if (ran[op]) plim_text_format(t, "M%.1f %dv6", x_of(f, j + 0.5), HEIGHT - BOTTOM - 6);
    *repeats += ran[op];
    ran[op] = 1;
  }
  plim_text_add(t, "\"/>\n");
  plim_release(graph->ctx, ran, graph->n_ops, 1);
  return PLIM_OK;
}

static void draw_cap(plim_text *t, const frame *f, const plim_plan *plan) {
  char label[64], size[PLIM_SIZE_TEXT_BYTES];
  if (plan->budget_bytes == PLIM_BYTES_UNLIMITED) return;
  double y = y_of(f, mib_of(plan->budget_bytes));
  plim_text_format(t, "<line class=\"cap\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT, y, y);
  (void)snprintf(label, sizeof label, "budget %s", plim_size_print(plan->budget_bytes, size));
  draw_text(t, WIDTH - RIGHT - 6, y - 7, "end", " class=\"capname\"", label);
}

/* One entry: a sample of the class and words; returns where the next one begins. */
static double draw_key(plim_text *t, double x, const char *class, const char *words) {
  plim_text_format(t, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"22\" height=\"12\"/>\n", class, x, TOP - 26);
  draw_text(t, x + 30, TOP - 15, "start", "", words);
  return x + 30 + 7.4 * (double)strlen(words) + 26;
}

static void draw_legend(plim_text *t, const plim_plan *keep_all, const plim_plan *plan, int32_t repeats) {
  char words[128], size[PLIM_SIZE_TEXT_BYTES];
  (void)snprintf(words, sizeof words, "keep-all, peak %s", plim_size_print(keep_all->peak_bytes, size));
  double x = draw_key(t, LEFT, "keepall", words);
  (void)snprintf(words, sizeof words, "plan, peak %s, +%.1f %% time", plim_size_print(plan->peak_bytes, size),
                 plim_plan_overhead_percent(plan));
  x = draw_key(t, x, "plan", words);
  (void)snprintf(words, sizeof words, "%d commands run an op again", repeats);
  (void)draw_key(t, x, "again", words);
}

static const char style[] =
    "<style>text{font:14px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222}.title{font-size:17px;font-weight:bold}"
    ".grid{stroke:#e4e4e4}.axis{stroke:#444}.keepall{fill:#b9c0c8;stroke:#7d8791;fill-opacity:.55}"
    ".plan{fill:#2f7fd0;stroke:#1b5ea3;fill-opacity:.45}.cap{stroke:#c62828;stroke-width:2;stroke-dasharray:8 5}"
    ".capname{fill:#c62828;font-weight:bold}.repeat{stroke:#e07b00;stroke-width:2}.again{fill:#e07b00}</style>\n";

static frame frame_of(const plim_plan *keep_all, const plim_plan *plan) {
  int64_t most = keep_all->peak_bytes > plan->peak_bytes ? keep_all->peak_bytes : plan->peak_bytes;
  if (plan->budget_bytes < PLIM_BYTES_UNLIMITED && plan->budget_bytes > most) most = plan->budget_bytes;
  frame f = {.commands = keep_all->n_commands > plan->n_commands ? keep_all->n_commands : plan->n_commands};
  f.mib_tick = svg_tick(mib_of(most), MOST_TICKS);
  f.mib = ceil(mib_of(most) * 1.02 / f.mib_tick) * f.mib_tick;
  double tick = svg_tick(f.commands, MOST_TICKS);
  f.command_tick = tick < 1 ? 1 : (int32_t)tick;
  return f;
}

plim_status curve_save(const plim_graph *graph, const plim_plan *keep_all, const plim_plan *plan, const char *path) {
  plim_text t = {.ctx = graph->ctx};
  frame f = frame_of(keep_all, plan);
  int32_t repeats = 0;
  plim_status status = PLIM_OK;
  plim_text_format(&t,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n%s"
                   "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                   "<text class=\"title\" x=\"%d\" y=\"26\">",
                   WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT, LEFT);
  svg_add(&t, graph->name, MOST_NAME);
  if (graph->batch > 0) plim_text_format(&t, ", batch %d", graph->batch);
  plim_text_add(&t, ": live bytes over one iteration</text>\n");
  draw_axes(&t, &f);
  PLIM_TRY_OR_DONE(draw_curve(&t, &f, keep_all, "keepall"));
  PLIM_TRY_OR_DONE(draw_curve(&t, &f, plan, "plan"));
  PLIM_TRY_OR_DONE(draw_repeats(&t, &f, graph, plan, &repeats));
  draw_cap(&t, &f, plan);
  draw_legend(&t, keep_all, plan, repeats);
  plim_text_add(&t, "</svg>\n");
  PLIM_TRY_OR_DONE(t.status);
  status = plim_file_save(graph->ctx, path, t.chars, t.length);
done:
  plim_text_free(&t);
  return status;
}
