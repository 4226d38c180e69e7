/* Cuts of a graph, and what they ask for: the rows of the model that space_bound.c describes. H, needed nodes and gaps
 * are those of its head. */
#include "planner/spaces/bound/space_bound.h"
#include "planner/spaces/spaces_tuning.h"
#include "runtime/base/effort.h"

enum { WORD = 64 };

typedef struct cut_pass {
  const plim_space_problem *problem;
  int64_t home_bytes;
  int32_t n, n_words;
  uint64_t *ancestors; /* [n][n_words] */
  int64_t *limit;      /* [n] no cut at the node asks for more; -1: it was tried */
  int32_t *cut;        /* [n_rows] nodes */
  plim_space_cuts *cuts;
} cut_pass;

/* ---- ancestors ---- */

static int is_ancestor(const cut_pass *pass, int32_t u, int32_t v) {
  return (int)(pass->ancestors[(int64_t)v * pass->n_words + u / WORD] >> (u % WORD) & 1);
}

/* 0: the time was over. */
static int find_ancestors(cut_pass *pass) {
  for (int32_t v = 0; v < pass->n; v++) {
    uint64_t *mine = pass->ancestors + (int64_t)v * pass->n_words;
    const plim_space_node *node = &pass->problem->node[v];
    if (plim_effort_over(pass->problem->ctx, (int64_t)node->n_preds * (v / WORD + 1))) return 0;
    for (int32_t i = 0; i < node->n_preds; i++) {
      int32_t u = node->pred[i];
      const uint64_t *its = pass->ancestors + (int64_t)u * pass->n_words;
      for (int32_t w = 0; w <= u / WORD; w++) mine[w] |= its[w];
      mine[u / WORD] |= UINT64_C(1) << (u % WORD);
    }
  }
  return 1;
}

/* ---- needed nodes ---- */

static int is_read_after(const cut_pass *pass, int32_t u, int32_t v) {
  const plim_space_node *node = &pass->problem->node[u];
  return node->n_succs > 0 && node->succ[node->n_succs - 1] > v;
}

static int is_needed(const cut_pass *pass, int32_t u, int32_t v) {
  const plim_space_node *node = &pass->problem->node[u];
  int needed = 0;
  if (!is_read_after(pass, u, v) || !is_ancestor(pass, u, v)) return 0;
  for (int32_t i = 0; i < node->n_succs; i++) {
    if (node->succ[i] == v) return 0; /* an input: it is there */
    needed |= node->succ[i] > v && is_ancestor(pass, v, node->succ[i]);
  }
  return needed && node->bytes > 0;
}

/* The bytes by which what is needed at the first run of v exceeds the budgets of H. */
static int64_t demand_of(const cut_pass *pass, int32_t v) {
  const plim_space_node *node = &pass->problem->node[v];
  int64_t bytes = node->bytes + node->workspace;
  for (int32_t i = 0; i < node->n_preds; i++) bytes += pass->problem->node[node->pred[i]].bytes;
  for (int32_t u = 0; u < v; u++) {
    if (is_needed(pass, u, v)) bytes += pass->problem->node[u].bytes;
  }
  return bytes - pass->home_bytes;
}

/* ---- gaps ---- */

/* The next reader of u that descends from `reader` (-1: the first), of those that are counted apart; -1: none. *at: how
 * many readers were looked at, which come in program order. */
static int32_t next_reader(const cut_pass *pass, int32_t u, int32_t reader, int32_t *at) {
  const plim_space_node *node = &pass->problem->node[u];
  while (*at < node->n_succs) {
    int32_t next = node->succ[(*at)++];
    if (reader < 0 || is_ancestor(pass, reader, next)) return next;
  }
  return -1;
}

static void count_gaps(cut_pass *pass) {
  pass->cuts->n_gaps = 0;
  for (int32_t u = 0; u < pass->n; u++) {
    pass->cuts->first_gap[u] = pass->cuts->n_gaps++;
    int32_t at = 0;
    for (int32_t r = next_reader(pass, u, -1, &at); r >= 0; r = next_reader(pass, u, r, &at)) pass->cuts->n_gaps++;
  }
  pass->cuts->first_gap[pass->n] = pass->cuts->n_gaps;
}

/* The gap of u in which the cut of v lies: after a reader that v descends from, before one that descends from v. */
static int32_t gap_of(const cut_pass *pass, int32_t u, int32_t v) {
  int32_t at = 0, gap = pass->cuts->first_gap[u], r = next_reader(pass, u, -1, &at);
  for (; r >= 0 && is_ancestor(pass, r, v); r = next_reader(pass, u, r, &at)) gap++;
  return r >= 0 && is_ancestor(pass, v, r) ? gap : -1;
}

/* ---- rows ---- */

