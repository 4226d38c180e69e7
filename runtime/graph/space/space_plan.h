/* Plans over spaces and queues: version 2 of the plan document. The executor does not run them: it runs plim_plan
 * (graph/plan.h), version 1.
 *
 * This document is for comparing planners on a platform that is only described (platform.h), as papers do: several
 * devices and memory spaces, links between them, and the costs of computing and copying in time and energy. Such a plan
 * is made, proved, simulated and drawn. It has data that plim_plan lacks: energy, deadlines, any number of devices and
 * spaces, copies of several storages. It lacks data that running needs: addresses, variants of ops, in-place pairs, a
 * hash of the numerics. So there are two documents, each with its own checker and simulator. The spaces of plim_plan
 * are those that one machine can page to, or run ops in.
 *
 * Commands are in an order in which they could run one after another, each on a queue. A command starts when the
 * command before it on its queue and all of `wait` have ended; nothing else orders two commands. The lifetime of a
 * buffer is [begin, end) in commands: command `begin` fills the buffer, and commands up to end - 1 may read it.
 *
 * The functions stand in space_plan.c, space_plan_text.c (files), space_simulate.c, and space_check.c with
 * space_check_figures.c. */
#ifndef PLIM_RUNTIME_GRAPH_SPACE_SPACE_PLAN_H
#define PLIM_RUNTIME_GRAPH_SPACE_SPACE_PLAN_H

#include "runtime/graph/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The figure that a plan minimizes: its makespan, the sum of the times of all commands, or its energy. */
#define PLIM_OBJECTIVES(X) X(TIME, "time") X(SERIAL, "serial") X(ENERGY, "energy")
#define PLIM_X(id, name) PLIM_OBJECTIVE_##id,
typedef enum plim_objective { PLIM_OBJECTIVES(PLIM_X) PLIM_OBJECTIVE_COUNT } plim_objective;
#undef PLIM_X

/* The class of plans in which a plan was searched, and for which its bound holds. */
#define PLIM_SPACE_PLAN_CLASSES(X) \
  X(ALL, "all plans") X(POET, "poet stages") X(PLACED, "placed stages") X(FLUID, "fluid stages")
#define PLIM_X(id, name) PLIM_SPACE_PLAN_##id,
typedef enum plim_space_plan_class {
  PLIM_SPACE_PLAN_CLASSES(PLIM_X) PLIM_SPACE_PLAN_CLASS_COUNT
} plim_space_plan_class;
#undef PLIM_X

/* COLLECTIVE is a reserved word of the format: this version has none. */
#define PLIM_SPACE_COMMAND_KINDS(X) X(RUN, "run") X(COPY, "copy")
#define PLIM_X(id, name) PLIM_SPACE_COMMAND_##id,
typedef enum plim_space_command_kind {
  PLIM_SPACE_COMMAND_KINDS(PLIM_X) PLIM_SPACE_COMMAND_KIND_COUNT
} plim_space_command_kind;
#undef PLIM_X

typedef struct plim_space_command {
  plim_space_command_kind kind;
  int32_t op, device;     /* RUN */
  int32_t n_storages;     /* COPY: > 0 */
  const int32_t *storage; /* COPY: ascending */
  int32_t from, to;       /* COPY: spaces */
  int32_t queue;
  int32_t n_wait;
  const int32_t *wait;      /* ascending, earlier commands of other queues */
  int64_t time_ns;          /* predicted */
  double joule;             /* its energy; not read when the plan has no energy */
  int64_t begin_ns, end_ns; /* predicted */
} plim_space_command;

/* A storage in a space, or the workspace of a run, which lives while its command runs. */
typedef struct plim_space_buffer {
  int32_t storage, space; /* storage PLIM_WORKSPACE: of the run `begin` */
  int32_t begin, end;
  int64_t bytes;
} plim_space_buffer;

enum { PLIM_SPACE_NAME_BYTES = 32, PLIM_SPACE_QUEUE_NAME_BYTES = 72 };

typedef struct plim_space_device {
  char name[PLIM_SPACE_NAME_BYTES];
  int32_t space; /* whose buffers its runs read and write */
  double idle_watt;
} plim_space_device;

typedef struct plim_space_memory {
  char name[PLIM_SPACE_NAME_BYTES];
  int64_t budget_bytes; /* or PLIM_BYTES_UNLIMITED */
  int64_t peak_bytes;
} plim_space_memory;

typedef struct plim_space_queue {
  char name[PLIM_SPACE_QUEUE_NAME_BYTES];
  int32_t device; /* whose runs it takes; PLIM_NONE: it takes copies */
} plim_space_queue;

