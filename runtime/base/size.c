/* Checked arithmetic, and parsing and printing of sizes in integers: digits x unit / 10^decimals. */
#include "runtime/base/size.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/context.h"

int64_t plim_add_checked(int64_t a, int64_t b) {
  return a < 0 || b < 0 || a > INT64_MAX - b ? -1 : a + b;
}

int64_t plim_mul_checked(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  return b != 0 && a > INT64_MAX / b ? -1 : a * b;
}

int64_t plim_align_up(int64_t bytes, int64_t align) {
  int64_t sum = plim_add_checked(bytes, align - 1);
  return sum < 0 ? -1 : sum - sum % align;
}

/* ---- texts ---- */

static const struct {
  const char *name;
  int64_t bytes;
} units[] = {{"", 1},
             {"B", 1},
             {"KiB", INT64_C(1) << 10},
             {"MiB", INT64_C(1) << 20},
             {"GiB", INT64_C(1) << 30},
             {"TiB", INT64_C(1) << 40},
             {"kB", INT64_C(1000)},
             {"KB", INT64_C(1000)},
             {"MB", INT64_C(1000000)},
             {"GB", INT64_C(1000000000)},
             {"TB", INT64_C(1000000000000)}};

enum { DECIMALS_MAX = 6, PERCENT_DECIMALS_MAX = 3 };

/* A decimal number: digits / scale. */
typedef struct decimal {
  int64_t digits, scale;
  int decimals;
} decimal;

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Read a number. Returns the text after it; NULL when there is no number or it has too many digits. */
static const char *read_decimal(const char *text, decimal *out) {
  decimal d = {0, 1, 0};
  int seen = 0, point = 0;
  for (; is_digit(*text) || (*text == '.' && !point && seen && is_digit(text[1])); text++) {
    if (*text == '.') {
      point = 1;
      continue;
    }
    d.digits = plim_add_checked(plim_mul_checked(d.digits, 10), *text - '0');
    if (d.digits < 0) return NULL;
    if (point && ++d.decimals > DECIMALS_MAX) return NULL;
    if (point) d.scale *= 10;
    seen = 1;
  }
  *out = d;
  return seen ? text : NULL;
}

/* floor(a x b / scale), -1 on overflow: a = q x scale + r, and both parts are exact; r x b < 10^6 x 2^40 fits. */
static int64_t scaled(int64_t a, int64_t b, int64_t scale) {
  return plim_add_checked(plim_mul_checked(a / scale, b), a % scale * b / scale);
}

static plim_status fail_size(plim_context *ctx, const char *text, const char *fault) {
  return plim_fail(
      ctx, PLIM_EUSAGE,
      "'%.40s' %s: a size is a positive number and B, KiB, MiB, GiB, TiB (x1024), kB, MB, GB, TB (x1000) or "
      "%%, as in 96MiB, 1.5GiB, 500MB, 45%%",
      text, fault);
}

static int is_unit(const char *text) {
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(text, units[i].name) == 0) return 1;
  }
  return strcmp(text, "%") == 0;
}

plim_status plim_size_parse(plim_context *ctx, const char *text, plim_size *out) {
  decimal d;
  const char *unit = read_decimal(text, &d);
  if (!unit) return fail_size(ctx, text, "does not begin with a number that fits");
  if (*unit == ' ' && unit[1]) unit++;
  if (d.digits == 0 && is_unit(unit)) return fail_size(ctx, text, "is zero");
  if (strcmp(unit, "%") == 0) {
    if (d.decimals > PERCENT_DECIMALS_MAX || d.digits > 1000 * d.scale) {
      return fail_size(ctx, text, "has more than three decimals or is above 1000 %");
    }
    *out = (plim_size){-1, d.digits, d.scale};
    return PLIM_OK;
  }
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(unit, units[i].name) != 0) continue;
    int64_t bytes = scaled(d.digits, units[i].bytes, d.scale);
    if (bytes < 0) return fail_size(ctx, text, "is more than 63 bits hold");
    if (bytes == 0) return fail_size(ctx, text, "is less than a byte");
    if (bytes == INT64_MAX) return fail_size(ctx, text, "is the number that stands for no limit");
    *out = (plim_size){bytes, 0, 1};
    return PLIM_OK;
  }
  return fail_size(ctx, text, "has no unit that is known");
}

int64_t plim_size_bytes(const plim_size *size, int64_t whole) {
  if (size->bytes >= 0) return size->bytes;
  int64_t hundred = 100 * size->scale; /* ceil(percent x whole / hundred) with whole = q x hundred + r */
  int64_t q = whole / hundred, r = whole % hundred;
  int64_t part = plim_mul_checked(size->percent, r);
  return plim_add_checked(plim_mul_checked(size->percent, q), part / hundred + (part % hundred != 0));
}

const char *plim_size_print(int64_t bytes, char *text) {
  static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) {
    (void)snprintf(text, PLIM_SIZE_TEXT_BYTES, "%lld B", (long long)bytes);
    return text;
  }
  for (int i = 0;; i++) {
    int64_t unit = INT64_C(1024) << (10 * i), rest = bytes % unit;
    int64_t tenths = bytes / unit * 10 + (rest * 10 + unit / 2) / unit;
    if (tenths < 10240 || i == 3) {
      (void)snprintf(text, PLIM_SIZE_TEXT_BYTES, "%lld.%lld %s", (long long)(tenths / 10), (long long)(tenths % 10),
                     names[i]);
      return text;
    }
  }
}
