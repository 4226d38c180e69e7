/* The plan document: which op runs when, with which variant and in-place pairs, and where every buffer is placed.
 *
 * This is the plan that the executor runs (runtime/exec): every buffer has an address, every run names the variant of
 * its op, and a hash states which bits come out. It is for the machine at hand. Beside the arena it may have a few
 * spaces that this machine has: memory of the host, a page file, the arena of a second device like the first.
 *
 * A plan over spaces (space/space_plan.h) is another document, which the executor does not run. It is for a platform
 * that is only described: any number of devices, spaces and links, with times and energies but without addresses and
 * variants. There are two documents because neither has what the other one needs. check/ proves this one.
 *
 * The commands stand under the key "steps" in the document. Lifetimes are half-open [begin, end) in commands. At
 * command j, a run reads a storage in the buffer of its space whose lifetime contains j. When an in-place pair of the
 * command overwrites it, it lies in the buffer whose lifetime ends at j. A workspace has the lifetime [j, j + 1). A
 * buffer ends with its lifetime: no command says so. The variants in use are copied into the plan. graph.h says what
 * holds for every document. */
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

/* Class of solutions in which a plan is searched and a bound holds.
 *   free    any valid sequence
 *   fixed   first runs in program order
 *   stages  Jain et al., Checkmate, MLSys 2020
 *   copies  stages with a limit on the computations of an op: Bartan et al., Moccasin, ICML 2023 */
#define PLIM_PLAN_CLASSES(X) X(FREE, "free") X(FIXED, "fixed") X(STAGES, "stages") X(COPIES, "copies")
#define PLIM_X(id, name) PLIM_CLASS_##id,
typedef enum plim_plan_class { PLIM_PLAN_CLASSES(PLIM_X) PLIM_PLAN_CLASS_COUNT } plim_plan_class;
#undef PLIM_X

/* Queues of a plan: 0 takes the runs of space 0. Each other one takes copies, or the runs of one space that computes.
 */
enum { PLIM_PLAN_QUEUES = 8 };

typedef struct plim_command {
  plim_command_kind kind;
  int32_t op;      /* RUN: op of the graph */
  int32_t variant; /* RUN: index into plan->variant */
  int32_t space;   /* RUN: whose buffers it uses: 0, or a space that computes */
  int32_t queue;   /* RUN in space 0: 0; else 1 to PLIM_PLAN_QUEUES - 1 */
  int32_t n_pairs;
  plim_pair pair[PLIM_OP_MAX_PAIRS]; /* RUN: in-place pairs used here */
  int32_t n_wait;
  const int32_t *wait;       /* [n_wait] earlier commands of other queues that must have finished */
  int32_t storage, from, to; /* COPY: what is copied, from which space to which other one; RUN: not read */
  int64_t time_ns;           /* COPY: predicted; RUN: not read, the variant has it */
} plim_command;

typedef struct plim_plan_buffer {
  int32_t storage;       /* -1: the workspace of command `begin` */
  int32_t begin, end;    /* lifetime [begin, end) in commands */
  int32_t space;         /* 0: the arena; k > 0: plan->page[k - 1] */
  int64_t offset, bytes; /* in its space; bytes > 0, rounded up to PLIM_ALIGN unless packed = 0 */
} plim_plan_buffer;

/* A space beside the arena: copies page out to it, or it is the arena of another device like that of space 0.
 *
 * A persistent storage has a home: the one space where its buffer has the lifetime [0, n_commands). Elsewhere it has
 * buffers that copies begin. A copy to its home writes the buffer that is there, with the version that it copies. */
