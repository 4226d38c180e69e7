/* A step of several micro-batches. Each is emitted with its own forward and backward ops, over its part of the inputs.
 * The gradients of a parameter are summed by one binary tree. Its shape follows from the micro-batches' numbers alone,
 * as a binary counter carries: when bit k of a number and all lower bits are 1, its sum is added to the one that waits
 * at level k. After the last micro-batch, the sums that still wait are added from the right. The root of the tree gives
 * the mean. Losses are summed by the same tree. */
#include <stdio.h>
#include <string.h>

#include "runtime/net/emit.h"

int32_t plim_net_micro_batch(const plim_net *net) {
  return net->options.batch / net->options.accumulate;
}

static plim_net_ref part_of(plim_net_emit *emit, const char *name, plim_net_ref whole, const plim_shape *part) {
  return plim_net_emit_part(emit, name, whole, emit->micro * plim_shape_bytes(part), part);
}

void plim_net_emit_micro_batch(plim_net_emit *emit, const plim_net_emitted *before, int32_t micro) {
  const plim_net_options *o = &emit->net->options;
  emit->micro = o->accumulate > 1 ? micro : PLIM_NONE;
  emit->n_sums = 0;
  if (emit->micro < 0) return;
  const plim_shape image = plim_net_emit_inputs(o, plim_net_micro_batch(emit->net));
  const plim_shape label = plim_net_emit_labels(o, plim_net_micro_batch(emit->net));
  memcpy(emit->at, before, (size_t)emit->net->n_layers * sizeof *emit->at);
  emit->image = part_of(emit, o->context > 0 ? "tokens" : "image", emit->all_images, &image);
  emit->label = part_of(emit, "label", emit->all_labels, &label);
}

/* ---- the tree ---- */

/* Emit the sum of two neighbours at a level of the tree. The sum replaces *right.
 *   what  the parameter; NULL for losses */
typedef void add_fn(plim_net_emit *emit, const void *what, int32_t level, plim_net_sum *left, plim_net_sum *right);

/* Add the micro-batch's gradient or losses to the sums that wait. 1: *sum is the sum of all micro-batches. */
static int add_to_tree(plim_net_emit *emit, const void *what, plim_net_sum *part /* [LEVELS] */, plim_net_sum *sum,
                       add_fn *add) {
  const int is_last = emit->micro + 1 == emit->net->options.accumulate;
  int32_t level = 0;
  for (; emit->micro >> level; level++) {
    const int is_there = emit->micro >> level & 1;
    if (!is_there && !is_last) break;
    if (is_there) add(emit, what, level, &part[level], sum);
  }
  if (!is_last) part[level] = *sum;
  return is_last;
}

/* Whether the sum at this level is the root of the tree, the sum of all micro-batches. */
static int is_root(const plim_net_emit *emit, int32_t level) {
  return emit->micro + 1 == emit->net->options.accumulate && emit->micro >> level == 1;
}

/* ---- gradients ---- */

typedef struct parameter {
  const char *layer, *suffix;
  const plim_shape *shape;
} parameter;

static void add_gradients(plim_net_emit *emit, const void *what, int32_t level, plim_net_sum *left,
                          plim_net_sum *right) {
  const parameter *p = what;
  const int32_t micro = emit->micro, root = is_root(emit, level);
  char suffix[PLIM_NET_SUFFIX_BYTES];
  (void)snprintf(suffix, sizeof suffix, root ? "%s.grad" : "%s.sum%d", p->suffix, level);
  if (root) emit->micro = PLIM_NONE;
  const plim_net_ref sum = plim_net_emit_value(emit, p->layer, suffix, PLIM_ROLE_GRADIENT, p->shape);
  plim_op_spec spec = {.kind = PLIM_OP_ACCUMULATE,
                       .phase = PLIM_PHASE_BACKWARD,
                       .attrs = {.count = root ? emit->net->options.accumulate : 0},
                       .n_in = 2,
                       .in = {left->value.value, right->value.value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(emit, p->layer, suffix, &spec);
  emit->micro = micro;
  right->value = sum;
}

int plim_net_emit_mean(plim_net_emit *emit, const char *layer, const char *suffix, const plim_shape *shape,
                       plim_net_ref *gradient) {
  const parameter p = {layer, suffix, shape};
  plim_net_sum sum = {.value = *gradient};
  if (emit->micro < 0) return 1;
  const int complete = add_to_tree(emit, &p, emit->sum[emit->n_sums++], &sum, add_gradients);
  *gradient = sum.value;
  return complete;
}

/* ---- losses ---- */

void plim_net_emit_loss(plim_net_emit *emit, plim_net_sum *out) {
  const plim_role role = emit->micro < 0 ? PLIM_ROLE_OUTPUT : PLIM_ROLE_ACTIVATION;
  const plim_shape loss = plim_net_emit_vector(PLIM_F32, 1), hits = plim_net_emit_vector(PLIM_I32, 2);
  out->value = plim_net_emit_value(emit, "loss", "", role, &loss);
  out->hits = plim_net_emit_value(emit, "hits", "", role, &hits);
  emit->loss = *out;
}

static void add_losses(plim_net_emit *emit, const void *what, int32_t level, plim_net_sum *left, plim_net_sum *right) {
  const plim_shape loss = plim_net_emit_vector(PLIM_F32, 1), hits = plim_net_emit_vector(PLIM_I32, 2);
  const int32_t micro = emit->micro, root = is_root(emit, level);
  const plim_role role = root ? PLIM_ROLE_OUTPUT : PLIM_ROLE_ACTIVATION;
  plim_net_sum sum;
  char suffix[PLIM_NET_SUFFIX_BYTES] = "";
  (void)what;
  if (!root) (void)snprintf(suffix, sizeof suffix, ".sum%d", level);
  if (root) emit->micro = PLIM_NONE;
  sum.value = plim_net_emit_value(emit, "loss", suffix, role, &loss);
  sum.hits = plim_net_emit_value(emit, "hits", suffix, role, &hits);
  plim_op_spec spec = {.kind = PLIM_OP_MEAN_LOSS,
                       .n_in = 4,
                       .in = {left->value.value, left->hits.value, right->value.value, right->hits.value},
                       .n_out = 2,
                       .out = {sum.value.value, sum.hits.value}};
  plim_net_emit_op(emit, "loss", suffix, &spec);
  emit->micro = micro;
  *right = sum;
}

void plim_net_emit_mean_loss(plim_net_emit *emit) {
  if (emit->micro >= 0) (void)add_to_tree(emit, NULL, emit->losses, &emit->loss, add_losses);
}
