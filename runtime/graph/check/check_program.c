/* Checks programs: plans that share the arenas of one run. Persistent storages keep their contents from plan to plan,
 * so every plan must have all of them in the same homes at the same offsets. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/graph/check/check.h"
#include "runtime/graph/check/check_internal.h"

typedef struct persistent {
  const char *name; /* of the storage's first value; "" when it has none */
  plim_role role;
  int32_t home; /* space */
  int64_t offset, bytes;
} persistent;

static int compare_names(const void *a, const void *b) {
  const persistent *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (order != 0) return order;
  return plim_integers_compare(x->offset, y->offset);
}

static int32_t persistent_count(const plim_graph *graph) {
  int32_t n = 0;
  for (int32_t s = 0; s < graph->n_storages; s++) n += plim_role_persistent(graph->storage[s].role) != 0;
  return n;
}

/* List the persistent storages of a plan that has passed the check, so that each has one home.
 *   name_of  [n_storages]        scratch
 *   home     [n_storages]        in
 *   row      [persistent_count]  out  sorted by name */
static void persistents(const plim_graph *graph, const plim_plan *plan, const char **name_of, const int32_t *home,
                        persistent *row) {
  int32_t n = 0;
  for (int32_t s = 0; s < graph->n_storages; s++) name_of[s] = "";
  for (int32_t v = graph->n_values - 1; v >= 0; v--) name_of[graph->value[v].storage] = graph->value[v].name;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    int32_t s = b->storage;
    if (s < 0 || !plim_role_persistent(graph->storage[s].role) || b->begin > 0 || b->space != home[s]) continue;
    row[n++] = (persistent){name_of[s], graph->storage[s].role, b->space, b->offset, b->bytes};
  }
  qsort(row, (size_t)n, sizeof *row, compare_names);
}

static plim_status compare_rows(plim_context *ctx, int32_t n, int32_t plan, const persistent *first,
                                const persistent *row) {
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(first[i].name, row[i].name) != 0 || first[i].role != row[i].role) {
      return plim_fail(ctx, PLIM_EPLAN, "plan 0 has the persistent storage \"%s\" (%s) where plan %d has \"%s\" (%s)",
                       first[i].name, plim_role_name(first[i].role), plan, row[i].name, plim_role_name(row[i].role));
    }
    if (first[i].home != row[i].home) {
      return plim_fail(ctx, PLIM_EPLAN, "\"%s\" is at home in space %d in plan 0 and in space %d in plan %d",
                       row[i].name, first[i].home, row[i].home, plan);
    }
    if (first[i].offset != row[i].offset || first[i].bytes != row[i].bytes) {
      return plim_fail(ctx, PLIM_EPLAN, "\"%s\" has %lld bytes at %lld in plan 0 and %lld bytes at %lld in plan %d",
                       row[i].name, (long long)first[i].bytes, (long long)first[i].offset, (long long)row[i].bytes,
                       (long long)row[i].offset, plan);
    }
  }
  return PLIM_OK;
}

/* Make the rows of one graph and plan. *row [persistent_count] out: the caller frees it, also after a failure. */
static plim_status make_rows(plim_context *ctx, const plim_graph *graph, const plim_plan *plan, persistent **row) {
  const plim_checker check = {ctx, graph, plan};
  const char **name_of = NULL;
  int32_t *home = NULL;
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, persistent_count(graph), sizeof **row, row));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *name_of, &name_of));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *home, &home));
  PLIM_TRY_OR_DONE(plim_check_homes(&check, home));
  persistents(graph, plan, name_of, home, *row);
done:
  plim_release(ctx, name_of, graph->n_storages, sizeof *name_of);
  plim_release(ctx, home, graph->n_storages, sizeof *home);
  return status;
}

static plim_status compare_plan(plim_context *ctx, int32_t i, const plim_graph *const *graph,
                                const plim_plan *const *plan, const persistent *first) {
  int32_t n = persistent_count(graph[i]);
  if (n != persistent_count(graph[0])) {
    return plim_fail(ctx, PLIM_EPLAN, "plan 0 has %d persistent storages, plan %d has %d", persistent_count(graph[0]),
                     i, n);
  }
  persistent *row = NULL;
  plim_status status = make_rows(ctx, graph[i], plan[i], &row);
  if (status == PLIM_OK) status = compare_rows(ctx, n, i, first, row);
  plim_release(ctx, row, n, sizeof *row);
  return status;
}

plim_status plim_program_check(plim_context *ctx, int32_t n, const plim_graph *const *graph,
                               const plim_plan *const *plan) {
  persistent *first = NULL;
  plim_status status = PLIM_OK;
  for (int32_t i = 0; i < n; i++) {
    PLIM_TRY(plim_plan_check(ctx, graph[i], plan[i]));
    if (!plan[i]->packed) return plim_fail(ctx, PLIM_EPLAN, "plan %d of the program has no addresses", i);
  }
  if (n == 0) return PLIM_OK;
  PLIM_TRY_OR_DONE(make_rows(ctx, graph[0], plan[0], &first));
  for (int32_t i = 1; i < n; i++) PLIM_TRY_OR_DONE(compare_plan(ctx, i, graph, plan, first));
done:
  plim_release(ctx, first, persistent_count(graph[0]), sizeof *first);
  return status;
}
