/* The progress line. */
#include "tools/plimsoll/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/plimsoll/human.h"

enum { BAR = 24, INTERVAL_NS = 100000000, LINE = 160 };

void progress_begin(progress *p, int wanted) {
  *p = (progress){.on = wanted && isatty(STDERR_FILENO)};
}

void progress_draw(progress *p, const char *stage, int64_t done, int64_t total, const char *text) {
  char bar[BAR + 1];
  int64_t now = plim_now_ns();
  if (!p->on || (p->shown && done != total && now - p->last_ns < INTERVAL_NS)) return;
  int filled = total > 0 ? (int)(done * BAR / total) : 0;
  memset(bar, '.', BAR);
  memset(bar, '#', filled > BAR ? BAR : (size_t)filled);
  bar[BAR] = 0;
  if (total > 0) {
    (void)fprintf(stderr, "\r%-8s [%s] %lld/%lld  %s\x1b[K", stage, bar, (long long)done, (long long)total, text);
  } else {
    (void)fprintf(stderr, "\r%-8s %s\x1b[K", stage, text);
  }
  (void)fflush(stderr);
  p->shown = 1;
  p->last_ns = now;
}

void progress_clear(progress *p) {
  if (!p->shown) return;
  (void)fputs("\r\x1b[K", stderr);
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
