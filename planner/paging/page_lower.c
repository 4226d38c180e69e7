/* From a plan of the graph with paging to a list of commands, and so to a plan. */
#include "planner/paging/page_lower.h"
#include "planner/paging/lowering.h"
#include "planner/paging/paging.h"
#include "planner/paging/paging_tuning.h"

typedef struct lowering {
  const plim_page_graph *pages;
  const plim_plan *plan;
  const plim_page_lower_options *options;
  plim_queue_spaces spaces;
  plim_command_list list;
  int32_t merged;
  int32_t *buffer_of;         /* [plan->n_buffers] */
  int32_t *latest;            /* [paged storages] buffer of the list that began last; -1: none */
  int32_t *current;           /* [storages] buffer in the arena that began last */
  int32_t *paged_out;         /* [p->n] buffer in the page space; -1: none */
  plim_plan_variant *variant; /* [plan->n_variants] of the plan to be */
} lowering;

/* ---- commands and buffers ---- */

static plim_status fail_twice(const lowering *l, int32_t storage) {
  return plim_fail(l->pages->ctx, PLIM_ENOFIT, "storage %d would be in the arena twice", storage);
}

/* Buffer i of the plan begins at its command j. *begun: 1 when a buffer begins, 0 when the storage is in the arena
 * still.
 * */
static plim_status begin_buffer(lowering *l, int32_t i, int32_t j, int in_place, int32_t *begun) {
  const plim_plan_buffer *b = &l->plan->buffer[i];
  const plim_graph *g = l->pages->graph;
  *begun = 1;
  if (b->storage < 0) {
    l->buffer_of[i] = plim_command_list_add_buffer(&l->list, -1, 0, l->list.n, b->bytes, b->offset);
    return PLIM_OK;
  }
  int32_t storage = l->pages->storage[b->storage], before = l->current[storage];
  for (int32_t k = 0; before >= 0 && k < i; k++) {
    if (l->buffer_of[k] != before || l->plan->buffer[k].end <= j) continue;
    if (in_place) return fail_twice(l, storage);
    l->buffer_of[i] = l->latest[b->storage] = before;
    l->merged = 1;
    *begun = 0;
    return PLIM_OK;
  }
  int from_outside = g->storage[storage].producer < 0;
  l->buffer_of[i] =
      plim_command_list_add_buffer(&l->list, storage, 0, from_outside ? -1 : l->list.n, b->bytes, b->offset);
  PLIM_TRY(l->list.status);
  l->list.buffer[l->buffer_of[i]].stays = plim_role_persistent(g->storage[storage].role);
  l->current[storage] = l->latest[b->storage] = l->buffer_of[i];
  return PLIM_OK;
}

/* Inputs that the step writes over: they end here, and their outputs have their boxes. */
static plim_status take_pairs(lowering *l, const plim_command *command, const plim_op *op, const int32_t *old) {
  const plim_graph *g = l->pages->paged;
  for (int32_t i = 0; i < command->n_pairs; i++) {
    int32_t in = old[i], out = l->latest[g->value[op->out[command->pair[i].out]].storage];
    if (in < 0 || out < 0 || l->list.buffer[in].over >= 0) {
      return fail_twice(l, l->pages->storage[g->value[op->in[command->pair[i].in]].storage]);
    }
    plim_command_list_overwrite(&l->list, in, out);
  }
  return PLIM_OK;
}

static int is_pair_output(const plim_graph *g, const plim_command *command, const plim_op *op, int32_t storage) {
  for (int32_t i = 0; storage >= 0 && i < command->n_pairs; i++) {
    if (g->value[op->out[command->pair[i].out]].storage == storage) return 1;
  }
  return 0;
}