/* What program order has at each node, less the budgets of H: no cut there asks for more. */
static void limit_demands(const cut_pass *pass) {
  int64_t live = 0;
  for (int32_t v = 0; v < pass->n; v++) {
    const plim_space_node *node = &pass->problem->node[v];
    live += node->bytes;
    pass->limit[v] = live + node->workspace - pass->home_bytes;
    for (int32_t i = 0; i < node->n_preds; i++) {
      if (!is_read_after(pass, node->pred[i], v)) live -= pass->problem->node[node->pred[i]].bytes;
    }
    if (node->n_succs == 0) live -= node->bytes;
  }
}

/* Of a stretch of program order the cut that asks for most, of some that may. limit[v] -1: was tried. */
static void choose_cut(cut_pass *pass, int32_t from, int32_t to) {
  int64_t most = 0, *limit = pass->limit;
  int32_t best = -1;
  for (int32_t t = 0; t < spaces_tuning.bound.tries; t++) {
    int32_t next = from;
    for (int32_t v = from + 1; v < to; v++) next = limit[v] > limit[next] ? v : next;
    if (limit[next] <= most || plim_effort_over(pass->problem->ctx, next)) break;
    int64_t demand = demand_of(pass, next);
    limit[next] = -1;
    if (demand <= most) continue;
    most = demand;
    best = next;
  }
  if (best < 0) return;
  pass->cut[pass->cuts->n_rows] = best;
  pass->cuts->demand[pass->cuts->n_rows++] = most;
}

static void choose_cuts(cut_pass *pass) {
  const int32_t stretch = pass->n / PLIM_SPACE_BOUND_ROWS + 1;
  limit_demands(pass);
  for (int32_t from = 0; from < pass->n; from += stretch) {
    choose_cut(pass, from, from + stretch < pass->n ? from + stretch : pass->n);
  }
}

/* The needed nodes of each cut. */
static plim_status add_entries(cut_pass *pass) {
  plim_space_cuts *cuts = pass->cuts;
  int64_t capacity = 0;
  int32_t n = 0;
  for (int32_t r = 0; r < cuts->n_rows; r++) capacity += pass->cut[r];
  PLIM_TRY(plim_allocate(cuts->ctx, capacity, sizeof *cuts->entry, &cuts->entry));
  cuts->n_entries = capacity;
  for (int32_t r = 0; r < cuts->n_rows; r++) {
    const int32_t v = pass->cut[r];
    cuts->first_entry[r] = n;
    if (plim_effort_over(cuts->ctx, v)) { /* fewer rows prove less */
      cuts->n_rows = r;
      break;
    }
    for (int32_t u = 0; u < v; u++) {
      if (is_needed(pass, u, v)) cuts->entry[n++] = (plim_space_cut_entry){u, gap_of(pass, u, v)};
    }
  }
  cuts->first_entry[cuts->n_rows] = n;
  return PLIM_OK;
}

/* ---- the whole ---- */

static void lay_out(cut_pass *pass, plim_block *b) {
  pass->ancestors = plim_block_take(b, (int64_t)pass->n * pass->n_words, sizeof *pass->ancestors);
  pass->limit = plim_block_take(b, pass->n, sizeof *pass->limit);
  pass->cut = plim_block_take(b, PLIM_SPACE_BOUND_ROWS, sizeof *pass->cut);
}

static void lay_out_cuts(plim_space_cuts *cuts, int32_t n_nodes) {
  cuts->first_gap = plim_block_take(&cuts->block, (int64_t)n_nodes + 1, sizeof *cuts->first_gap);
  cuts->demand = plim_block_take(&cuts->block, PLIM_SPACE_BOUND_ROWS, sizeof *cuts->demand);
  cuts->first_entry = plim_block_take(&cuts->block, PLIM_SPACE_BOUND_ROWS + 1, sizeof *cuts->first_entry);
}

static plim_status find_cuts(cut_pass *pass, int32_t *in_time) {
  *in_time = find_ancestors(pass);
  if (!*in_time) return PLIM_OK;
  count_gaps(pass);
  if (pass->home_bytes >= INT64_MAX / 4) return PLIM_OK;
  choose_cuts(pass);
  return add_entries(pass);
}

plim_status plim_space_cuts_make(const plim_space_problem *problem, int64_t home_bytes, plim_space_cuts *out,
                                 int32_t *in_time) {
  cut_pass pass = {
      .problem = problem, .home_bytes = home_bytes, .n = problem->n, .n_words = problem->n / WORD + 1, .cuts = out};
  plim_block block = {.base = NULL};
  *out = (plim_space_cuts){.ctx = problem->ctx};
  lay_out_cuts(out, problem->n);
  PLIM_TRY(plim_block_allocate(problem->ctx, &out->block));
  lay_out_cuts(out, problem->n);
  lay_out(&pass, &block);
  PLIM_TRY(plim_block_allocate(problem->ctx, &block));
  lay_out(&pass, &block);
  const plim_status status = find_cuts(&pass, in_time);
  plim_block_release(problem->ctx, &block);
  return status;
}

void plim_space_cuts_free(plim_space_cuts *cuts) {
  if (!cuts->ctx) return;
  plim_block_release(cuts->ctx, &cuts->block);
  plim_release(cuts->ctx, cuts->entry, cuts->n_entries, sizeof *cuts->entry);
}
