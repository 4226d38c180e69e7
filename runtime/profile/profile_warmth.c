/* Finds from the graph which operands are in cache when an op of a step begins. An input is warm when few other bytes
 * have come into the caches since its last use. An output overwrites an input that is not needed any more, if a pair
 * allows it. Otherwise an output of the forward part is cold, and one of the backward part is placed where a buffer has
 * just ended, and is warm. The cache state of a group is that of most of its ops. Lists that are longer than a
 * plim_op_desc holds itself are cold, and what an op brings into the caches is counted without them. */
#include "runtime/profile/profile_set.h"

/* Most bytes that may come into the caches between two uses of a value that is still warm: a part of an L3 cache. */
enum { WARM_REUSE_BYTES = 24 << 20 };

typedef struct votes {
  int32_t warm_in[PLIM_OP_MAX_IN], cold_out[PLIM_OP_MAX_OUT], over_out[PLIM_OP_MAX_OUT];
} votes;

typedef struct warmth {
  plim_profile_set *set;
  votes *votes;     /* [n_groups] > 0: more ops for than against */
  int64_t came_in;  /* bytes that the ops so far have brought into the caches */
  int64_t *touched; /* [n_storages] value of came_in at the last use */
} warmth;

static void touch(warmth *caches, int32_t n, const int32_t *storage) {
  for (int32_t i = 0; i < n; i++) caches->touched[storage[i]] = caches->came_in;
}

/* Is the op the last in program order that reads the storage? */
static int is_last_reader(const plim_graph *graph, int32_t op, int32_t storage) {
  int32_t end = graph->reader_first[storage + 1];
  return end > graph->reader_first[storage] && graph->reader[end - 1] == op;
}

/* The input that output k can be written over, PLIM_NONE when there is none. */
static int32_t overwritable(const plim_graph *graph, int32_t id, int32_t k) {
  const plim_op *op = &graph->op[id];
  for (int32_t i = 0; i < op->n_pairs; i++) {
    plim_pair pair = op->pair[i];
    if (pair.out == k && is_last_reader(graph, id, graph->value[op->in[pair.in]].storage)) return pair.in;
  }
  return PLIM_NONE;
}

static void vote(warmth *caches, int32_t id) {
  const plim_graph *graph = caches->set->graph;
  const plim_op *op = &graph->op[id];
  plim_profile_group *group = &caches->set->group[caches->set->group_of[id]];
  votes *v = &caches->votes[caches->set->group_of[id]];
  int64_t came_in = 0;
  const int32_t n_in = op->n_in > PLIM_OP_MAX_IN ? 0 : op->n_in, n_out = op->n_out > PLIM_OP_MAX_OUT ? 0 : op->n_out;
  for (int32_t k = 0; k < n_in; k++) {
    int warm = caches->came_in - caches->touched[graph->value[op->in[k]].storage] < WARM_REUSE_BYTES;
    v->warm_in[k] += warm ? 1 : -1;
    if (!warm) came_in += graph->value[op->in[k]].bytes;
  }
  for (int32_t k = 0; k < n_out; k++) {
    int32_t over = overwritable(graph, id, k);
    int cold = op->phase == PLIM_PHASE_FORWARD;
    v->over_out[k] += over >= 0 ? 1 : -1;
    v->cold_out[k] += cold ? 1 : -1;
    if (over >= 0) group->cache_states.over[k] = over;
    if (over < 0 && cold) came_in += graph->value[op->out[k]].bytes;
  }
  caches->came_in += came_in;
  touch(caches, op->n_reads, op->reads);
  touch(caches, op->n_writes, op->writes);
  touch(caches, op->n_updates, op->updates);
}

static void count_votes(const votes *v, plim_profile_group *group) {
  for (int32_t k = 0; k < group->desc.n_in && k < PLIM_OP_MAX_IN; k++) {
    group->cache_states.in[k] = v->warm_in[k] > 0 ? PLIM_CACHE_WARM : PLIM_CACHE_COLD;
  }
  for (int32_t k = 0; k < group->desc.n_out && k < PLIM_OP_MAX_OUT; k++) {
    group->cache_states.out[k] = v->over_out[k] > 0   ? PLIM_CACHE_IN_PLACE
                                 : v->cold_out[k] > 0 ? PLIM_CACHE_COLD
                                                      : PLIM_CACHE_WARM;
  }
}

plim_status plim_profile_set_find_cache_states(plim_profile_set *set) {
  const plim_graph *graph = set->graph;
  plim_context *ctx = set->device->ctx;
  warmth caches = {.set = set};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, set->n_groups, sizeof *caches.votes, &caches.votes));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, graph->n_storages, sizeof *caches.touched, &caches.touched));
  for (int32_t s = 0; s < graph->n_storages; s++) caches.touched[s] = INT64_MIN / 2; /* cold */
  for (int32_t op = 0; op < graph->n_ops; op++) vote(&caches, op);
  for (int32_t g = 0; g < set->n_groups; g++) count_votes(&caches.votes[g], &set->group[g]);
done:
  plim_release(ctx, caches.touched, graph->n_storages, sizeof *caches.touched);
  plim_release(ctx, caches.votes, set->n_groups, sizeof *caches.votes);
  return status;
}
