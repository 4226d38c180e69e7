/* The tree of branch and cut: an array of nodes, and a binary heap of the open ones by bound. */
#include "planner/bound/cut_solver_internal.h"

#include "runtime/base/array.h"

plim_status plim_cut_tree_add(plim_cut_tree *tree, plim_cut_node node, int32_t *out) {
  PLIM_TRY(plim_array_reserve(tree->ctx, &tree->node, &tree->node_capacity, tree->n_nodes + 1, sizeof *tree->node));
  *out = tree->n_nodes;
  tree->node[tree->n_nodes++] = node;
  return PLIM_OK;
}

plim_status plim_cut_tree_open(plim_cut_tree *tree, int32_t node) {
  PLIM_TRY(plim_array_reserve(tree->ctx, &tree->open, &tree->open_capacity, tree->n_open + 1, sizeof *tree->open));
  int32_t at = tree->n_open++;
  for (; at > 0 && tree->node[tree->open[(at - 1) / 2]].bound > tree->node[node].bound; at = (at - 1) / 2) {
    tree->open[at] = tree->open[(at - 1) / 2];
  }
  tree->open[at] = node;
  return PLIM_OK;
}

int32_t plim_cut_tree_pop(plim_cut_tree *tree) {
  int32_t top = tree->open[0], last = tree->open[--tree->n_open], at = 0;
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= tree->n_open) break;
    if (child + 1 < tree->n_open && tree->node[tree->open[child + 1]].bound < tree->node[tree->open[child]].bound) {
      child++;
    }
    if (tree->node[tree->open[child]].bound >= tree->node[last].bound) break;
    tree->open[at] = tree->open[child];
    at = child;
  }
  tree->open[at] = last;
  return top;
}

void plim_cut_tree_free(plim_cut_tree *tree) {
  plim_release(tree->ctx, tree->node, tree->node_capacity, sizeof *tree->node);
  plim_release(tree->ctx, tree->open, tree->open_capacity, sizeof *tree->open);
  *tree = (plim_cut_tree){.ctx = tree->ctx};
}
