/* The nodes of a branch and bound tree, and which of them are open. */
#ifndef PLIM_PLANNER_BOUND_TREE_H
#define PLIM_PLANNER_BOUND_TREE_H

#include "runtime/base/context.h"

/* A node fixes one column beside what its ancestors fix. */
typedef struct plim_cut_node {
  int32_t parent; /* -1: root */
  int32_t column;
  uint8_t value;
  int64_t bound;
  double way; /* from the parent's point to the value */
} plim_cut_node;

typedef struct plim_cut_tree {
  plim_context *ctx;
  plim_cut_node *node; /* [n_nodes] */
  int32_t *open;       /* [n_open] heap of nodes by bound */
  int32_t n_nodes, n_open;
  int64_t room_nodes, room_open;
} plim_cut_tree;

/* An empty tree is {.ctx = ctx}. Add a node that is not open; *out: its number. */
PLIM_MUST_USE plim_status plim_cut_tree_add(plim_cut_tree *tree, plim_cut_node node, int32_t *out);
PLIM_MUST_USE plim_status plim_cut_tree_open(plim_cut_tree *tree, int32_t node);
/* The open node with the least bound, which is open no longer. There must be one. */
int32_t plim_cut_tree_pop(plim_cut_tree *tree);
void plim_cut_tree_free(plim_cut_tree *tree); /* leaves it empty */

/* The least bound of an open node; INT64_MAX: none is open. */
static inline int64_t plim_cut_tree_least(const plim_cut_tree *tree) {
  return tree->n_open > 0 ? tree->node[tree->open[0]].bound : INT64_MAX;
}

#endif