enum { PLIM_PAGE_SPACES = 3, PLIM_PAGE_NAME_BYTES = 32 };
typedef struct plim_page_space {
  char name[PLIM_PAGE_NAME_BYTES]; /* "host": memory; "disk": a page file; "cpu:1": the arena of the second device */
  int64_t budget_bytes;            /* INT64_MAX: none */
  int64_t peak_bytes, arena_bytes; /* as those of the plan */
  int32_t computes;                /* 1: ops may run there */
} plim_page_space;

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
  int32_t packed; /* 1: buffers have addresses; 0: peak only, arena_bytes = -1, offsets -1 */
  int32_t n_commands, n_buffers, n_variants;
  const plim_command *command;      /* [n_commands] the commands, in order */
  const plim_plan_buffer *buffer;   /* [n_buffers] sorted by begin, then storage (workspaces last) */
  const plim_plan_variant *variant; /* [n_variants] sorted by op, then name */
  int64_t budget_bytes;             /* INT64_MAX: none */
  int64_t peak_bytes;               /* largest sum of live bytes over the commands */
  int64_t arena_bytes;              /* packed size: largest offset + bytes; -1 when packed = 0 */
  int64_t time_ns, keep_all_ns;     /* predicted: makespan; of every op once, with its fastest variant */
  int64_t bound_ns;                 /* proven lower bound on time in plan_class at this budget, >= keep_all_ns */
  int32_t proved;                   /* 1: time_ns is optimal in plan_class */
  int32_t n_pages;                  /* 0: all commands are runs */
  const plim_page_space *page;      /* [n_pages] spaces 1 to n_pages */
} plim_plan;

/* Name of a class, NULL when out of range; class of a name, -1 when there is none. */
const char *plim_plan_class_name(plim_plan_class plan_class);
int plim_plan_class_find(const char *name);

/* The storage of the result that the command writes over this storage by an in-place pair; -1: there is no such pair.
 * The checker has a copy of its own. */
int32_t plim_command_result_over(const plim_graph *graph, const plim_command *command, int32_t storage);

/* A plan from its parts, which are copied. Does not check whether it is valid: plim_plan_check does.
 *   draft  [1] in   read: planner, plan_class, packed, commands, buffers, variants, budget_bytes, keep_all_ns,
 *                   bound_ns, proved, numerics.machine, names and budgets of pages. Every index in it must be in range
 *   out    [1] out  free with plim_plan_free
 * It sets fingerprint and numerics hash, peak_bytes and arena_bytes of every space from the buffers, and time_ns from
 * the commands. It sorts buffers and variants, and leaves out variants that no command uses. keep_all_ns becomes at
 * most the time of every op once with the fastest variant used; a bound_ns equal to keep_all_ns changes with it.
 * PLIM_EDATA: two variants of one op and name. PLIM_EOVERFLOW: bytes or times exceed 63 bits. O(n log n). */
PLIM_MUST_USE plim_status plim_plan_from_parts(const plim_graph *graph, const plim_plan *draft, plim_plan **out);
void plim_plan_free(plim_plan *plan); /* NULL is legal */

/* The simulator: a command begins when the one before it on its queue and all of `wait` have ended.
 *   begin_ns, end_ns  [n_commands]  out
 *   makespan_ns       [1]           out  the last end; -1: it exceeds 63 bits
 * Queues must be in range, and waits earlier commands. O(commands + waits). */
void plim_plan_simulate(const plim_plan *plan, int64_t *begin_ns, int64_t *end_ns, int64_t *makespan_ns);

/* Overhead of time_ns, and of bound_ns, over keep_all_ns, in percent of keep_all_ns; 0 where that is 0. */
double plim_plan_overhead_percent(const plim_plan *plan);
double plim_plan_bound_percent(const plim_plan *plan);

/* The numerics key of each op that the plan runs.
 *   label  [n_ops]  out  borrowed from the plan; those of other ops stay as they are */
void plim_plan_labels(const plim_plan *plan, const char **label);

/* Ops that both plans run, with other numerics keys. O(variants of one x variants of the other). */
int32_t plim_plan_numerics_differ(const plim_plan *plan, const plim_plan *other);

/* SHA-256 of the canonical document: hex [PLIM_FINGERPRINT_BYTES] out. O(plan). */
PLIM_MUST_USE plim_status plim_plan_fingerprint(const plim_plan *plan, char *hex);

/* Write and read canonical JSON, with the errors of plim_graph_save and plim_graph_load. Loading checks the form alone:
 * plim_plan_check needs the graph. */
PLIM_MUST_USE plim_status plim_plan_save(const plim_plan *plan, const char *path);
PLIM_MUST_USE plim_status plim_plan_load(plim_context *ctx, const char *path, plim_plan **out);

#ifdef __cplusplus
}
#endif
#endif
