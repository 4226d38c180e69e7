/* Signals to cancellation. One Ctrl-C may arrive more than once: `timeout`, for one, signals the program and then the
 * group that it is in. What comes that soon is the same signal. */
#include "tools/plimsoll/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_INTERRUPTED = 130 };
static const int64_t same_signal_ns = 100000000;

static plim_context *volatile watched;
static volatile sig_atomic_t asked;
static volatile int64_t asked_ns; /* written before `asked` is set, not after */

static void on_signal(int number) {
  (void)number;
  if (asked && plim_now_ns() - asked_ns < same_signal_ns) return;
  if (asked || !watched) _exit(EXIT_INTERRUPTED);
  asked_ns = plim_now_ns();
  asked = 1;
  plim_context_cancel(watched);
}

void interrupt_watch(plim_context *ctx) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  watched = ctx;
  asked = 0;
  action.sa_handler = ctx ? on_signal : SIG_DFL;
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
}
