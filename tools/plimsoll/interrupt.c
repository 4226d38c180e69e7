/* Signals to cancellation. One Ctrl-C may arrive more than once: `timeout`, for one, signals the program and then the
 * group that it is in. What comes that soon is the same signal. */
#include "tools/plimsoll/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"

enum { EXIT_SIGNAL = 128 /* and the signal's number, as shells have it */ };
static const int64_t same_signal_ns = 100000000;
static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static plim_context *volatile watched;
static volatile sig_atomic_t at_once;
static volatile sig_atomic_t asked; /* number of the signal; 0: none has come */
static volatile int64_t asked_ns;   /* written before `asked` is set, not after */

/* Nothing but functions that a handler may call. */
static void end_at_once(int number) {
  static const char sentence[] = "\nplimsoll: stopped by a signal\n";
  ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);
  (void)written;
  _exit(EXIT_SIGNAL + number);
}

static void on_signal(int number) {
  if (at_once && !asked && !plim_file_is_writing()) end_at_once(number);
  if (asked && plim_now_ns() - asked_ns < same_signal_ns) return;
  if (asked || !watched) _exit(EXIT_SIGNAL + number);
  asked_ns = plim_now_ns();
  asked = number;
  plim_context_cancel(watched);
}

/* A program that was started to outlive its terminal (nohup) has SIGHUP ignored, and keeps that. */
static int is_ignored_hangup(int number) {
  struct sigaction now;
  return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void install(int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = watched ? on_signal : SIG_DFL;
  action.sa_flags = flags;
  for (int i = 0; i < NUMBERS; i++) {
    if (!is_ignored_hangup(numbers[i])) (void)sigaction(numbers[i], &action, NULL);
  }
}

void interrupt_watch(plim_context *ctx) {
  watched = ctx;
  at_once = 0;
  if (ctx) asked = 0;
  install(SA_RESTART);
}

void interrupt_at_once(int yes) {
  at_once = yes;
}

void interrupt_breaks_reads(int yes) {
  if (watched) install(yes ? 0 : SA_RESTART);
}

int interrupt_exit_status(void) {
  return EXIT_SIGNAL + (asked ? (int)asked : SIGINT);
}
