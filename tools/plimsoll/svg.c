/* Words and marks of pictures. */
#include "tools/plimsoll/svg.h"

#include <math.h>

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
