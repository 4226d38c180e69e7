/* Pauses of storages between two uses in keep-all's plan, and a greedy covering that chooses which of them page: what
 * relieves most bytes for its cost comes first. */
#include <math.h>
#include <string.h>

#include "planner/paging/page_candidates.h"
#include "planner/paging/paging.h"
#include "runtime/base/effort.h"

/* A storage that could page, and where keep-all's plan would not hold it. */
typedef struct candidate {
  plim_page_choice choice;
  int64_t bytes;
  int64_t cost_ns;    /* what its copies take from the runs */
  int64_t again_ns;   /* what recomputing it takes: the run of its producer */
  int32_t begin, end; /* steps of keep-all's plan */
  int32_t taken;
  double relief; /* as it was looked at last */
  int32_t fresh; /* 1: since another one was taken */
} candidate;

struct plim_page_candidates {
  plim_context *ctx;
  const plim_graph *graph;
  const plim_paging *paging;
  const plim_plan *keep_all;
  int64_t room;         /* of the arrays: pauses end with a reader */
  candidate *candidate; /* [n] by storage, then by late */
  int32_t n;
  int32_t *command_of; /* [n_ops] command of keep-all's plan */
  uint8_t *paged;      /* [n_storages] 1: a pause of it is taken */
  int64_t *live;       /* [steps of keep_all] less what is taken */
  int64_t page_bytes;
  plim_page_choice *choice; /* [n] those taken */
  int64_t *delay_ns;        /* [2n] */
};

/* ---- pauses ---- */

static int64_t step_ns(const plim_plan *plan, int32_t j) {
  return plan->variant[plan->command[j].variant].variant.time_ns;
}

/* A pause of a storage between two uses in keep-all's plan, which ends at command `end` with a run of `late`. Where
 * copies take longer than it lasts, runs wait for them, whatever they share. */
static void add_candidate(plim_page_candidates *candidates, int32_t s, int32_t late, int32_t begin, int32_t end,
                          int64_t pause_ns) {
  int64_t bytes = candidates->graph->storage[s].bytes;
  candidate c = {.bytes = plim_align_up(bytes, PLIM_ALIGN), .begin = begin, .end = end};
  c.choice = (plim_page_choice){s, late, plim_paging_link_ns(candidates->paging, 0, bytes),
                                plim_paging_link_ns(candidates->paging, 1, bytes)};
  int64_t both_ns = c.choice.out_ns + c.choice.in_ns, late_ns = both_ns > pause_ns ? both_ns - pause_ns : 0;
  c.cost_ns = (int64_t)((double)both_ns * candidates->paging->delay_share) + late_ns;
  c.again_ns = step_ns(candidates->keep_all, candidates->command_of[candidates->graph->storage[s].producer]);
  candidates->candidate[candidates->n++] = c;
}

/* Every pause of a storage that an op writes. */
static void add_candidates(plim_page_candidates *candidates, int32_t s, const int64_t *begin_ns) {
  const plim_graph *g = candidates->graph;
  const plim_storage *storage = &g->storage[s];
  if (storage->producer < 0 || storage->bytes <= 0 || storage->role == PLIM_ROLE_OUTPUT) return;
  int32_t last = candidates->command_of[storage->producer];
  for (int32_t i = g->reader_first[s]; i < g->reader_first[s + 1]; i++) {
    int32_t now = candidates->command_of[g->reader[i]];
    if (now > last + 1) add_candidate(candidates, s, g->reader[i], last + 1, now, begin_ns[now] - begin_ns[last + 1]);
    if (now > last) last = now;
  }
}

static plim_status find_candidates(plim_page_candidates *candidates) {
  const plim_plan *k = candidates->keep_all;
  int64_t *begin_ns = NULL;
  PLIM_TRY(plim_allocate(candidates->ctx, (int64_t)k->n_commands + 1, sizeof *begin_ns, &begin_ns));
  for (int32_t j = 0; j < k->n_commands; j++) {
    candidates->command_of[k->command[j].op] = j;
    begin_ns[j + 1] = begin_ns[j] + step_ns(k, j);
  }
  for (int32_t s = 0; s < candidates->graph->n_storages; s++) add_candidates(candidates, s, begin_ns);
  plim_release(candidates->ctx, begin_ns, (int64_t)k->n_commands + 1, sizeof *begin_ns);
  return PLIM_OK;
}

static void set_live(const plim_page_candidates *candidates) {
  const plim_plan *k = candidates->keep_all;
  for (int32_t i = 0; i < k->n_buffers; i++) {
    for (int32_t j = k->buffer[i].begin; j < k->buffer[i].end; j++) candidates->live[j] += k->buffer[i].bytes;
  }
}

