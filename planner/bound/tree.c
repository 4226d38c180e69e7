/* The tree of branch and cut: an array of nodes, and a binary heap of the open ones by bound. */
#include "planner/bound/cut_solver.h"

#include "runtime/base/array.h"

plim_status plim_cut_tree_add(plim_cut_tree *t, plim_cut_node node, int32_t *out) {
  PLIM_TRY(plim_array_reserve(t->ctx, &t->node, &t->room_nodes, t->n_nodes + 1, sizeof *t->node));
  *out = t->n_nodes;
  t->node[t->n_nodes++] = node;
  return PLIM_OK;
}

plim_status plim_cut_tree_open(plim_cut_tree *t, int32_t node) {
  PLIM_TRY(plim_array_reserve(t->ctx, &t->open, &t->room_open, t->n_open + 1, sizeof *t->open));
  int32_t at = t->n_open++;
  for (; at > 0 && t->node[t->open[(at - 1) / 2]].bound > t->node[node].bound; at = (at - 1) / 2) {
    t->open[at] = t->open[(at - 1) / 2];
  }
  t->open[at] = node;
  return PLIM_OK;
}

int32_t plim_cut_tree_pop(plim_cut_tree *t) {
  int32_t top = t->open[0], last = t->open[--t->n_open], at = 0;
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= t->n_open) break;
    if (child + 1 < t->n_open && t->node[t->open[child + 1]].bound < t->node[t->open[child]].bound) child++;
    if (t->node[t->open[child]].bound >= t->node[last].bound) break;
    t->open[at] = t->open[child];
    at = child;
  }
  t->open[at] = last;
  return top;
}

void plim_cut_tree_free(plim_cut_tree *t) {
  plim_release(t->ctx, t->node, t->room_nodes, sizeof *t->node);
  plim_release(t->ctx, t->open, t->room_open, sizeof *t->open);
  *t = (plim_cut_tree){.ctx = t->ctx};
}
