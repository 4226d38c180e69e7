/* Signals to cancellation. */
#include "tools/plimsoll/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_INTERRUPTED = 130 };

static plim_context *volatile watched;
static volatile sig_atomic_t asked;

static void on_signal(int number) {
  (void)number;
  if (asked || !watched) _exit(EXIT_INTERRUPTED);
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
