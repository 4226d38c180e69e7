/* When a budget shrinks in the middle of a step, the commands that are left may need kernels with less scratch memory.
 * They get variants of the same numerics keys with less workspace. The plan's own variants keep their rows; new ones
 * are appended. */
#include "runtime/arena/limit_workspace.h"

#include <string.h>

/* The row of the op's variant of that name; a new row when there is none. */
static int32_t row_of(plim_limited_plan *limited, const plim_plan *plan, int32_t op, const plim_variant *variant) {
  for (int32_t i = 0; i < plan->n_variants; i++) {
    const plim_plan_variant *own = &plan->variant[i];
    if (own->op == op && strcmp(own->variant.name, variant->name) == 0) return i;
  }
  limited->variant[limited->plan.n_variants] = (plim_plan_variant){op, *variant};
  return limited->plan.n_variants++;
}

static void add_command(plim_limited_plan *limited, const plim_plan *plan, int32_t j, int32_t from, int64_t limit) {
  plim_command *command = &limited->command[limited->plan.n_commands++];
  *command = plan->command[j];
  int limit_workspace = plan->variant[command->variant].variant.workspace_bytes > limit;
  if (j >= from && limit_workspace) command->variant = limited->again[command->op];
  limited->plan.time_ns += limited->variant[command->variant].variant.time_ns;
}

/* first [n_ops] is scratch: the command that runs each op first. */
static void fill_commands(plim_limited_plan *limited, const plim_plan *plan, int32_t from, int64_t limit, int own_order,
                          int32_t *first) {
  limited->plan.n_commands = 0;
  limited->plan.time_ns = 0;
  for (int32_t j = plan->n_commands - 1; j >= 0; j--) first[plan->command[j].op] = j;
  for (int32_t j = 0; j < (own_order ? plan->n_commands : from); j++) add_command(limited, plan, j, from, limit);
  for (int32_t o = 0; o < limited->n_ops && !own_order; o++) {
    if (first[o] >= from) add_command(limited, plan, first[o], from, limit);
  }
}

/* The op's variant within the limit that has the numerics key of the plan's own. */
static const plim_variant *choose(const plim_profile *profile, int32_t op, const plim_variant *own, int64_t limit) {
  if (!profile) return own;
  const int32_t first = profile->first[op], n = profile->first[op + 1] - first;
  return plim_variants_within(profile->variant + first, n, own->numerics_key, limit, own);
}

static void fill_variants(plim_limited_plan *limited, const plim_plan *plan, const plim_profile *profile,
                          int64_t limit) {
  memcpy(limited->variant, plan->variant, (size_t)plan->n_variants * sizeof *plan->variant);
  for (int32_t i = 0; i < plan->n_variants; i++) {
    int32_t op = plan->variant[i].op;
    if (!plim_plan_variant_is_first(plan, i)) continue; /* it decides for the others of its op */
    limited->again[op] = row_of(limited, plan, op, choose(profile, op, &plan->variant[i].variant, limit));
  }
}

plim_status plim_limit_workspace(plim_context *ctx, const plim_graph *graph, const plim_plan *plan,
                                 const plim_profile *profile, int32_t from, int64_t limit, int own_order,
                                 plim_limited_plan *out) {
  int32_t n_ops = graph->n_ops, *first = NULL;
  *out = (plim_limited_plan){
      .plan = *plan, .n_ops = n_ops, .n_rows = n_ops + plan->n_variants, .command_capacity = plan->n_commands};
  out->plan.ctx = ctx;
  PLIM_TRY(plim_allocate(ctx, n_ops, sizeof *out->again, &out->again));
  PLIM_TRY(plim_allocate(ctx, plan->n_commands, sizeof *out->command, &out->command));
  PLIM_TRY(plim_allocate(ctx, out->n_rows, sizeof *out->variant, &out->variant));
  PLIM_TRY(plim_allocate(ctx, n_ops, sizeof *first, &first));
  fill_variants(out, plan, profile, limit);
  fill_commands(out, plan, from, limit, own_order, first);
  plim_release(ctx, first, n_ops, sizeof *first);
  /* A plan prefers the least workspace among nearly equal times, so the variants chosen here may be a little faster. */
  if (out->plan.time_ns < out->plan.keep_all_ns) out->plan.keep_all_ns = out->plan.time_ns;
  out->plan.command = out->command;
  out->plan.variant = out->variant;
  return PLIM_OK;
}

void plim_limited_plan_release(plim_limited_plan *limited) {
  plim_context *ctx = limited->plan.ctx;
  if (!ctx) return;
  plim_release(ctx, limited->again, limited->n_ops, sizeof *limited->again);
  plim_release(ctx, limited->command, limited->command_capacity, sizeof *limited->command);
  plim_release(ctx, limited->variant, limited->n_rows, sizeof *limited->variant);
  *limited = (plim_limited_plan){.n_ops = 0};
}
