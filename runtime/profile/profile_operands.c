/* Fills memory with operands like those of a step, for measurements. Floats have ordinary sizes, since a denormal or a
 * NaN can take a hundred times as long. Labels and window positions are in range. The memory holds normal numbers
 * everywhere, so that an operand can have any address. The op table says which operands need other contents. */
#include "runtime/profile/profile_operands.h"

#include <math.h>
#include <string.h>

#include "runtime/base/random.h"

int32_t plim_operands_count(const plim_op_desc *desc) {
  return desc->n_in + desc->n_out + desc->n_upd;
}

const plim_shape *plim_operand_shape(const plim_op_desc *desc, int32_t k) {
  if (k < desc->n_in) return &plim_op_inputs(desc)[k];
  k -= desc->n_in;
  return k < desc->n_out ? &plim_op_outputs(desc)[k] : &plim_op_updates(desc)[k - desc->n_out];
}

/* The cache state of operand k. Updates were used a step ago, and are cold. A workspace is placed where a buffer has
 * just ended, and is warm. */
static plim_cache_state cache_state_of(const plim_op_desc *desc, const plim_cache_states *cache_states, int32_t k) {
  if (k < desc->n_in) return desc->n_in <= PLIM_OP_MAX_IN ? cache_states->in[k] : PLIM_CACHE_COLD;
  k -= desc->n_in;
  if (k < desc->n_out) return desc->n_out <= PLIM_OP_MAX_OUT ? cache_states->out[k] : PLIM_CACHE_COLD;
  return k < desc->n_out + desc->n_upd ? PLIM_CACHE_COLD : PLIM_CACHE_WARM;
}

void plim_operands_place(const plim_op_desc *desc, const plim_cache_states *cache_states, int64_t workspace_bytes,
                         plim_operand_place *place, int64_t bytes[2]) {
  const int32_t n = plim_operands_count(desc);
  bytes[0] = bytes[1] = 0;
  for (int32_t k = 0; k <= n; k++) {
    const plim_cache_state state = cache_state_of(desc, cache_states, k);
    if (state == PLIM_CACHE_IN_PLACE) {
      if (place) place[k] = place[cache_states->over[k - desc->n_in]];
      continue;
    }
    const int64_t size = k < n ? plim_shape_bytes(plim_operand_shape(desc, k)) : workspace_bytes;
    if (place) place[k] = (plim_operand_place){(int32_t)state, bytes[state]};
    bytes[state] = plim_add_checked(bytes[state], plim_align_up(size, PLIM_ALIGN));
  }
}

/* ---- normal numbers ---- */

/* The sum of 12 uniform numbers: mean 0, variance 1, at most 6. Each has 24 bits, so the sum is never denormal. */
static float draw_normal(uint64_t *state) {
  double sum = -6;
  for (int k = 0; k < 12; k++) {
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    sum += (double)(*state >> 40) / (double)(1 << 24);
  }
  return (float)sum;
}

/* Both halves of each float are bf16 numbers of ordinary size. The lower half is too small to matter to the float. */
void plim_normals_make(float *normal) {
  uint64_t state = 0x9e3779b97f4a7c15U;
  for (int i = 0; i < PLIM_NORMALS; i++) {
    float two[2] = {draw_normal(&state), draw_normal(&state)};
    uint32_t bits[2];
    memcpy(bits, two, sizeof bits);
    bits[0] = (bits[0] & 0xffff0000U) | bits[1] >> 16;
    memcpy(&normal[i], &bits[0], sizeof *normal);
  }
}

/* Uses ordinary stores, by the thread that will read the memory: memcpy may bypass the caches. */
void plim_normals_fill(const float *normal, void *to, int64_t bytes) {
  enum { PIECE = 1024 };
  const int64_t n = bytes / (int64_t)sizeof *normal;
  float *out = to;
#pragma omp parallel for schedule(static)
  for (int64_t at = 0; at < n; at += PIECE) {
    const float *from = normal + at % PLIM_NORMALS;
    int64_t count = n - at < PIECE ? n - at : PIECE;
    for (int64_t i = 0; i < count; i++) out[at + i] = from[i] + 0.0F;
  }
  memcpy(out + n, normal, (size_t)(bytes % (int64_t)sizeof *normal));
}

