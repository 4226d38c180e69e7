/* The plan document: which op runs when, with which variant and in-place pairs, and where every buffer is placed.
 *
 * The executor (runtime/exec) runs this plan: every buffer has an address, every run names the variant of its op, and a
 * hash identifies the numerics. The plan is for one machine. Beside the arena it may have a few spaces of this machine:
 * memory of the host, a page file, arenas of other devices like the first. check/ proves it.
 *
 * A plan over spaces (space/space_plan.h) is another document, which the executor does not run. It is for a platform
 * that is only described: any number of devices, spaces and links, with times and energies but without addresses and
 * variants. There are two documents because each needs data that the other lacks.
 *
 * Lifetimes are half-open [begin, end) in commands. At command j, a run reads a storage in the buffer of its space
 * whose lifetime contains j. There is one exception: an input that the command overwrites in place is in the buffer
 * whose lifetime ends at j. A workspace has the lifetime [j, j + 1). A buffer ends with its lifetime, without a command
 * that says so. The variants in use are copied into the plan. In the file the commands are under the key "steps".
 * graph.h has the rules for every document.
 *
 * The functions stand in plan_copy.c (the memory of a plan), plan_simulate.c, plan_read.c, plan_write.c, and plan.c. */
#ifndef PLIM_RUNTIME_GRAPH_PLAN_H
#define PLIM_RUNTIME_GRAPH_PLAN_H

#include "runtime/graph/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIM_COMMAND_KINDS(X) X(RUN, "run") X(COPY, "copy")
#define PLIM_X(id, name) PLIM_COMMAND_##id,
typedef enum plim_command_kind { PLIM_COMMAND_KINDS(PLIM_X) PLIM_COMMAND_KIND_COUNT } plim_command_kind;
#undef PLIM_X

/* The class of plans in which a plan was searched, and for which its bound holds.
 *   free    any valid sequence
 *   fixed   first runs in program order
 *   stages  Jain et al., Checkmate, MLSys 2020
 *   copies  stages with a limit on the computations of an op: Bartan et al., Moccasin, ICML 2023 */
#define PLIM_PLAN_CLASSES(X) X(FREE, "free") X(FIXED, "fixed") X(STAGES, "stages") X(COPIES, "copies")
#define PLIM_X(id, name) PLIM_CLASS_##id,
typedef enum plim_plan_class { PLIM_PLAN_CLASSES(PLIM_X) PLIM_PLAN_CLASS_COUNT } plim_plan_class;
#undef PLIM_X

/* Number of queues of a plan. Queue 0 takes the runs of space 0. Each other queue takes copies, or the runs of one
 * space that computes. */
enum { PLIM_PLAN_QUEUES = 24 };

typedef struct plim_command {
  plim_command_kind kind;
  int32_t op;      /* RUN: op of the graph */
  int32_t variant; /* RUN: index into plan->variant */
  int32_t space;   /* RUN: the space whose buffers it uses: 0, or a space that computes */
  int32_t queue;   /* RUN in space 0: 0; else 1 to PLIM_PLAN_QUEUES - 1 */
  int32_t n_pairs;
  plim_pair pair[PLIM_OP_MAX_PAIRS]; /* RUN: in-place pairs used here */
  int32_t n_wait;
  const int32_t *wait;       /* [n_wait] earlier commands of other queues that must have finished */
  int32_t storage, from, to; /* COPY: the storage, its source space and its target space; RUN: not read */
  int64_t time_ns;           /* COPY: predicted; RUN: not read, since the variant has the time */
} plim_command;

enum { PLIM_WORKSPACE = -1 }; /* as the storage of a buffer or of a request: the workspace of the op */

typedef struct plim_plan_buffer {
  int32_t storage;       /* PLIM_WORKSPACE: of command `begin` */
  int32_t begin, end;    /* lifetime [begin, end) in commands */
  int32_t space;         /* 0: the arena; > 0: plan->page[plim_page_index(space)] */
  int64_t offset, bytes; /* in its space; bytes > 0, rounded up to PLIM_ALIGN unless packed = 0 */
} plim_plan_buffer;

/* Figures of a link by the direction of its copies: out of the arena, in, or one of each at once. */
enum { PLIM_LINK_OUT, PLIM_LINK_IN, PLIM_LINK_DIRECTIONS, PLIM_LINK_BOTH = PLIM_LINK_DIRECTIONS, PLIM_LINK_CASES };

/* A space of a plan. Space 0 is the arena, with the plan's own budget and sizes (plim_plan_space_of). The others are
 * page spaces: copies page out to them, or they are arenas of other devices like that of space 0.
 *
 * A persistent storage has a home: the one space where its buffer has the lifetime [0, n_commands). In other spaces
 * copies begin its buffers. A copy to its home overwrites the buffer there with the copied version. */
