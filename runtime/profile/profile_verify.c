/* Compares variants on one set of operands. Operands are one after another from the start of the memory, with the
 * workspace last. So every case of a group reads the same numbers at the same addresses. The result holds NaNs before
 * the run, so that missing results are found.
 *
 * The comparison finds kernels that compute something else. It does not grade their rounding, so what is allowed is
 * generous: a share of the largest element of the result.
 *   sums of floats  3e-4. Another order of the sum gives at most 3.3e-6 between oneDNN and our own kernels, over 1637
 *                   variants of the convolutions and linear layers of seven models. The rest is room for the
 *                   transforms of a GPU's libraries, as Winograd's
 *   tf32            4 / 1024: each factor is rounded to 10 bits after the point, by at most 1 / 2048 of itself
 *   bf16            1 / 128 of the element itself besides: the result and what stands between kernels are rounded to 7
 *                   bits after the point, by at most 1 / 256 of themselves each
 *   attention       by products in bf16, 1 / 256: the weights and their gradients are rounded between the products */
#include "runtime/profile/profile_verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char reference_name[] = "single-source";

int32_t plim_profile_reference_case(const plim_profile_set *set, const plim_profile_group *group) {
  const plim_op_desc *desc = &group->desc;
  const int32_t results = desc->kind == PLIM_OP_ATTENTION ? PLIM_VERIFY_RESULTS : 1;
  if (group->n < 2 || desc->n_out != results || desc->n_upd != 0) return PLIM_NONE;
  for (int32_t k = 0; k < results; k++) {
    if (desc->out[k].dtype != PLIM_F32 && desc->out[k].dtype != PLIM_BF16) return PLIM_NONE;
  }
  for (int32_t c = group->first; c < group->first + group->n; c++) {
    if (strcmp(set->cases[c].variant.name, reference_name) == 0) return c;
  }
  return PLIM_NONE;
}

/* ---- results ---- */

/* Copy parts of the result to the host, as floats; *n out: number of elements. */
static plim_status read_result(plim_measurement *measurement, const plim_shape *shape, const void *result, float *out,
                               int32_t *n) {
  const plim_device_api *api = measurement->set->device->api;
  const int64_t all = plim_shape_elements(shape), element = plim_shape_bytes(shape) / all;
  const int64_t most = (int64_t)PLIM_VERIFY_PARTS * PLIM_VERIFY_PART, part = all <= most ? all : PLIM_VERIFY_PART;
  const int64_t parts = all <= most ? 1 : PLIM_VERIFY_PARTS;
  char *host = measurement->host;
  for (int64_t i = 0; i < parts; i++) {
    const int64_t from = parts > 1 ? (all - part) / (parts - 1) * i : 0;
    PLIM_TRY(api->queues.copy(measurement->set->device, 0, host + i * part * element,
                              (const char *)result + from * element, part * element));
  }
  PLIM_TRY(api->queues.sync(measurement->set->device));
  *n = (int32_t)(parts * part);
  for (int32_t i = 0; i < *n; i++) {
    uint32_t bits;
    if (element == 2) {
      bits = (uint32_t)((const uint16_t *)measurement->host)[i] << 16;
    } else {
      bits = ((const uint32_t *)measurement->host)[i];
    }
    memcpy(&out[i], &bits, sizeof bits);
  }
  return PLIM_OK;
}

static double allowed(const plim_op_desc *desc, double expected, double largest) {
  const plim_precision math = plim_op_math(desc);
  const int attention = desc->kind == PLIM_OP_ATTENTION || desc->kind == PLIM_OP_ATTENTION_BWD;
  if (math == PLIM_PRECISION_TF32) return largest * 4 / 1024;
  if (math == PLIM_PRECISION_BF16 && attention) return largest / 256 + fabs(expected) / 128;
  return largest * 3e-4 + (math == PLIM_PRECISION_BF16 ? fabs(expected) / 128 : 0);
}

/* Compare result k with the reference. Elements where the reference is NaN are skipped. */
static void compare(const plim_op_desc *desc, const plim_profile_reference *r, int32_t k, const float *got,
                    char why[PLIM_DROPPED_WHY_BYTES]) {
  const float *reference = r->expected[k];
  int32_t worst = PLIM_NONE;
  double most = 1;
  for (int32_t i = 0; i < r->n[k]; i++) {
    const double expected = reference[i], off = fabs(got[i] - expected);
    if (!isfinite(expected)) continue;
    const double share = isfinite(off) ? off / (allowed(desc, expected, r->largest[k]) + 1e-30) : INFINITY;
    if (share <= most) continue;
    most = share;
    worst = i;
  }
  why[0] = 0;
  if (worst < 0) return;
  (void)snprintf(why, PLIM_DROPPED_WHY_BYTES, "its result is %g where the single-source kernel's is %g, %g is allowed",
                 (double)got[worst], (double)reference[worst], allowed(desc, reference[worst], r->largest[k]));
}

/* ---- runs ---- */

plim_status plim_profile_refer(plim_measurement *measurement, const plim_profile_group *group,
                               const plim_profile_case *profile_case, plim_profile_reference *reference) {
  const void *result[PLIM_VERIFY_RESULTS] = {NULL};
  PLIM_TRY(plim_measure_line(measurement, group, profile_case, &reference->time_ns, result, PLIM_VERIFY_RESULTS));
  for (int32_t k = 0; k < PLIM_VERIFY_RESULTS && result[k]; k++) {
    const float *expected = reference->expected[k];
    PLIM_TRY(read_result(measurement, &group->desc.out[k], result[k], reference->expected[k], &reference->n[k]));
    reference->largest[k] = 0;
    for (int32_t i = 0; i < reference->n[k]; i++) {
      if (isfinite(expected[i])) reference->largest[k] = fmax(reference->largest[k], fabs(expected[i]));
    }
  }
  return PLIM_OK;
}

plim_status plim_profile_verify(plim_measurement *measurement, const plim_profile_group *group,
                                const plim_profile_case *profile_case, const plim_profile_reference *reference,
                                int64_t *time_ns, char why[PLIM_DROPPED_WHY_BYTES]) {
  float got[PLIM_VERIFY_PARTS * PLIM_VERIFY_PART] = {0};
  const void *result[PLIM_VERIFY_RESULTS] = {NULL};
  int32_t n;
  *time_ns = PLIM_UNKNOWN;
  why[0] = 0;
  PLIM_TRY(plim_measure_line(measurement, group, profile_case, time_ns, result, PLIM_VERIFY_RESULTS));
  for (int32_t k = 0; k < PLIM_VERIFY_RESULTS && result[k] && !why[0]; k++) {
    PLIM_TRY(read_result(measurement, &group->desc.out[k], result[k], got, &n));
    compare(&group->desc, reference, k, got, why);
  }
  return PLIM_OK;
}