static plim_status add_run(lowering *l, int32_t j, int32_t begin, int32_t end) {
  plim_command command = l->plan->command[j];
  const plim_op *op = &l->pages->paged->op[command.op];
  int32_t old[PLIM_OP_MAX_OUT] = {0}, begun;
  for (int32_t i = 0; i < command.n_pairs; i++) {
    old[i] = l->latest[l->pages->paged->value[op->in[command.pair[i].in]].storage];
  }
  plim_command_list_add_uses(&l->list, op->n_reads, op->reads, l->latest, 0);
  for (int32_t i = begin; i < end; i++) {
    int in_place = is_pair_output(l->pages->paged, &command, op, l->plan->buffer[i].storage);
    PLIM_TRY(begin_buffer(l, i, j, in_place, &begun));
    if (l->plan->buffer[i].storage < 0) plim_command_list_add_use(&l->list, l->buffer_of[i], 1);
  }
  if (j == 0)
    plim_command_list_add_uses(&l->list, op->n_reads, op->reads, l->latest,
                               0); /* what is there from the start began just now */
  plim_command_list_add_uses(&l->list, op->n_writes, op->writes, l->latest, 1);
  plim_command_list_add_uses(&l->list, op->n_updates, op->updates, l->latest, 1);
  PLIM_TRY(l->list.status);
  PLIM_TRY(take_pairs(l, &command, op, old));
  command.op = l->pages->op[command.op];
  (void)plim_command_list_add(&l->list, &command, l->plan->variant[command.variant].variant.time_ns);
  return PLIM_OK;
}

/* The last one. */
static int32_t page_space(const lowering *l) {
  return l->spaces.n - 1;
}

static void add_copy(lowering *l, int32_t choice, int in) {
  const plim_page_choice *c = &l->pages->choice[choice];
  const int32_t page = page_space(l), from = in ? page : 0, to = in ? 0 : page;
  const plim_command command = {.kind = PLIM_COMMAND_COPY,
                                .queue = l->spaces.copy_queue[from][to],
                                .storage = c->storage,
                                .from = from,
                                .to = to};
  (void)plim_command_list_add(&l->list, &command, in ? c->in_ns : c->out_ns);
}

/* The page space keeps what it was given: a second copy out is left out. */
static void add_out(lowering *l, int32_t choice) {
  const plim_page_choice *c = &l->pages->choice[choice];
  if (l->paged_out[choice] >= 0) return;
  int64_t bytes = plim_align_up(l->pages->graph->storage[c->storage].bytes, PLIM_ALIGN);
  plim_command_list_add_use(&l->list, l->latest[c->storage], 0);
  l->paged_out[choice] = plim_command_list_add_buffer(&l->list, c->storage, page_space(l), l->list.n, bytes, -1);
  plim_command_list_add_use(&l->list, l->paged_out[choice], 1);
  add_copy(l, choice, 0);
}

static plim_status add_in(lowering *l, int32_t j, int32_t choice, int32_t begin, int32_t end) {
  int32_t begun = 0;
  for (int32_t i = begin; i < end; i++) PLIM_TRY(begin_buffer(l, i, j, 0, &begun));
  if (!begun) return PLIM_OK; /* the arena has it still */
  plim_command_list_add_use(&l->list, l->paged_out[l->pages->first[choice]], 0);
  plim_command_list_add_use(&l->list, l->buffer_of[begin], 1);
  add_copy(l, choice, 1);
  return PLIM_OK;
}

static plim_status add_commands(lowering *l) {
  const plim_plan *plan = l->plan;
  const plim_graph *g = l->pages->graph;
  for (int32_t j = 0, begin = 0, end = 0; j < plan->n_commands; j++, begin = end) {
    int32_t copies = l->pages->copies[plan->command[j].op];
    while (end < plan->n_buffers && plan->buffer[end].begin == j) end++;
    if (copies < 0) {
      PLIM_TRY(add_run(l, j, begin, end));
    } else if (copies < l->pages->n) {
      add_out(l, copies);
    } else {
      PLIM_TRY(add_in(l, j, copies - l->pages->n, begin, end));
    }
  }
  PLIM_TRY(l->list.status);
  for (int32_t s = 0; s < g->n_storages; s++) {
    if (g->storage[s].role == PLIM_ROLE_OUTPUT && l->current[s] >= 0) l->list.buffer[l->current[s]].stays = 1;
  }
  for (int32_t u = 0; u < l->list.n_uses; u++) { /* a merged buffer is used after something has written over it */
    int32_t over = l->list.buffer[l->list.use[u].buffer].over;
    if (over >= 0 && l->list.use[u].command > over) {
      return fail_twice(l, l->list.buffer[l->list.use[u].buffer].storage);
    }
  }
  return PLIM_OK;
}