enum {
  PLIM_PAGE_DEVICES = 7, /* arenas of devices, most */
  PLIM_PAGE_SPACES = PLIM_PAGE_DEVICES + 1,
  PLIM_PLAN_SPACES = 1 + PLIM_PAGE_SPACES, /* the arena, space 0, and these */
  PLIM_PAGE_NAME_BYTES = 32,
  PLIM_PAGE_DELAY_PERMILLE = 10000
};
typedef struct plim_plan_space {
  char name[PLIM_PAGE_NAME_BYTES]; /* "host": memory; "disk": a page file; "cpu:1": the arena of a second device */
  int64_t budget_bytes;            /* or PLIM_BYTES_UNLIMITED */
  int64_t peak_bytes, arena_bytes; /* of this space, as in plim_plan */
  int32_t computes;                /* 1: ops may run there */
  /* 0 to PLIM_PAGE_DELAY_PERMILLE: a run at the same time as a copy to or from the space takes longer, by so many
   * thousandths of the common time. Of a copy the larger delay of its two spaces holds. */
  int32_t delay_permille;
} plim_plan_space;

/* Where a space stands among the page spaces of a plan, which leave out the arena.
 *   space  > 0 */
static inline int32_t plim_page_index(int32_t space) {
  return space - 1;
}
/* The space that stands there. */
static inline int32_t plim_page_space_at(int32_t index) {
  return index + 1;
}

/* Does a page space of that name lie in memory of the host, or in a page file? The arena of another device is neither.
 */
int plim_page_is_host(const char *name);
int plim_page_is_file(const char *name);

typedef struct plim_plan_variant {
  int32_t op;
  plim_variant variant;
} plim_plan_variant;

/* Everything that decides bits: machine (threads, isa, ...), layouts (in the graph) and one numerics key per op. */
typedef struct plim_numerics {
  plim_machine machine;
  char hash[PLIM_FINGERPRINT_BYTES]; /* of graph fingerprint, machine and the numerics key of every op */
} plim_numerics;

typedef struct plim_plan {
  plim_context *ctx;
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the graph */
  plim_numerics numerics;
  char planner[32]; /* strategy that made it */
  plim_plan_class plan_class;
  int32_t packed; /* 1: buffers have addresses; 0: peak only, arena_bytes = PLIM_NONE, offsets PLIM_NONE */
  int32_t n_commands, n_buffers, n_variants;
  const plim_command *command;      /* [n_commands] the commands, in order */
  const plim_plan_buffer *buffer;   /* [n_buffers] sorted by begin, then storage (workspaces last) */
  const plim_plan_variant *variant; /* [n_variants] sorted by op, then name */
  int64_t budget_bytes;             /* or PLIM_BYTES_UNLIMITED */
  int64_t peak_bytes;               /* largest sum of live bytes over the commands */
  int64_t arena_bytes;              /* packed size: largest offset + bytes; PLIM_NONE when packed = 0 */
  int64_t time_ns, keep_all_ns;     /* predicted: the makespan; every op once with its fastest variant */
  int64_t bound_ns;                 /* proven lower bound on time in plan_class at this budget, >= keep_all_ns */
  int32_t proved;                   /* 1: time_ns is optimal in plan_class */
  int32_t n_page_spaces;            /* 0: all commands are runs */
  const plim_plan_space *page;      /* [n_page_spaces] spaces 1 to n_page_spaces */
} plim_plan;

/* A space of the plan, 0 to n_page_spaces. The arena's row has no name, computes, and delays nothing. */
static inline plim_plan_space plim_plan_space_of(const plim_plan *plan, int32_t space) {
  if (space > 0) return plan->page[plim_page_index(space)];
  plim_plan_space arena = {{0}, plan->budget_bytes, plan->peak_bytes, plan->arena_bytes, 1, 0};
  return arena;
}

/* May ops run in a space of the plan? */
static inline int plim_plan_computes(const plim_plan *plan, int32_t space) {
  return plim_plan_space_of(plan, space).computes;
}

/* Number of spaces other than the arena in which ops may run: the arenas of other devices. O(spaces). */
static inline int32_t plim_plan_other_devices(const plim_plan *plan) {
  int32_t n = 0;
  for (int32_t space = 1; space <= plan->n_page_spaces; space++) n += plim_plan_computes(plan, space) != 0;
  return n;
}

/* The name of a class, NULL when out of range. The class of a name, or PLIM_NONE. */
const char *plim_plan_class_name(plim_plan_class plan_class);
int plim_plan_class_find(const char *name);

/* Is the buffer the home of a persistent storage: has it the storage's bytes before the first command? A buffer that
 * command 0 begins by a copy has not. O(1). The checker does not use this function. */
