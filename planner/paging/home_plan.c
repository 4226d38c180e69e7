/* Plans in which optimizer state, and parameters, are at home in the page space.
 *
 * The graph without them (home_graph.c) has the same plans for the rest of the arena. In a plan of that graph the
 * workspace of an update becomes the state's buffer: a copy from its home begins it before the update, and a copy to
 * its home ends it after the update. A run of "home in" becomes a copy of the parameter from its home, and the update
 * is followed by a copy of it to its home. A step of another graph, evaluation, has the same homes at the same
 * offsets. */

#include "planner/paging/paging_internal.h"
#include "planner/paging/paging_tuning.h"

enum { SPACES = 2 };

/* ---- from its plan to one of the graph ---- */

typedef struct home_pass {
  const plim_graph *graph;
  const plim_plan *plan; /* of the graph without */
  const plim_paging *paging;
  plim_command_list list;
  const plim_home_graph *without;
  int32_t *now[SPACES]; /* [n_storages] buffer that began last */
  int32_t *home;        /* [n_storages] buffer at home; -1: in the arena */
} home_pass;

/* Homes lie one after another from the start of the page space, in every step of a program. */
static void add_homes(home_pass *pass) {
  int64_t offset = 0;
  for (int32_t s = 0; s < pass->graph->n_storages; s++) {
    pass->now[0][s] = pass->now[1][s] = pass->home[s] = -1;
    if (pass->without->home[s] == PLIM_HOME_ARENA) continue;
    int64_t bytes = plim_align_up(pass->graph->storage[s].bytes, PLIM_ALIGN);
    pass->home[s] = plim_command_list_add_buffer(&pass->list, s, 1, -1, bytes, offset);
    if (pass->list.status == PLIM_OK) pass->list.buffer[pass->home[s]].stays = 1;
    offset += bytes;
  }
}

/* inward 1: a copy from its home begins the storage's buffer at `offset`; 0: a copy to its home. */
static void add_home_copy(home_pass *pass, int32_t s, int inward, int64_t offset) {
  const int64_t bytes = plim_align_up(pass->graph->storage[s].bytes, PLIM_ALIGN);
  plim_command command = {.kind = PLIM_COMMAND_COPY,
                          .queue = inward ? PLIM_LIST_QUEUE_IN : PLIM_LIST_QUEUE_OUT,
                          .storage = s,
                          .from = inward,
                          .to = !inward};
  if (inward) pass->now[0][s] = plim_command_list_add_buffer(&pass->list, s, 0, pass->list.n, bytes, offset);
  plim_command_list_add_use(&pass->list, inward ? pass->home[s] : pass->now[0][s], 0);
  plim_command_list_add_use(&pass->list, inward ? pass->now[0][s] : pass->home[s], 1);
  (void)plim_command_list_add(&pass->list, &command,
                              plim_paging_link_ns(pass->paging, inward, pass->graph->storage[s].bytes));
}

static int64_t workspace_offset(const plim_plan *plan, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; i++) {
    if (plan->buffer[i].storage < 0) return plan->buffer[i].offset;
  }
  return -1;
}

/* Buffer i of the plan, which begins at the command that is added next. `away`: bytes of a workspace that are not the
 * op's own. */
static void begin_buffer(home_pass *pass, int32_t i, int64_t away) {
  const plim_plan_buffer *b = &pass->plan->buffer[i];
  if (b->storage < 0) {
    if (b->bytes > away) plim_command_list_add_workspace(&pass->list, b->space, b->bytes - away, b->offset + away);
    return;
  }
  int32_t s = pass->without->storage[b->storage];
  if (s < 0 || pass->home[s] >= 0) return; /* a mark; a copy from its home begins it */
  int given = pass->graph->storage[s].producer < 0 && b->begin == 0 && b->space == 0;
  int32_t id = plim_command_list_add_buffer(&pass->list, s, b->space, given ? -1 : pass->list.n, b->bytes, b->offset);
  if (pass->list.status != PLIM_OK) return;
  pass->list.buffer[id].stays =
      b->end == pass->plan->n_commands &&
      (plim_role_persistent(pass->graph->storage[s].role) || pass->graph->storage[s].role == PLIM_ROLE_OUTPUT);
  pass->now[b->space][s] = id;
}

/* Outputs that overwrite inputs take over their bytes, and the buffers of the inputs end. */
static void overwrite_inputs(home_pass *pass, const plim_command *command, const plim_op *op) {
  for (int32_t i = 0; i < command->n_pairs; i++) {
    int32_t in = pass->now[0][pass->graph->value[op->in[command->pair[i].in]].storage];
    int32_t out = pass->now[0][pass->graph->value[op->out[command->pair[i].out]].storage];
    if (in >= 0 && out >= 0) plim_command_list_overwrite(&pass->list, in, out);
  }
}

