/* The progress line. */
#include "tools/plimsoll/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/plimsoll/figures.h"

enum { BAR = 24, INTERVAL_NS = 100000000, LINE = 160 };

void progress_begin(progress *p, int wanted) {
  *p = (progress){.on = wanted && isatty(STDERR_FILENO)};
}

/* Columns that do not make the terminal continue to the next row. */
static int columns(void) {
  struct winsize size;
  int known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known && size.ws_col < LINE ? size.ws_col - 1 : LINE - 1;
}

void progress_draw(progress *p, const char *stage, int64_t done, int64_t total, const char *text) {
  char bar[BAR + 1], line[LINE];
  int64_t now = plim_now_ns();
  if (!p->on || (p->shown && done != total && now - p->last_ns < INTERVAL_NS)) return;
  int filled = total > 0 ? (int)(done * BAR / total) : 0, most = columns(), length;
  memset(bar, '.', BAR);
  memset(bar, '#', filled > BAR ? BAR : (size_t)filled);
  bar[BAR] = 0;
  if (total > 0) {
    length =
        snprintf(line, sizeof line, "%-8s [%s] %lld/%lld  %s", stage, bar, (long long)done, (long long)total, text);
  } else {
    length = snprintf(line, sizeof line, "%-8s %s", stage, text);
  }
  if (length > most) length = most;
  /* blanks over what is longer, for terminals without codes */
  (void)fprintf(stderr, "\r%.*s%*s", length, line, p->shown > length ? (p->shown < most ? p->shown : most) - length : 0,
                "");
  (void)fflush(stderr);
  p->shown = length;
  p->last_ns = now;
}

void progress_clear(progress *p) {
  if (!p->shown) return;
  (void)fprintf(stderr, "\r%*s\r", p->shown, "");
  (void)fflush(stderr);
  p->shown = 0;
}

void progress_report(void *user, const plim_progress *report) {
  char text[LINE], *to = text;
  size_t left = sizeof text;
  int n = snprintf(to, left, "%.1f s", (double)report->elapsed_ns / 1e9);
  if (report->best_percent >= 0 && n > 0) {
    to += n;
    left -= (size_t)n;
    n = snprintf(to, left, "  best +%.2f %%", report->best_percent);
    if (report->bound_percent >= 0 && n > 0) {
      (void)snprintf(to + n, left - (size_t)n, "  bound +%.2f %%  gap %.2f", report->bound_percent,
                     report->best_percent - report->bound_percent);
    }
  }
  progress_draw(user, report->stage, report->done, report->total, text);
}
