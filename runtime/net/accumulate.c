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

static plim_net_ref part_of(plim_net_emit *e, const char *name, plim_net_ref whole, const plim_shape *part) {
  return plim_net_emit_part(e, name, whole, e->micro * plim_shape_bytes(part), part);
}

void plim_net_emit_micro_batch(plim_net_emit *e, const plim_net_emitted *before, int32_t micro) {
  const plim_net_options *o = &e->net->options;
  e->micro = o->accumulate > 1 ? micro : PLIM_NONE;
  e->n_sums = 0;
  if (e->micro < 0) return;
  const plim_shape image = plim_net_emit_inputs(o, plim_net_micro_batch(e->net));
  const plim_shape label = plim_net_emit_labels(o, plim_net_micro_batch(e->net));
  memcpy(e->at, before, (size_t)e->net->n_layers * sizeof *e->at);
  e->image = part_of(e, o->context > 0 ? "tokens" : "image", e->all_images, &image);
  e->label = part_of(e, "label", e->all_labels, &label);
}

/* ---- the tree ---- */

/* Emit the sum of two neighbours at a level of the tree. The sum replaces *right.
 *   what  the parameter; NULL for losses */
typedef void add_fn(plim_net_emit *e, const void *what, int32_t level, plim_net_sum *left, plim_net_sum *right);

/* Add the micro-batch's gradient or losses to the sums that wait. 1: *sum is the sum of all micro-batches. */
static int add_to_tree(plim_net_emit *e, const void *what, plim_net_sum *part /* [LEVELS] */, plim_net_sum *sum,
                       add_fn *add) {
  const int is_last = e->micro + 1 == e->net->options.accumulate;
  int32_t level = 0;
  for (; e->micro >> level; level++) {
    const int is_there = e->micro >> level & 1;
    if (!is_there && !is_last) break;
    if (is_there) add(e, what, level, &part[level], sum);
  }
  if (!is_last) part[level] = *sum;
  return is_last;
}

/* Whether the sum at this level is the root of the tree, the sum of all micro-batches. */
static int is_root(const plim_net_emit *e, int32_t level) {
  return e->micro + 1 == e->net->options.accumulate && e->micro >> level == 1;
}

/* ---- gradients ---- */

typedef struct parameter {
  const char *layer, *suffix;
  const plim_shape *shape;
} parameter;

static void add_gradients(plim_net_emit *e, const void *what, int32_t level, plim_net_sum *left, plim_net_sum *right) {
  const parameter *p = what;
  const int32_t micro = e->micro, root = is_root(e, level);
  char suffix[PLIM_NET_SUFFIX_BYTES];
  (void)snprintf(suffix, sizeof suffix, root ? "%s.grad" : "%s.sum%d", p->suffix, level);
  if (root) e->micro = PLIM_NONE;
  const plim_net_ref sum = plim_net_emit_value(e, p->layer, suffix, PLIM_ROLE_GRADIENT, p->shape);
  plim_op_spec spec = {.kind = PLIM_OP_ACCUMULATE,
                       .phase = PLIM_PHASE_BACKWARD,
                       .attrs = {.count = root ? e->net->options.accumulate : 0},
                       .n_in = 2,
                       .in = {left->value.value, right->value.value},
                       .n_out = 1,
                       .out = {sum.value}};
  plim_net_emit_op(e, p->layer, suffix, &spec);
  e->micro = micro;
  right->value = sum;
}

int plim_net_emit_mean(plim_net_emit *e, const char *layer, const char *suffix, const plim_shape *shape,
                       plim_net_ref *gradient) {
  const parameter p = {layer, suffix, shape};
  plim_net_sum sum = {.value = *gradient};
  if (e->micro < 0) return 1;
  const int complete = add_to_tree(e, &p, e->sum[e->n_sums++], &sum, add_gradients);
  *gradient = sum.value;
  return complete;
}

/* ---- losses ---- */

void plim_net_emit_loss(plim_net_emit *e, plim_net_sum *out) {
  const plim_role role = e->micro < 0 ? PLIM_ROLE_OUTPUT : PLIM_ROLE_ACTIVATION;
  const plim_shape loss = plim_net_emit_vector(PLIM_F32, 1), hits = plim_net_emit_vector(PLIM_I32, 2);
  out->value = plim_net_emit_value(e, "loss", "", role, &loss);
  out->hits = plim_net_emit_value(e, "hits", "", role, &hits);
  e->loss = *out;
}

static void add_losses(plim_net_emit *e, const void *what, int32_t level, plim_net_sum *left, plim_net_sum *right) {
  const plim_shape loss = plim_net_emit_vector(PLIM_F32, 1), hits = plim_net_emit_vector(PLIM_I32, 2);
  const int32_t micro = e->micro, root = is_root(e, level);
  const plim_role role = root ? PLIM_ROLE_OUTPUT : PLIM_ROLE_ACTIVATION;
  plim_net_sum sum;
  char suffix[PLIM_NET_SUFFIX_BYTES] = "";
  (void)what;
  if (!root) (void)snprintf(suffix, sizeof suffix, ".sum%d", level);
  if (root) e->micro = PLIM_NONE;
  sum.value = plim_net_emit_value(e, "loss", suffix, role, &loss);
  sum.hits = plim_net_emit_value(e, "hits", suffix, role, &hits);
  plim_op_spec spec = {.kind = PLIM_OP_MEAN_LOSS,
                       .n_in = 4,
                       .in = {left->value.value, left->hits.value, right->value.value, right->hits.value},
                       .n_out = 2,
                       .out = {sum.value.value, sum.hits.value}};
  plim_net_emit_op(e, "loss", suffix, &spec);
  e->micro = micro;
  *right = sum;
}

void plim_net_emit_mean_loss(plim_net_emit *e) {
  if (e->micro >= 0) (void)add_to_tree(e, NULL, e->losses, &e->loss, add_losses);
}