/* Copy a parameter from its home. The copy stands for a run of "home in", or for a copy that begins the buffer. */
static void copy_from_home(home_pass *pass, int32_t s, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; i++) {
    const plim_plan_buffer *b = &pass->plan->buffer[i];
    if (b->storage >= 0 && b->space == 0 && pass->without->storage[b->storage] == s)
      add_home_copy(pass, s, 1, b->offset);
  }
}

static void add_run(home_pass *pass, const plim_command *command, int32_t begin, int32_t end) {
  plim_command run = *command;
  if (pass->without->op[command->op] < 0) {
    for (int32_t i = begin; i < end; i++) begin_buffer(pass, i, 0);
    copy_from_home(pass, pass->without->fetched[command->op], begin, end);
    return;
  }
  run.op = pass->without->op[command->op];
  const plim_op *op = &pass->graph->op[run.op];
  int64_t away = plim_home_away_bytes(pass->without, run.op), offset = workspace_offset(pass->plan, begin, end);
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (pass->without->home[op->updates[i]] != PLIM_HOME_STATE) continue;
    add_home_copy(pass, op->updates[i], 1, offset);
    offset += plim_align_up(pass->graph->storage[op->updates[i]].bytes, PLIM_ALIGN);
  }
  for (int32_t i = begin; i < end; i++) begin_buffer(pass, i, away);
  plim_command_list_add_uses(&pass->list, op->n_reads, op->reads, pass->now[0], 0);
  plim_command_list_add_uses(&pass->list, op->n_writes, op->writes, pass->now[0], 1);
  plim_command_list_add_uses(&pass->list, op->n_updates, op->updates, pass->now[0], 1);
  if (pass->list.status == PLIM_OK) overwrite_inputs(pass, &run, op);
  (void)plim_command_list_add(&pass->list, &run, pass->plan->variant[command->variant].variant.time_ns);
  for (int32_t i = 0; i < op->n_updates; i++) {
    if (pass->home[op->updates[i]] >= 0) add_home_copy(pass, op->updates[i], 0, -1);
  }
}

static void add_copy(home_pass *pass, const plim_command *command, int32_t begin, int32_t end) {
  plim_command copy = *command;
  copy.storage = pass->without->storage[command->storage];
  if (pass->home[copy.storage] >= 0) { /* its home has it all the time */
    if (command->to == 0) copy_from_home(pass, copy.storage, begin, end);
    return;
  }
  plim_command_list_add_use(&pass->list, pass->now[command->from][copy.storage], 0);
  for (int32_t i = begin; i < end; i++) begin_buffer(pass, i, 0);
  plim_command_list_add_use(&pass->list, pass->now[command->to][copy.storage], 1);
  (void)plim_command_list_add(&pass->list, &copy, command->time_ns);
}

static plim_status add_commands(home_pass *pass) {
  const plim_plan *plan = pass->plan;
  add_homes(pass);
  for (int32_t j = 0, begin = 0, end = 0; j < plan->n_commands; j++, begin = end) {
    while (end < plan->n_buffers && plan->buffer[end].begin == j) end++;
    PLIM_TRY(pass->list.status);
    if (plan->command[j].kind == PLIM_COMMAND_COPY) {
      add_copy(pass, &plan->command[j], begin, end);
    } else {
      add_run(pass, &plan->command[j], begin, end);
    }
  }
  return pass->list.status;
}

/* The variants of the graph's ops. No command runs "home in". */
static void set_variants(const home_pass *pass, plim_plan_variant *variant) {
  for (int32_t i = 0; i < pass->plan->n_variants; i++) {
    variant[i] = pass->plan->variant[i];
    int32_t op = pass->without->op[variant[i].op];
    variant[i].op = op < 0 ? 0 : op;
    if (op >= 0) variant[i].variant.workspace_bytes -= plim_home_away_bytes(pass->without, op);
  }
}

static int64_t home_bytes(const plim_home_graph *without) {
  int64_t bytes = 0;
  for (int32_t s = 0; s < without->whole->n_storages; s++) {
    if (without->home[s]) bytes += plim_align_up(without->whole->storage[s].bytes, PLIM_ALIGN);
  }
  return bytes;
}

static plim_status make_plan(home_pass *pass, const plim_plan_options *o, int64_t keep_all_ns, plim_plan **out) {
  plim_plan base = *pass->plan;
  plim_plan_variant *variant = NULL;
  plim_queue_spaces spaces;
  int32_t fits;
  plim_queue_spaces_make(o, &spaces);
  PLIM_TRY(plim_allocate(pass->list.ctx, base.n_variants, sizeof *variant, &variant));
  set_variants(pass, variant);
  base.variant = variant;
  const plim_lowering how = {.paging = o->paging,
                             .spaces = &spaces,
                             .base = &base,
                             .planner = base.planner,
                             .suffix = base.n_page_spaces > 0 ? NULL : "paged", /* it has the name already */
                             .keep_all_ns = keep_all_ns,
                             .bound_ns = keep_all_ns,
                             .n_shares = PLIM_PAGING_SPREADS,
                             .share = paging_tuning.lower.share,
                             .has_addresses = 1};
  plim_status status = plim_lower(&how, &pass->list, &fits, out);
  plim_release(pass->list.ctx, variant, base.n_variants, sizeof *variant);
  if (status != PLIM_OK || fits) return status;
  return plim_fail(pass->list.ctx, PLIM_ENOFIT,
                   "%s has less than the %lld bytes that are at home there, and what pages", o->paging->space,
                   (long long)home_bytes(pass->without));
}

