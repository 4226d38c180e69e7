/* std::set_new_handler, by its name in the library of C++, which is there where a library in C++ is. */
#include "tools/plimsoll/refused_memory.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/status.h"

static void tell(void) {
  static const char sentence[] = "plimsoll: out of memory: a library's allocation was refused\n";
  if (write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0) _exit(plim_status_exit(PLIM_ENOMEM));
  _exit(plim_status_exit(PLIM_ENOMEM));
}

void refused_memory_watch(void) {
  typedef void handler(void);
  handler *(*set_handler)(handler *);
  void *address = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
  memcpy(&set_handler, &address, sizeof set_handler); /* C has no conversion between the two kinds of pointers */
  if (address) (void)set_handler(tell);
}
