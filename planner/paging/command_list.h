/* Links and costs, spaces and queues, and commands with copies: from a list in some order to a plan with addresses and
 * waits. */
#ifndef PLIM_PLANNER_PAGING_COMMAND_LIST_H
#define PLIM_PLANNER_PAGING_COMMAND_LIST_H

#include "planner/planner.h"

/* ==== links and costs (copy_cost.c) ==== */

/* The time of a copy: its latency, and its bytes divided by the bandwidth; 2^53 ns at most. */
int64_t plim_paging_copy_ns(int64_t latency_ns, double bytes_per_ns, int64_t bytes);

/* The time of a copy to the page space (in 0), or from it (in 1). */
int64_t plim_paging_link_ns(const plim_paging *paging, int in, int64_t bytes);

/* The delay share in thousandths, as spaces of a plan have it. */
int32_t plim_paging_delay_permille(const plim_paging *paging);

/* Is plan `a` better than plan `b`? The faster plan is. With powers the plan that is less late is better, then the one
 * of less energy. */
int plim_paging_is_better(const plim_paging *paging, const plim_plan *a, const plim_plan *b);

/* Keep the better of two plans in *best, and free the other one. plan: NULL is legal. Returns 1 where it is the best
 * now. */
int plim_paging_keep_better(const plim_paging *paging, plim_plan **best, plim_plan *plan);

/* A bound that was proved for one arena does not hold where pages are allowed: keep-all's time does. */
void plim_paging_bound_by_keep_all(plim_plan *draft);

/* Make a plan of a draft (plim_plan_from_parts), for another budget of the arena. A bound for fewer bytes does not hold
 * for more; keep-all's time does. */
PLIM_MUST_USE plim_status plim_paging_plan_for(const plim_graph *graph, const plim_plan *draft, int64_t budget_bytes,
                                               plim_plan **out);

/* The time by which a plan misses the deadline; 0: it keeps it, or there is none. */
int64_t plim_paging_lateness(const plim_paging *paging, const plim_plan *plan);

/* ==== spaces and queues (queue_spaces.c) ==== */

/* The spaces of a plan with copies: budgets, queues and links. Space 0 is the arena. Those that compute come before the
 * others. */
typedef struct plim_queue_spaces {
  int32_t n;
  int32_t computes[PLIM_PLAN_SPACES];
  int64_t budget_bytes[PLIM_PLAN_SPACES];
  int32_t run_queue[PLIM_PLAN_SPACES]; /* of those that compute */
  int32_t copy_queue[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES];
  int64_t latency_ns[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES];
  double bytes_per_ns[PLIM_PLAN_SPACES][PLIM_PLAN_SPACES]; /* 0: no link */
  plim_plan_space page[PLIM_PAGE_SPACES];                  /* [n - 1] as the plan has them */
} plim_queue_spaces;

/* Find the spaces of options->paging: the arena, and where there are such, those of other devices and the page
 * space. */
void plim_queue_spaces_make(const plim_plan_options *options, plim_queue_spaces *s);

/* The time of a copy over the link of two spaces. */
int64_t plim_queue_copy_ns(const plim_queue_spaces *spaces, int32_t from, int32_t to, int64_t bytes);

/* A time that no plan is faster than: that of keep-all; on several devices the longest chain of ops, or an even share
 * of all ops if that is longer. */
PLIM_MUST_USE plim_status plim_queue_bound(const plim_graph *graph, const plim_profile *profile,
                                           const plim_paging *paging, int64_t keep_all_ns, int64_t *bound_ns);

/* ==== commands (command_list.c, command_sort.c, command_spread.c, command_waits.c) ==== */

/* A list of commands on queues, as planners of copies make it, and the way from there to a plan.
 *
 * A buffer knows the command that begins it, the commands that use it, and the one that writes over it in place. Its
 * lifetime follows from the order of the commands. So a copy that moves in the order changes lifetimes alone, which are
 * packed again, space by space. Waits follow from order and addresses. */

/* Queues of copies to the page space and from it, where there is one device. */
enum { PLIM_LIST_QUEUE_OUT = 1, PLIM_LIST_QUEUE_IN = 2 };

typedef struct plim_command_list_buffer {
  int32_t storage, space; /* storage -1: a workspace */
  int32_t begin;          /* command; -1: there from the start */
  int32_t over;           /* command that writes over it; -1: none */
  int32_t stays;          /* 1: to the end */
  int32_t box;            /* first buffer at the same address, by in-place pairs */
  int64_t bytes, offset;  /* offset: of a persistent storage fixed, else a proposal; -1: none */
  int32_t first, last;    /* lifetime, of the order in hand */
} plim_command_list_buffer;

typedef struct plim_command_list_use {
  int32_t buffer, command;
  int32_t writes; /* 1: it fills, writes or updates the buffer */
} plim_command_list_use;