int plim_plan_is_home(const plim_graph *graph, const plim_plan *plan, const plim_plan_buffer *buffer);

/* The index of the first buffer that begins at command j or later; n_buffers: none does. O(log n_buffers). */
int32_t plim_plan_first_buffer(const plim_plan *plan, int32_t j);

/* Is row i of plan->variant the first of its op? The rows of an op follow each other, and have one numerics key. */
static inline int plim_plan_variant_is_first(const plim_plan *plan, int32_t i) {
  return i == 0 || plan->variant[i - 1].op != plan->variant[i].op;
}

/* Do both plans run the same op in the same variant at command j? Neither command may be a copy. */
int plim_plan_is_same_run(const plim_plan *a, const plim_plan *b, int32_t j);

/* The storage of the result that the command writes over this storage by an in-place pair; PLIM_NONE: there is no such
 * pair. The checker does not use this function. */
int32_t plim_command_result_over(const plim_graph *graph, const plim_command *command, int32_t storage);

/* When a command can begin: its queue is free, and all that it waits for has ended.
 *   wait    [n_wait]  in  commands
 *   end_ns            in  of every command before it */
static inline int64_t plim_command_begin_ns(int64_t free_ns, int32_t n_wait, const int32_t *wait,
                                            const int64_t *end_ns) {
  int64_t begin_ns = free_ns;
  for (int32_t w = 0; w < n_wait; w++) {
    if (end_ns[wait[w]] > begin_ns) begin_ns = end_ns[wait[w]];
  }
  return begin_ns;
}

/* The delay of a run by a command at the same time, in thousandths of that time: of a copy the larger delay of its two
 * spaces, of a run 0. The checker does not use this function. */
int32_t plim_command_delay(const plim_plan *plan, const plim_command *command);

/* Make a plan from its parts, which are copied. plim_plan_check checks whether it is valid; this function does not.
 *   draft  [1] in   these fields are read: planner, plan_class, packed, commands, buffers, variants, budget_bytes,
 *                   keep_all_ns, bound_ns, proved, numerics.machine, and of pages name, budget, `computes`
 *                   and delay
 *   out    [1] out  free with plim_plan_free
 * Sets fingerprint and numerics hash, peak_bytes and arena_bytes of every space from the buffers, and time_ns from the
 * commands. Sorts buffers and variants, and leaves out variants that no command uses. Lowers keep_all_ns to the time of
 * every op once with the fastest variant used, if that is less; a bound_ns equal to keep_all_ns is lowered with it.
 * PLIM_EDATA: a part is not allowed, or an op has two variants of one name. PLIM_EOVERFLOW: bytes or times exceed 63
 * bits. O(n log n). */
PLIM_MUST_USE plim_status plim_plan_from_parts(const plim_graph *graph, const plim_plan *draft, plim_plan **out);
void plim_plan_free(plim_plan *plan); /* NULL is legal */

/* Simulate the plan: a command begins when the command before it on its queue and all of `wait` have ended.
 * A run ends at the first nanosecond at which it has lasted for its time and for all delays by copies beside it.
 *   begin_ns, end_ns  [n_commands]  out
 *   makespan_ns       [1]           out  the last end; -1: it exceeds 63 bits, or with delays some hours
 * Queues must be in range, and waits earlier commands. O(commands + waits); with
 * delays waits are looked at again at each end. */
void plim_plan_simulate(const plim_plan *plan, int64_t *begin_ns, int64_t *end_ns, int64_t *makespan_ns);

/* Overhead of time_ns, or of bound_ns, over keep_all_ns, in percent of keep_all_ns; 0 when keep_all_ns is 0. */
double plim_plan_overhead_percent(const plim_plan *plan);
double plim_plan_bound_percent(const plim_plan *plan);

/* Get the numerics key of each op that the plan runs.
 *   numerics_key  [n_ops]  out  borrowed from the plan; the elements of other ops stay as they are */
void plim_plan_numerics_keys(const plim_plan *plan, const char **numerics_key);

/* Number of ops that both plans run with different numerics keys. O(variants of one x variants of the other). */
int32_t plim_plan_numerics_differ(const plim_plan *plan, const plim_plan *other);

/* SHA-256 of the canonical document: hex [PLIM_FINGERPRINT_BYTES] out. O(plan). */
PLIM_MUST_USE plim_status plim_plan_fingerprint(const plim_plan *plan, char *hex);

/* Write and read canonical JSON, with the errors of plim_graph_save and plim_graph_load. Loading checks only what can
 * be checked without the graph; call plim_plan_check afterwards. */
PLIM_MUST_USE plim_status plim_plan_save(const plim_plan *plan, const char *path);
PLIM_MUST_USE plim_status plim_plan_load(plim_context *ctx, const char *path, plim_plan **out);

#ifdef __cplusplus
}
#endif
#endif