static plim_status lower_to_graph(const plim_home_graph *without, const plim_plan *plan, const plim_plan_options *o,
                                  int64_t keep_all_ns, plim_plan **out) {
  const plim_graph *g = without->whole;
  plim_context *ctx = without->ctx;
  home_pass pass = {
      .graph = g, .plan = plan, .paging = o->paging, .without = without, .list = {.ctx = ctx, .graph = g}};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_storages, sizeof *pass.home, &pass.home));
  for (int k = 0; k < SPACES; k++)
    PLIM_TRY_OR_DONE(plim_allocate(ctx, g->n_storages, sizeof *pass.now[k], &pass.now[k]));
  PLIM_TRY_OR_DONE(add_commands(&pass));
  PLIM_TRY_OR_DONE(make_plan(&pass, o, keep_all_ns, out));
done:
  plim_command_list_free(&pass.list);
  plim_release(ctx, pass.home, g->n_storages, sizeof *pass.home);
  for (int k = 0; k < SPACES; k++) plim_release(ctx, pass.now[k], g->n_storages, sizeof *pass.now[k]);
  return status;
}

/* Lower the plan, and keep it in *best where it is better. plan NULL: nothing is done. */
static plim_status lower_better(const plim_home_graph *without, const plim_plan *plan, const plim_plan_options *o,
                                int64_t keep_all_ns, plim_plan **best) {
  plim_plan *lowered = NULL;
  if (!plan) return PLIM_OK;
  PLIM_TRY(lower_to_graph(without, plan, o, keep_all_ns, &lowered));
  plim_paging_keep_better(o->paging, best, lowered);
  return PLIM_OK;
}

/* Set the numerics keys of the graph without homes from those that the options give. */
static void set_keys(const plim_home_graph *homed, const char *const *of, const char **numerics_key) {
  for (int32_t o = 0; o < homed->graph->n_ops; o++) numerics_key[o] = homed->op[o] < 0 ? "home" : of[homed->op[o]];
}

plim_status plim_home_make(const plim_paging_task *task, int64_t known_ns, int params, plim_plan_maker *make,
                           plim_plan **out) {
  plim_context *ctx = task->ctx;
  const plim_plan_options *options = task->options;
  const int64_t keep_all_ns = task->keep_all->keep_all_ns;
  plim_paging inner_paging = *options->paging;
  plim_plan_options inner = *options;
  plim_home_graph *without = NULL;
  plim_plan *plan = NULL, *plain = NULL, *lowered = NULL;
  const char **numerics_key = NULL;
  int64_t n_keys = (int64_t)task->graph->n_ops + task->graph->n_storages;
  int64_t bytes = plim_home_bytes(options->paging, task->graph, params);
  plim_status status;
  inner_paging.budget_bytes -= bytes;
  if (inner_paging.budget_bytes < 0) {
    return plim_fail(ctx, PLIM_ENOFIT, "%s has less than the %lld bytes that are at home there", inner_paging.space,
                     (long long)bytes);
  }
  inner.paging = plim_homes_alone(&inner_paging) ? NULL : &inner_paging;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n_keys, sizeof *numerics_key, &numerics_key));
  PLIM_TRY_OR_DONE(plim_home_graph_make(ctx, options->paging, task->graph, task->profile, params, &without));
  if (options->numerics == PLIM_NUMERICS_GIVEN) set_keys(without, options->numerics_key, numerics_key);
  inner.numerics_key = numerics_key;
  const plim_paging_task inner_task = {ctx, without->graph, without->profile, &inner, NULL};
  PLIM_TRY_OR_DONE(make(&inner_task, known_ns, &plain, &plan));
  status = lower_better(without, plain, options, keep_all_ns, &lowered);
  if (status != PLIM_OK && status != PLIM_ENOFIT) goto done;
  status = lower_better(without, plan, options, keep_all_ns, &lowered);
  if (status == PLIM_ENOFIT && lowered) status = PLIM_OK;
  if (status != PLIM_OK) goto done;
  *out = lowered;
  lowered = NULL;
done:
  plim_release(ctx, numerics_key, n_keys, sizeof *numerics_key);
  plim_plan_free(lowered);
  plim_plan_free(plain);
  plim_plan_free(plan);
  plim_home_graph_free(without);
  return status;
}