typedef struct plim_space_plan {
  plim_context *ctx;
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the graph */
  char planner[32];                         /* strategy that made it: 1 to 31 printable characters */
  plim_space_plan_class plan_class;
  plim_objective objective;
  int32_t has_energy; /* 1: commands have joule */
  int32_t n_devices, n_spaces, n_queues, n_commands, n_buffers;
  const plim_space_device *device;
  const plim_space_memory *space;
  const plim_space_queue *queue;
  const plim_space_command *command;
  const plim_space_buffer *buffer; /* sorted by begin, then storage (workspaces last), then space */
  int64_t deadline_ns;             /* or PLIM_TIME_UNLIMITED */
  int64_t makespan_ns;             /* the longest path */
  int64_t serial_ns;               /* the sum of the times of all commands */
  double energy_joule;             /* of all commands, and of idle devices during the makespan; 0 without energy */
  double keep_all;                 /* the objective of every op once on the fastest device */
  double bound;   /* no plan of the class has a lower objective; stated by the planner, and not checked */
  int32_t proved; /* 1: the objective is the bound */
} plim_space_plan;

/* The name of an objective, or of a class, NULL when out of range. The objective, or the class, of a name. */
const char *plim_objective_name(plim_objective objective);
int plim_objective_find(const char *name); /* or PLIM_NONE */

const char *plim_space_plan_class_name(plim_space_plan_class plan_class);
int plim_space_plan_class_find(const char *name); /* or PLIM_NONE */

/* The plan's own objective: makespan, serial time or energy. */
double plim_space_plan_value(const plim_space_plan *plan);

/* Make a plan from its parts, which are copied with the figures that they state; buffers are sorted. Free it with
 * plim_space_plan_free. PLIM_EDATA: an index is out of range, a wait is no earlier command, a name is not printable. */
PLIM_MUST_USE plim_status plim_space_plan_from_parts(plim_context *ctx, const plim_space_plan *draft,
                                                     plim_space_plan **out);
void plim_space_plan_free(plim_space_plan *plan); /* NULL is legal */

/* Simulate the plan: find when every command begins and ends, and the figures that follow. Planners and the checker use
 * this function; the sim device finds the same figures by its clocks (plim_sim_replay).
 *   begin_ns, end_ns  [n_commands]  out
 *   peak_bytes        [n_spaces]    out  largest sum of buffers that are live at one command
 * PLIM_EOVERFLOW: a sum needs more than 63 bits. O(commands + waits + spaces x commands + buffers). */
typedef struct plim_space_figures {
  int64_t makespan_ns, serial_ns;
  double energy_joule;
  int64_t *begin_ns, *end_ns, *peak_bytes;
} plim_space_figures;
PLIM_MUST_USE plim_status plim_space_plan_simulate(const plim_space_plan *plan, plim_space_figures *out);

/* The energy of all commands, and of idle devices during the makespan; 0 when the plan has no energy. */
double plim_space_plan_joule(const plim_space_plan *plan, int64_t makespan_ns);

/* Prove on the partial order of queues and waits that the plan computes the graph within its budgets:
 *   Every op runs, and ops of class effect and once run once.
 *   A read comes after the command that filled the buffer, and reads the version that program order reads.
 *   Bytes are reused only after all commands that use them.
 *   Figures are those of the simulator. keep_all agrees with the times and energies of graph and plan.
 * It shares no code with a planner, except the simulator. PLIM_EPLAN: a rule is broken. PLIM_EDATA: the plan is of
 * another graph. O(commands x queues + buffers x (queues + log buffers)). */
PLIM_MUST_USE plim_status plim_space_plan_check(plim_context *ctx, const plim_graph *graph,
                                                const plim_space_plan *plan);

/* Only the last part of plim_space_plan_check: times that the graph gives, and all figures, are as stated. The order
 * must have been checked. */
PLIM_MUST_USE plim_status plim_space_plan_check_figures(plim_context *ctx, const plim_graph *graph,
                                                        const plim_space_plan *plan);

/* Write canonical JSON, with the errors of plim_graph_save. */
PLIM_MUST_USE plim_status plim_space_plan_save(const plim_space_plan *plan, const char *path);

/* Read a plan document of version 1 or 2: sets *plan or *space_plan. The errors of plim_graph_load. */
PLIM_MUST_USE plim_status plim_space_plan_load_any(plim_context *ctx, const char *path, plim_plan **plan,
                                                   plim_space_plan **space_plan);

#ifdef __cplusplus
}
#endif
#endif
