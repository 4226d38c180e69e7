/* Groups the results that have been dropped, so that the price of dropping another one is found at once: whoever
 * recomputes it must recompute the dropped ones that it depends on as well. These groups are the classes, kept by
 * union-find with path halving. The smaller index becomes the root, so that results are the same in every run. Source:
 * Kirisame et al., Dynamic Tensor Rematerialization, ICLR 2021, appendix C.2, with the root's sum kept. */
#include "runtime/arena/missing.h"

#include <assert.h>

/* The first capacity. Fewer nodes are never compacted. */
enum { NODES_MIN = 64 };

plim_status plim_missing_init(plim_missing *missing, plim_context *ctx, int32_t n_storages) {
  plim_missing fresh = {.ctx = ctx, .n_storages = n_storages};
  PLIM_TRY(plim_allocate(ctx, n_storages, sizeof *fresh.node_of, &fresh.node_of));
  plim_status status = plim_allocate(ctx, n_storages, sizeof *fresh.own_ns, &fresh.own_ns);
  if (status != PLIM_OK) {
    plim_release(ctx, fresh.node_of, n_storages, sizeof *fresh.node_of);
    return status;
  }
  for (int32_t s = 0; s < n_storages; s++) fresh.node_of[s] = PLIM_NONE;
  *missing = fresh;
  return PLIM_OK;
}

void plim_missing_release(plim_missing *missing) {
  if (!missing->node_of) return;
  plim_release(missing->ctx, missing->node_of, missing->n_storages, sizeof *missing->node_of);
  plim_release(missing->ctx, missing->own_ns, missing->n_storages, sizeof *missing->own_ns);
  plim_release(missing->ctx, missing->node, missing->capacity, sizeof *missing->node);
  missing->node_of = NULL;
}

int plim_missing_has(const plim_missing *missing, int32_t storage) {
  return missing->node_of[storage] != PLIM_NONE;
}

static int32_t root_of(plim_missing *missing, int32_t node) {
  while (missing->node[node].parent != node) {
    missing->node[node].parent = missing->node[missing->node[node].parent].parent;
    node = missing->node[node].parent;
  }
  return node;
}

/* Drop the nodes that no missing storage needs: each storage gets the root of its class, and only these roots stay, in
 * their order. O(n_storages + n_nodes). */
static void compact(plim_missing *missing) {
  int32_t n = 0;
  for (int32_t s = 0; s < missing->n_storages; s++) {
    if (plim_missing_has(missing, s)) missing->node_of[s] = root_of(missing, missing->node_of[s]);
  }
  for (int32_t i = 0; i < missing->n_nodes; i++) missing->node[i].parent = PLIM_NONE;
  for (int32_t s = 0; s < missing->n_storages; s++) {
    if (plim_missing_has(missing, s)) missing->node[missing->node_of[s]].parent = 0;
  }
  for (int32_t i = 0; i < missing->n_nodes; i++) { /* the new index of a root that stays */
    if (missing->node[i].parent != PLIM_NONE) missing->node[i].parent = n++;
  }
  for (int32_t s = 0; s < missing->n_storages; s++) {
    if (plim_missing_has(missing, s)) missing->node_of[s] = missing->node[missing->node_of[s]].parent;
  }
  for (int32_t i = 0; i < missing->n_nodes; i++) {
    if (missing->node[i].parent != PLIM_NONE) missing->node[missing->node[i].parent] = missing->node[i];
  }
  missing->n_nodes = n;
}

plim_status plim_missing_add(plim_missing *missing, int32_t storage, int64_t time_ns) {
  assert(!plim_missing_has(missing, storage));
  if (missing->n_nodes >= NODES_MIN && missing->n_nodes / 2 >= missing->n_storages) compact(missing);
  if (missing->n_nodes == missing->capacity) {
    int64_t capacity = missing->capacity > 0 ? 2 * missing->capacity : NODES_MIN;
    PLIM_TRY(plim_resize_array(missing->ctx, &missing->node, missing->capacity, capacity, sizeof *missing->node));
    missing->capacity = capacity;
  }
  missing->node[missing->n_nodes] = (struct plim_missing_node){missing->n_nodes, time_ns, 0};
  missing->own_ns[storage] = time_ns;
  missing->node_of[storage] = missing->n_nodes++;
  return PLIM_OK;
}

void plim_missing_join(plim_missing *missing, int32_t a, int32_t b) {
  int32_t x = root_of(missing, missing->node_of[a]), y = root_of(missing, missing->node_of[b]);
  if (x == y) return;
  int32_t root = x < y ? x : y, child = x < y ? y : x;
  missing->node[child].parent = root;
  missing->node[root].sum_ns += missing->node[child].sum_ns;
}

void plim_missing_remove_time(plim_missing *missing, int32_t storage, int64_t time_ns) {
  if (!plim_missing_has(missing, storage)) return;
  missing->node[root_of(missing, missing->node_of[storage])].sum_ns -= time_ns;
  missing->node_of[storage] = PLIM_NONE;
}

void plim_missing_remove(plim_missing *missing, int32_t storage) {
  plim_missing_remove_time(missing, storage, missing->own_ns[storage]);
}

void plim_missing_sum_begin(plim_missing *missing) {
  missing->stamp++;
}

int64_t plim_missing_sum_class(plim_missing *missing, int32_t storage) {
  if (!plim_missing_has(missing, storage)) return 0;
  struct plim_missing_node *root = &missing->node[root_of(missing, missing->node_of[storage])];
  if (root->counted == missing->stamp) return 0;
  root->counted = missing->stamp;
  return root->sum_ns;
}