/* A number from 24 bits of a hash of seed and index. */
static float random_at(uint64_t seed, int64_t i) {
  plim_random random = {(seed << 40) + ((uint64_t)i - 1) * PLIM_RANDOM_STEP};
  return (float)((double)(plim_random_next(&random) >> 40) / (double)(1 << 22) - 2);
}

/* How many numbers fill the operand. A strided operand extends from its first element to its last, which may be more or
 * fewer than its elements. */
static int64_t number_count(const plim_shape *shape) {
  return plim_shape_bytes(shape) / (int64_t)(shape->dtype == PLIM_BF16 ? sizeof(uint16_t) : sizeof(float));
}

void plim_operand_fill_random(const plim_shape *shape, uint64_t seed, void *to) {
  const int64_t n = number_count(shape);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float x = random_at(seed, i);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (shape->dtype == PLIM_BF16) {
      ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    } else {
      ((float *)to)[i] = x;
    }
  }
}

/* ---- operands that need more ---- */

/* How the op table says that input k must be filled; NULL: with normal numbers. */
static const plim_op_operand *special_operand(const plim_op_desc *desc, int32_t k) {
  const plim_op_operand *operand = k < desc->n_in ? plim_op_operand_at(plim_op_kind_row(desc->kind)->in, k) : NULL;
  return operand && operand->contents != PLIM_CONTENTS_NORMAL ? operand : NULL;
}

int plim_operand_is_special(const plim_op_desc *desc, int32_t k) {
  return special_operand(desc, k) != NULL;
}

static void fill_indices(int32_t *to, int64_t n, const plim_op_desc *desc, const char *below) {
  plim_op_sizes sizes;
  const int64_t most = plim_op_fits(desc, &sizes, NULL, 0) ? plim_op_size(&sizes, below) : 1;
  for (int64_t i = 0; i < n; i++) to[i] = (int32_t)(i % (most > 0 ? most : 1));
}

static void fill_positions(uint8_t *to, int64_t n, int64_t positions) {
  for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)(i % positions);
}

/* Fill weights by He initialisation, so that outputs have the magnitude of inputs. */
static void fill_weights(const plim_shape *shape, const float *normal, void *to) {
  const int64_t n = number_count(shape);
  const float scale = (float)sqrt(2.0 * (double)shape->dim[0] / (double)plim_shape_elements(shape));
  for (int64_t i = 0; i < n; i++) {
    float weight = normal[i % PLIM_NORMALS] * scale;
    uint32_t bits;
    memcpy(&bits, &weight, sizeof bits);
    if (shape->dtype == PLIM_BF16) {
      ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    } else {
      ((float *)to)[i] = weight;
    }
  }
}

void plim_operand_fill_special(const plim_op_desc *desc, int32_t k, const float *normal, void *to) {
  const plim_op_operand *operand = special_operand(desc, k);
  const plim_shape *shape = plim_operand_shape(desc, k);
  const int64_t n = number_count(shape);
  switch (operand->contents) {
    case PLIM_CONTENTS_INDICES:
      fill_indices(to, n, desc, operand->below);
      break;
    case PLIM_CONTENTS_POSITIONS:
      fill_positions(to, plim_shape_bytes(shape), (int64_t)desc->attrs.kernel[0] * desc->attrs.kernel[1]);
      break;
    case PLIM_CONTENTS_ONES:
      for (int64_t i = 0; i < n; i++) ((float *)to)[i] = 1;
      break;
    case PLIM_CONTENTS_WEIGHTS:
      fill_weights(shape, normal, to);
      break;
    case PLIM_CONTENTS_TYPICAL:
      for (int64_t i = 0; i < n; i++) ((float *)to)[i] = i < operand->n_typical ? operand->typical[i] : 0;
      break;
    case PLIM_CONTENTS_NORMAL:
      break; /* not special */
  }
}