typedef struct plim_command_list {
  plim_context *ctx;
  const plim_graph *graph;
  plim_status status; /* first failure of an addition; later ones do nothing */
  int32_t serial;     /* 1: in the plan each command waits for the one before it */
  int32_t n, n_buffers, n_uses;
  plim_command *command; /* [n] as in the plan, without waits; variant: of the draft of plim_command_list_plan */
  int64_t *time_ns;      /* [n] */
  plim_command_list_buffer *buffer;
  plim_command_list_use *use;
  int64_t command_capacity, time_capacity, buffer_capacity, use_capacity;
  int32_t *at;     /* [n] place of a command in the order in hand */
  int32_t *order;  /* [n] its inverse */
  int64_t *offset; /* [n_buffers] of the order in hand */
} plim_command_list;

void plim_command_list_free(plim_command_list *list);

/* Add a command or a buffer. Each returns the index of what it adds, or 0 after a failure. A use belongs to the command
 * that is added next. */
int32_t plim_command_list_add(plim_command_list *list, const plim_command *command, int64_t time_ns);
int32_t plim_command_list_add_buffer(plim_command_list *list, int32_t storage, int32_t space, int32_t begin,
                                     int64_t bytes, int64_t offset);
void plim_command_list_add_use(plim_command_list *list, int32_t buffer, int writes);

/* Add a workspace of the command that is added next. 0 bytes: nothing. */
void plim_command_list_add_workspace(plim_command_list *list, int32_t space, int64_t bytes, int64_t offset);

/* Add uses of the buffers of n storages. buffer [n_storages] in: -1: the storage has none, and gets no use */
void plim_command_list_add_uses(plim_command_list *list, int32_t n, const int32_t *storage, const int32_t *buffer,
                                int writes);

/* Say that the command that is added next writes buffer `out` over buffer `in`. `in` ends there. */
void plim_command_list_overwrite(plim_command_list *list, int32_t in, int32_t out);

/* Commands get the numbers of the order of their keys, and uses stand in the order of their commands. Of commands with
 * equal keys the one that was added first comes first. Before plim_command_list_begin.
 *   key  [n]  in */
PLIM_MUST_USE plim_status plim_command_list_sort(plim_command_list *list, const int64_t *key);

/* Take the order in which the commands were added, and find the lifetimes of the buffers in it. Call it after the last
 * addition. */
PLIM_MUST_USE plim_status plim_command_list_begin(plim_command_list *list);

/* Find the lifetimes of the buffers anew, after a change of the order in hand. O(buffers + uses). */
void plim_command_list_set_lifetimes(plim_command_list *list);

/* Copies to spaces that do not compute end later, and copies to those that do begin earlier, as far as their time asks
 * for and `limit_bytes` [spaces] allow (INT64_MAX: no limit), until the effort is over.
 *   computes  [spaces]  in */
PLIM_MUST_USE plim_status plim_command_list_spread(plim_command_list *list, int32_t n_spaces, const int32_t *computes,
                                                   const int64_t *limit_bytes);

/* The most live bytes of a space, in the present order. */
PLIM_MUST_USE plim_status plim_command_list_peak(const plim_command_list *list, int32_t space, int64_t *peak_bytes);

/* Find offsets for the buffers of a space. *fits 0: none were found within the budget, or the effort is over. Nothing
 * is packed where the live bytes alone exceed the budget. */
PLIM_MUST_USE plim_status plim_command_list_pack(plim_command_list *list, int32_t space, int64_t budget_bytes,
                                                 int32_t packing_rounds, int32_t *fits);

/* Find what each command must wait for, and make the plan. Of `draft` it reads what plim_plan_from_parts reads, but
 * commands and buffers. O(buffers^2). */
PLIM_MUST_USE plim_status plim_command_list_plan(const plim_command_list *list, const plim_plan *draft,
                                                 plim_plan **out);

/* ==== lowering (lowering.c) ==== */

/* The last part of the way from a command list to a plan. */

typedef struct plim_lowering {
  const plim_paging *paging; /* what a better plan is */
  const plim_queue_spaces *spaces;
  const plim_plan *base;        /* its variants, and what else plim_plan_from_parts reads of a draft */
  const char *planner, *suffix; /* the planner of the plan is named "planner, suffix"; suffix NULL: "planner" */
  int64_t keep_all_ns, bound_ns;
  int32_t n_shares;
  const double *share;   /* [n_shares] of the budgets, within which copies spread, until one packs */
  int32_t compares;      /* 1: the order of the list itself is tried too, and the faster plan taken */
  int32_t has_addresses; /* 1: where that order does not pack, buffers may lie in the arena as the list proposes */
} plim_lowering;

/* Make a checked plan of a command list. Copies are spread over time as far as every space can then be packed. Where
 * that fails with every share of the budgets, the order of the list itself is tried.
 *   fits  out  0: no packing was found, and no plan is made
 *   out   out  untouched where it does not fit */
PLIM_MUST_USE plim_status plim_lower(const plim_lowering *lowering, plim_command_list *list, int32_t *fits,
                                     plim_plan **out);

#endif
