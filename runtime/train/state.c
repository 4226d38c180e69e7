/* Compares the states of two trainers, value by value, through their executors. */
#include "runtime/train/state.h"

#include <string.h>

#include "runtime/train/verification.h"

int plim_state_has(const plim_graph *graph, int32_t value) {
  plim_role role = graph->storage[graph->value[value].storage].role;
  return role == PLIM_ROLE_PARAM || role == PLIM_ROLE_STATE;
}

static const plim_graph *graph_of(const plim_trainer *trainer) {
  return plim_trainer_program(trainer)->graph[PLIM_PROGRAM_TRAIN];
}

/* Number of values of the state and the bytes of the largest. */
static int64_t state_count(const plim_graph *graph, int64_t *largest) {
  int64_t count = 0;
  *largest = 0;
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (!plim_state_has(graph, v)) continue;
    count++;
    if (graph->value[v].bytes > *largest) *largest = graph->value[v].bytes;
  }
  return count;
}

/* Two copies of one value. */
typedef struct copies {
  char *a, *b; /* [capacity] */
  int64_t capacity;
} copies;

static plim_status compare_value(const plim_trainer *a, const plim_trainer *b, int32_t value, const copies *copy,
                                 plim_state_difference *d) {
  const plim_graph *graph = graph_of(a), *other = graph_of(b);
  const plim_value *v = &graph->value[value];
  int32_t match = plim_graph_find_value(other, v->name);
  if (match < 0 || !plim_state_has(other, match) || other->value[match].bytes != v->bytes) {
    return plim_fail(graph->ctx, PLIM_EDATA, "%s (%lld bytes) of %s has no counterpart in %s", v->name,
                     (long long)v->bytes, graph->name, other->name);
  }
  PLIM_TRY(plim_exec_read(plim_trainer_exec(a), PLIM_PROGRAM_TRAIN, value, copy->a, v->bytes));
  PLIM_TRY(plim_exec_read(plim_trainer_exec(b), PLIM_PROGRAM_TRAIN, match, copy->b, v->bytes));
  d->values++;
  d->bytes += v->bytes;
  if (memcmp(copy->a, copy->b, (size_t)v->bytes) == 0) return PLIM_OK;
  if (d->different++ == 0) {
    d->name = v->name;
    while (copy->a[d->first_byte] == copy->b[d->first_byte]) d->first_byte++;
  }
  return PLIM_OK;
}

plim_status plim_state_compare(const plim_trainer *a, const plim_trainer *b, plim_state_difference *out) {
  const plim_graph *graph = graph_of(a);
  plim_context *ctx = graph->ctx;
  plim_state_difference d = {0};
  copies copy = {0};
  int64_t largest_b;
  plim_status status = PLIM_OK;
  int64_t count = state_count(graph, &copy.capacity), count_b = state_count(graph_of(b), &largest_b);
  if (count != count_b) {
    return plim_fail(ctx, PLIM_EDATA, "%s has %lld values to compare, %s has %lld", graph->name, (long long)count,
                     graph_of(b)->name, (long long)count_b);
  }
  PLIM_CHECK(plim_allocate(ctx, copy.capacity, 1, &copy.a));
  PLIM_CHECK(plim_allocate(ctx, copy.capacity, 1, &copy.b));
  for (int32_t v = 0; v < graph->n_values; v++) {
    if (plim_state_has(graph, v)) PLIM_CHECK(compare_value(a, b, v, &copy, &d));
  }
  *out = d;
done:
  plim_release(ctx, copy.a, copy.capacity, 1);
  plim_release(ctx, copy.b, copy.capacity, 1);
  return status;
}
