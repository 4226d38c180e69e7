/* Versions. Each update of a param or state makes a new version. Program order defines the version that every operand
 * of every op must have. The walk counts the updates that the plan has run so far, and compares. All other storages
 * have only one content: that which their producer computes from operands of the right versions. */
#include <string.h>

#include "runtime/graph/check/check_internal.h"

typedef struct version_walk {
  const plim_checker *check;
  int32_t *first_variant; /* [n_ops] variant of the op's first run, PLIM_NONE before it */
  int32_t *updates;       /* [spaces][n_storages] number of updates in the storage's latest buffer there */
  char *used;             /* [n_variants] 1: a command runs it */
} version_walk;

/* Number of updates of the storage before the op in program order: the version that the op must read. */
static int32_t version_expected(const plim_graph *graph, int32_t op, int32_t storage) {
  int32_t n = 0;
  for (int32_t i = graph->updater_first[storage]; i < graph->updater_first[storage + 1]; i++) {
    n += graph->updater[i] < op;
  }
  return n;
}

static int32_t *updates_in(const version_walk *walk, int32_t storage, int32_t space) {
  return &walk->updates[(int64_t)space * walk->check->graph->n_storages + storage];
}

static plim_status check_version(const version_walk *walk, int32_t j, int32_t storage, const char *verb) {
  int32_t expected = version_expected(walk->check->graph, walk->check->plan->command[j].op, storage);
  int32_t seen = *updates_in(walk, storage, walk->check->plan->command[j].space);
  if (seen == expected) return PLIM_OK;
  return plim_check_fault(walk->check, j, "%s \"%s\" after %d updates; in program order it sees %d", verb,
                          plim_check_storage_name(walk->check, storage), seen, expected);
}

/* Check that in every class but free the op before has run: first runs are in program order. */
static plim_status check_class(const version_walk *walk, int32_t j) {
  const plim_plan *plan = walk->check->plan;
  int32_t before = plan->command[j].op - 1;
  if (plan->plan_class == PLIM_CLASS_FREE || before < 0 || walk->first_variant[before] >= 0) return PLIM_OK;
  return plim_check_fault(walk->check, j, "runs before op \"%s\", which comes first in a plan of class %s",
                          walk->check->graph->op[before].name, plim_plan_class_name(plan->plan_class));
}

/* Record the first run of an op. A later run must be allowed, and have the same numerics key. */
static plim_status check_repeat(const version_walk *walk, int32_t j) {
  const plim_plan *plan = walk->check->plan;
  const plim_command *command = &plan->command[j];
  int32_t first = walk->first_variant[command->op];
  if (first < 0) {
    PLIM_TRY(check_class(walk, j));
    walk->first_variant[command->op] = command->variant;
    return PLIM_OK;
  }
  if (walk->check->graph->op[command->op].cls == PLIM_OP_EFFECT) {
    return plim_check_fault(walk->check, j, "an op that updates params or states runs a second time");
  }
  if (walk->check->graph->op[command->op].cls == PLIM_OP_ONCE) {
    return plim_check_fault(walk->check, j, "an op of class once runs a second time");
  }
  const char *was = plan->variant[first].variant.numerics_key;
  const char *now = plan->variant[command->variant].variant.numerics_key;
  if (strcmp(was, now) != 0) {
    return plim_check_fault(walk->check, j, "runs again with numerics key \"%s\"; its first run had \"%s\"", now, was);
  }
  return PLIM_OK;
}

/* Check a command. A copy gives its target the version of its source. */
static plim_status check_run(const version_walk *walk, int32_t j) {
  const plim_command *command = &walk->check->plan->command[j];
  if (command->kind == PLIM_COMMAND_COPY) {
    *updates_in(walk, command->storage, command->to) = *updates_in(walk, command->storage, command->from);
    return PLIM_OK;
  }
  const plim_op *op = &walk->check->graph->op[walk->check->plan->command[j].op];
  walk->used[walk->check->plan->command[j].variant] = 1;
  PLIM_TRY(check_repeat(walk, j));
  for (int32_t i = 0; i < op->n_reads; i++) PLIM_TRY(check_version(walk, j, op->reads[i], "reads"));
  for (int32_t i = 0; i < op->n_updates; i++) PLIM_TRY(check_version(walk, j, op->updates[i], "updates"));
  for (int32_t i = 0; i < op->n_updates; i++) ++*updates_in(walk, op->updates[i], command->space);
  return PLIM_OK;
}

static plim_status check_all_used(const version_walk *walk) {
  const plim_checker *check = walk->check;
  for (int32_t op = 0; op < check->graph->n_ops; op++) {
    if (walk->first_variant[op] < 0) {
      return plim_fail(check->ctx, PLIM_EPLAN, "op %d (\"%s\") runs in none of the %d commands", op,
                       check->graph->op[op].name, check->plan->n_commands);
    }
  }
  for (int32_t i = 0; i < check->plan->n_variants; i++) {
    if (!walk->used[i]) {
      return plim_fail(check->ctx, PLIM_EPLAN, "no command runs variant %d, \"%s\" of op \"%s\"", i,
                       check->plan->variant[i].variant.name, check->graph->op[check->plan->variant[i].op].name);
    }
  }
  return PLIM_OK;
}

/* Check that at the end each persistent storage has its last version at home, where the next step reads it. */
static plim_status check_last_versions(const version_walk *walk) {
  const plim_graph *graph = walk->check->graph;
  int32_t *home = NULL;
  if (walk->check->plan->n_page_spaces == 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(walk->check->ctx, graph->n_storages, sizeof *home, &home));
  plim_status status = plim_check_homes(walk->check, home);
  for (int32_t s = 0; s < graph->n_storages && status == PLIM_OK; s++) {
    int32_t last = graph->updater_first[s + 1] - graph->updater_first[s];
    if (!plim_role_persistent(graph->storage[s].role) || home[s] < 0 || *updates_in(walk, s, home[s]) == last) continue;
    status = plim_fail(walk->check->ctx, PLIM_EPLAN, "\"%s\" ends with %d of its %d updates in space %d, its home",
                       plim_check_storage_name(walk->check, s), *updates_in(walk, s, home[s]), last, home[s]);
  }
  plim_release(walk->check->ctx, home, graph->n_storages, sizeof *home);
  return status;
}

plim_status plim_check_order(const plim_checker *check) {
  const plim_graph *graph = check->graph;
  version_walk walk = {.check = check};
  int64_t keys = plim_mul_checked(graph->n_storages, check->plan->n_page_spaces + 1);
  plim_status status = PLIM_OK;
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, graph->n_ops, sizeof *walk.first_variant, &walk.first_variant));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, keys, sizeof *walk.updates, &walk.updates));
  PLIM_TRY_OR_DONE(plim_allocate(check->ctx, check->plan->n_variants, sizeof *walk.used, &walk.used));
  for (int32_t op = 0; op < graph->n_ops; op++) walk.first_variant[op] = PLIM_NONE;
  for (int32_t j = 0; j < check->plan->n_commands; j++) PLIM_TRY_OR_DONE(check_run(&walk, j));
  PLIM_TRY_OR_DONE(check_last_versions(&walk));
  status = check_all_used(&walk);
done:
  plim_release(check->ctx, walk.first_variant, graph->n_ops, sizeof *walk.first_variant);
  plim_release(check->ctx, walk.updates, keys, sizeof *walk.updates);
  plim_release(check->ctx, walk.used, check->plan->n_variants, sizeof *walk.used);
  return status;
}