/* ---- the plan ---- */

static plim_status make_plan(lowering *l, plim_plan **out) {
  const int64_t keep_all_ns = l->options->keep_all_ns, budget_bytes = l->spaces.budget_bytes[0];
  plim_plan base = *l->plan;
  base.variant = l->variant;
  const plim_lowering how = {.paging = l->options->options->paging,
                             .spaces = &l->spaces,
                             .base = &base,
                             .name = l->plan->planner,
                             .how = "paged",
                             .keep_all_ns = keep_all_ns,
                             .bound_ns = keep_all_ns,
                             .n_shares = PLIM_PAGING_SPREADS,
                             .share = tuning.lower.share,
                             .compares = 1,
                             .has_addresses = !l->merged && l->plan->arena_bytes <= budget_bytes};
  int fits;
  PLIM_TRY(plim_lower(&how, &l->list, &fits, out));
  if (fits) return PLIM_OK;
  return plim_fail(l->pages->ctx, PLIM_ENOFIT, "the buffers of a plan with copies do not fit into %lld bytes",
                   (long long)budget_bytes);
}

static plim_status lower_plan(lowering *l, plim_plan **out) {
  for (int32_t s = 0; s < l->pages->paged->n_storages; s++) l->latest[s] = -1;
  for (int32_t s = 0; s < l->pages->graph->n_storages; s++) l->current[s] = -1;
  for (int32_t i = 0; i < l->pages->n; i++) l->paged_out[i] = -1;
  for (int32_t i = 0; i < l->plan->n_buffers; i++) l->buffer_of[i] = -1;
  for (int32_t i = 0; i < l->plan->n_variants; i++) {
    l->variant[i] = l->plan->variant[i];
    int32_t op = l->pages->op[l->variant[i].op];
    l->variant[i].op = op < 0 ? 0 : op; /* those of paging are left out, since no command runs them */
  }
  PLIM_TRY(add_commands(l));
  return make_plan(l, out);
}

plim_status plim_page_lower(const plim_page_graph *p, const plim_plan *plan, const plim_page_lower_options *options,
                            plim_plan **out) {
  plim_context *ctx = p->ctx;
  lowering l = {.pages = p, .plan = plan, .options = options, .list = {.ctx = ctx, .graph = p->graph}};
  plim_status status;
  plim_queue_spaces_make(options->options, &l.spaces);
  PLIM_CHECK(plim_allocate(ctx, plan->n_buffers, sizeof *l.buffer_of, &l.buffer_of));
  PLIM_CHECK(plim_allocate(ctx, p->paged->n_storages, sizeof *l.latest, &l.latest));
  PLIM_CHECK(plim_allocate(ctx, p->graph->n_storages, sizeof *l.current, &l.current));
  PLIM_CHECK(plim_allocate(ctx, p->n, sizeof *l.paged_out, &l.paged_out));
  PLIM_CHECK(plim_allocate(ctx, plan->n_variants, sizeof *l.variant, &l.variant));
  PLIM_CHECK(lower_plan(&l, out));
done:
  plim_command_list_free(&l.list);
  plim_release(ctx, l.buffer_of, plan->n_buffers, sizeof *l.buffer_of);
  plim_release(ctx, l.latest, p->paged->n_storages, sizeof *l.latest);
  plim_release(ctx, l.current, p->graph->n_storages, sizeof *l.current);
  plim_release(ctx, l.paged_out, p->n, sizeof *l.paged_out);
  plim_release(ctx, l.variant, plan->n_variants, sizeof *l.variant);
  return status;
}