plim_status plim_page_candidates_make(plim_context *ctx, const plim_graph *graph, const plim_paging *paging,
                                      const plim_plan *keep_all, plim_page_candidates **out) {
  plim_page_candidates *candidates = NULL;
  int64_t n = graph->reader_first[graph->n_storages];
  plim_status status;
  PLIM_TRY(plim_allocate(ctx, 1, sizeof *candidates, &candidates));
  *candidates = (plim_page_candidates){.ctx = ctx, .graph = graph, .paging = paging, .keep_all = keep_all, .room = n};
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *candidates->candidate, &candidates->candidate));
  PLIM_CHECK(plim_allocate(ctx, graph->n_ops, sizeof *candidates->command_of, &candidates->command_of));
  PLIM_CHECK(plim_allocate(ctx, graph->n_storages, sizeof *candidates->paged, &candidates->paged));
  PLIM_CHECK(plim_allocate(ctx, keep_all->n_commands, sizeof *candidates->live, &candidates->live));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *candidates->choice, &candidates->choice));
  PLIM_CHECK(plim_allocate(ctx, 2 * n, sizeof *candidates->delay_ns, &candidates->delay_ns));
  PLIM_CHECK(find_candidates(candidates));
  set_live(candidates);
  *out = candidates;
  candidates = NULL;
done:
  plim_page_candidates_free(candidates);
  return status;
}

void plim_page_candidates_free(plim_page_candidates *candidates) {
  if (!candidates) return;
  plim_context *ctx = candidates->ctx;
  plim_release(ctx, candidates->candidate, candidates->room, sizeof *candidates->candidate);
  plim_release(ctx, candidates->command_of, candidates->graph->n_ops, sizeof *candidates->command_of);
  plim_release(ctx, candidates->paged, candidates->graph->n_storages, sizeof *candidates->paged);
  plim_release(ctx, candidates->live, candidates->keep_all->n_commands, sizeof *candidates->live);
  plim_release(ctx, candidates->choice, candidates->room, sizeof *candidates->choice);
  plim_release(ctx, candidates->delay_ns, 2 * candidates->room, sizeof *candidates->delay_ns);
  plim_release(ctx, candidates, 1, sizeof *candidates);
}

int32_t plim_page_candidates_count(const plim_page_candidates *candidates) {
  return candidates->n;
}

/* ---- covering ---- */

/* Bytes by which a candidate relieves commands that are above the target, a nanosecond of its cost: its copies, or less
 * where its producer takes long, since others are recomputed for less. */
static double relief(const plim_page_candidates *candidates, const candidate *c, int64_t target) {
  double sum = 0;
  for (int32_t j = c->begin; j < c->end; j++) {
    int64_t over = candidates->live[j] - target;
    if (over > 0) sum += (double)(over < c->bytes ? over : c->bytes);
  }
  double cost = (double)c->cost_ns + 1;
  if (candidates->paging->recompute) cost = cost * cost / (cost + (double)c->again_ns);
  return sum / cost;
}

/* Does the page space hold the candidate too? It does where another pause of its storage is paged. */
static int has_page(const plim_page_candidates *candidates, const candidate *c) {
  return candidates->paged[c->choice.storage] || candidates->page_bytes + c->bytes <= candidates->paging->budget_bytes;
}

/* The candidate that relieves most, -1: none. What each relieves only falls while others are taken, so that one whose
 * figure is of now, and above all figures, needs no other to be looked at. */
static int32_t find_best(const plim_page_candidates *candidates, int64_t target) {
  for (int64_t work = 0;; work = 0) {
    int32_t best = -1;
    for (int32_t i = 0; i < candidates->n; i++) {
      const candidate *c = &candidates->candidate[i];
      if (c->taken || c->relief <= 0 || !has_page(candidates, c)) continue;
      if (best < 0 || c->relief > candidates->candidate[best].relief) best = i;
    }
    if (best < 0) return -1;
    candidate *c = &candidates->candidate[best];
    if (c->fresh) return best;
    c->relief = relief(candidates, c, target);
    c->fresh = 1;
    work += candidates->n + c->end - c->begin;
    if (plim_effort_over(candidates->ctx, work)) return -1;
  }
}

int plim_page_candidates_cover(plim_page_candidates *candidates, int64_t target, int32_t *taken) {
  *taken = 0;
  for (int32_t i = 0; i < candidates->n; i++) candidates->candidate[i].relief = INFINITY;
  for (;;) {
    for (int32_t i = 0; i < candidates->n; i++) candidates->candidate[i].fresh = 0;
    int32_t i = find_best(candidates, target);
    if (i < 0) break;
    candidate *best = &candidates->candidate[i];
    if (!candidates->paged[best->choice.storage]) candidates->page_bytes += best->bytes;
    best->taken = candidates->paged[best->choice.storage] = 1;
    for (int32_t j = best->begin; j < best->end; j++) candidates->live[j] -= best->bytes;
    ++*taken;
  }
  for (int32_t j = 0; j < candidates->keep_all->n_commands; j++) {
    if (candidates->live[j] > target) return 0;
  }
  return 1;
}

int32_t plim_page_candidates_taken(const plim_page_candidates *candidates, const plim_page_choice **choice,
                                   const int64_t **delay_ns) {
  int32_t n = 0, i = 0;
  for (int32_t k = 0; k < candidates->n; k++) n += candidates->candidate[k].taken;
  for (int32_t k = 0; k < candidates->n; k++) {
    const candidate *c = &candidates->candidate[k];
    if (!c->taken) continue;
    candidates->choice[i] = c->choice;
    candidates->delay_ns[i] = (int64_t)((double)c->choice.out_ns * candidates->paging->delay_share);
    candidates->delay_ns[n + i] = (int64_t)((double)c->choice.in_ns * candidates->paging->delay_share);
    i++;
  }
  *choice = candidates->choice;
  *delay_ns = candidates->delay_ns;
  return n;
}
