/* Locales whose numbers have a comma where C writes a point. */
#ifndef PLIM_TESTS_SUPPORT_COMMA_H
#define PLIM_TESTS_SUPPORT_COMMA_H

#include <locale.h>
#include <stddef.h>

/* Let the process write numbers with a comma; 0 when the system has no such locale. */
static inline int plim_test_set_comma(void) {
  static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  for (size_t i = 0; i < sizeof commas / sizeof *commas; i++) {
    if (setlocale(LC_NUMERIC, commas[i])) return 1;
  }
  return 0;
}

#endif
