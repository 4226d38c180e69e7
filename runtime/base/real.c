/* Logarithm and exponential of doubles. ln x: x = 2^k m with m in [1/sqrt 2, sqrt 2], and ln m = 2 artanh((m - 1) / (m
 * + 1)) by its series. e^x: x = k ln 2 + r with |r| <= ln 2 / 2, and e^r by Taylor's series. ln 2 stands in two parts,
 * so that k ln 2 is exact in the first. The compiler must not contract products and sums (-ffp-contract=off). */
#include "runtime/base/real.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
enum { MANTISSA = 52, BIAS = 1023 };

double plim_real_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int k = (int)(bits >> MANTISSA) - BIAS;
  bits = (bits & ((UINT64_C(1) << MANTISSA) - 1)) | ((uint64_t)BIAS << MANTISSA);
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 1.41421356237309504880) {
    m /= 2;
    k++;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int i = 23; i > 1; i -= 2) sum = (sum + 1.0 / i) * square; /* s^2 < 0.03: the next term is below 1e-18 */
  return k * ln2_high + (2 * s * sum + k * ln2_low + 2 * s);
}

double plim_real_exp(double x) {
  const double log2e = 1.4426950408889634;
  if (x != x) return x;
  if (x < -700) return 0;
  if (x > 700) return INFINITY;
  int k = (int)(x * log2e + (x < 0 ? -0.5 : 0.5));
  double r = (x - k * ln2_high) - k * ln2_low, sum = 1, power;
  for (int i = 14; i > 0; i--) sum = 1 + sum * r / i; /* |r| <= ln 2 / 2: the 15th term is below 1e-18 */
  uint64_t bits = (uint64_t)(BIAS + k) << MANTISSA;
  memcpy(&power, &bits, sizeof power);
  return sum * power;
}
