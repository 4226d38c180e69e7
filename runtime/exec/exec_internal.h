/* State of an executor, struct plim_exec, and its parts. The files of exec.h share it, and four more: exec_spaces.c
 * (page spaces and queues), refused.c (variants that the device refused), rehearse.c (kernels that a library may
 * refuse), each.c (each buffer is an allocation).
 *
 * Parts with headers of their own, from the lowest to the highest:
 *   bind.h          a plan as flat arrays
 *   prepare.h       kernels, each prepared once
 *   memory_meter.h  bytes in use, measured while a step runs
 *   queues.h        the threads of the other queues
 *   exec_device.h   what is asked of the device, or of the host
 *   streams.h       the queues of a GPU */
#ifndef PLIM_RUNTIME_EXEC_EXEC_INTERNAL_H
#define PLIM_RUNTIME_EXEC_EXEC_INTERNAL_H

#include "runtime/exec/exec.h"
#include "runtime/exec/memory_meter.h"
#include "runtime/exec/prepare.h"
#include "runtime/exec/queues.h"

enum { PLIM_SPACE_HOW_BYTES = PLIM_REGION_HOW_BYTES + 24 /* of "pread and pwrite, " before it */ };

/* One plan of the program, with what its steps need. */
typedef struct plim_exec_plan {
  plim_bound_plan bound;   /* the plan that runs */
  plim_bound_plan planned; /* the program's own plan while a plan switch has replaced it in `bound` */
  plim_plan *taken_over;   /* plan of the last plan switch, which `bound` holds; owned; NULL: no switch in this step */
  plim_exec_use use;
  uint8_t *written;                           /* [n_values] of inputs: written since the plan's last step */
  uint8_t *reads;                             /* [n_values] of inputs: an op reads it */
  void **allocation;                          /* [n_buffers] with EACH: of the buffer; NULL: none now */
  plim_exec_result result[PLIM_EXEC_RESULTS]; /* [n_results] outputs that its steps copy to the host */
  int32_t n_results;
} plim_exec_plan;

/* The spaces of the plans, each at its number: the arena is space 0, page spaces follow. With PLIM_ADDRESSES_EACH there
 * is no arena, and memory[0].base is NULL. */
typedef struct plim_exec_spaces {
  int32_t n;                   /* the most that a plan has, with the arena */
  int32_t opened_since_queues; /* 1: a page space was opened, and no queues since */
  plim_memory_region memory[PLIM_PLAN_SPACES];
  /* Each space that computes has kernels of its own, since two spaces may run the same variant at once. */
  plim_prepared kernels[PLIM_PLAN_SPACES];
  char name[PLIM_PLAN_SPACES][PLIM_PAGE_NAME_BYTES]; /* of page spaces in the plans; "": not open */
  char how[PLIM_PLAN_SPACES][PLIM_SPACE_HOW_BYTES];  /* plim_exec_space_how */
} plim_exec_spaces;

/* What has happened to the arena. */
typedef struct plim_exec_arena_history {
  int64_t first_bytes;    /* at open, as allocated */
  int64_t returned_bytes; /* to the system, now */
  int64_t moved_bytes;    /* within it by plan switches, since open */
  int64_t n_switches;     /* plans that took over in the middle of a step, since open */
} plim_exec_arena_history;

/* The queues of the plans. */
typedef struct plim_exec_queues {
  int32_t n;            /* with queue 0; 0: no plan has copies */
  plim_queues *workers; /* a thread a queue; NULL: no plan has copies, or the device has queues */
} plim_exec_queues;

/* Which plan's values the arena holds between steps, PLIM_NONE: none's. */
typedef struct plim_exec_contents {
  int32_t outputs_of; /* plan whose outputs can be read */
  int32_t inputs_of;  /* plan whose inputs have been written */
} plim_exec_contents;

/* What the next step is told. */
typedef struct plim_exec_next_step {
  uint64_t seed;
  int64_t number;
  int32_t timing_users; /* calls of plim_exec_timing_begin without their plim_exec_timing_end */
} plim_exec_next_step;

/* plim_exec_set_before_command */
typedef struct plim_exec_hook {
  plim_before_command *before_command; /* NULL: none */
  void *user;
} plim_exec_hook;

/* The variants that the device refused in the last call. */
typedef struct plim_exec_refused {
  plim_refused_list list;
  plim_status status; /* of the first of them */
} plim_exec_refused;

struct plim_exec {
  /* given at open */
  plim_context *ctx;
  plim_device *device; /* NULL: host memory and the caller's kernels */
  plim_exec_options options;
  /* the plans, with all that was prepared for them */
  int32_t n_plans;
  plim_exec_plan *plan; /* [n_plans] */
  plim_exec_spaces spaces;
  plim_exec_arena_history arena;
  plim_exec_queues queues;
  /* what changes from call to call */
  plim_exec_contents contents;
  plim_exec_next_step step;
  plim_exec_hook hook;
  plim_exec_refused refused;
};

/* Does the executor allocate each buffer when its lifetime begins? Then there is no arena. */
static inline int plim_exec_allocates_each(const plim_exec *exec) {
  return exec->options.addresses == PLIM_ADDRESSES_EACH;
}

/* ---- open.c ---- */

/* PLIM_EDATA, naming plan `plan_index`, when the plan was made for another machine: its times, workspaces and bits do
 * not hold here. */
PLIM_MUST_USE plim_status plim_exec_check_machine(const plim_exec *exec, int32_t plan_index, const plim_plan *plan);

/* Make a plan ready to run, but for the addresses of its operands: prepare the kernel of every variant, in each space
 * that runs it, and bind the plan to them. plim_bound_plan_set_addresses completes it once the spaces have memory.
 *   checked  in   1: each kernel must have the numerics key and the workspace that the plan says
 *   out      out  zeroed before the call. It has arrays of its own, which plim_bound_plan_free frees, also after a
 *                 failure. It borrows graph and plan, and the kernels, which exec->spaces.kernels own
 * After a failure *out does not run, and kernels that were prepared stay in their sets: plim_exec_free_kernels frees
 * those that no plan of the executor runs. Refused variants are listed, all of them, and the status is that of the
 * first. PLIM_EPLAN: a kernel has another numerics key. PLIM_EDIFF: it needs another workspace. Otherwise the errors of
 * the device and of plim_bind. */
PLIM_MUST_USE plim_status plim_exec_bind(plim_exec *exec, const plim_graph *graph, const plim_plan *plan, int checked,
                                         plim_bound_plan *out);

/* ---- exec_spaces.c ---- */

/* Begin a set of kernels for every space in which the plans [exec->n_plans] compute. */
void plim_exec_begin_kernels(plim_exec *exec, const plim_plan *const *plan);

/* Open or enlarge page spaces and queues as the plans [exec->n_plans] need. None becomes smaller, and contents stay.
 * Bases of spaces may change, even on failure: call plim_bound_plan_set_addresses for every plan afterwards.
 * PLIM_EUNSUPPORTED: a plan has copies, which this executor cannot make. PLIM_EPLAN: a space has two names. The other
 * errors are those of plim_exec_open. */
PLIM_MUST_USE plim_status plim_exec_grow_spaces(plim_exec *exec, const plim_plan *const *plan);

/* Close queues and page spaces. The arena stays. */
void plim_exec_close_spaces(plim_exec *exec);

/* ---- refused.c ---- */

/* Empty the list of refused variants. */
void plim_refused_clear(plim_exec *exec);
/* Handle a variant that could not be prepared or rehearsed.
 *   failed  in  the status; the context has the sentence
 * PLIM_OK: only the variant failed. It is added to the refused ones, and the caller may continue. Otherwise the device
 * failed: its status, with a sentence that names op and variant. */
PLIM_MUST_USE plim_status plim_refused_add(plim_exec *exec, const plim_graph *graph, const plim_plan_variant *variant,
                                           plim_status failed);
/* Was this variant refused, or the same variant of an equal op? */
int plim_refused_has(const plim_exec *exec, const plim_graph *graph, const plim_plan_variant *variant);
/* The status of the first refused variant, PLIM_OK when there is none. Fills the caller's list. */
PLIM_MUST_USE plim_status plim_refused_report(plim_exec *exec);

/* ---- rehearse.c ---- */

/* Run every kernel of a bound plan that a library may refuse and that never ran, at its addresses in the arena.
 * Persistent storages keep their contents; all other contents of the arena are lost. */
PLIM_MUST_USE plim_status plim_exec_rehearse(plim_exec *exec, const plim_bound_plan *bound);

/* ---- plan_replace.c ---- */

/* Change the size of the arena. What it returns to the system is counted. The errors of plim_exec_device_resize. */
PLIM_MUST_USE plim_status plim_exec_resize(plim_exec *exec, int64_t bytes);
/* Free the kernels that no plan of the executor runs. */
void plim_exec_free_kernels(plim_exec *exec);

/* ---- plan_switch.c ---- */

/* Call the before-command hook, and switch to the plan that it gives. */
PLIM_MUST_USE plim_status plim_plan_switch_ask(plim_exec *exec, plim_exec_plan *exec_plan, int32_t command,
                                               plim_memory_meter *meter);
/* Switch back to the program's own plan; does nothing when there was no switch. */
void plim_plan_switch_end(plim_exec *exec, plim_exec_plan *exec_plan);

/* ---- values.c ---- */

/* PLIM_EUSAGE when the program has no plan `plan_index`. */
PLIM_MUST_USE plim_status plim_exec_check_index(const plim_exec *exec, int32_t plan_index);

/* Give the arena to plan `plan_index` (PLIM_NONE: none). Drops the outputs of the last step, the inputs written for
 * another plan, and plans of plan switches. */
void plim_exec_claim(plim_exec *exec, int32_t plan_index);

/* Does the value of an input hold its contents: has it been written since the last step, or have its parts? O(1) if it
 * has, otherwise O(values x parts). */
int plim_exec_is_written(const plim_exec_plan *exec_plan, int32_t value);

/* Queue the copies of a step's results. Called after its last command, before the wait for the device. */
PLIM_MUST_USE plim_status plim_exec_queue_results(plim_exec *exec, const plim_exec_plan *exec_plan);

/* PLIM_EUSAGE when the arena has shrunk below what the program's own plan needs. Ask before the claim: it drops values
 * that stay readable when a call is refused. */
PLIM_MUST_USE plim_status plim_exec_check_room(const plim_exec *exec, int32_t plan_index);

/* ---- each.c ---- */

/* Allocate the persistent storages once for all plans: they have equal offsets in each plan. */
PLIM_MUST_USE plim_status plim_each_open(plim_exec *exec);
/* Free every remaining allocation. */
void plim_each_close(plim_exec *exec);
/* Prepare command j: hand over the allocations of in-place pairs, free buffers that have ended, allocate buffers that
 * begin, and point the command's operands at them. */
PLIM_MUST_USE plim_status plim_each_command(plim_exec *exec, plim_exec_plan *exec_plan, int32_t j);
/* Allocate the buffer of an input that is about to be written, unless it has an allocation. */
PLIM_MUST_USE plim_status plim_each_input(plim_exec *exec, plim_exec_plan *exec_plan, int32_t buffer);
/* Free all buffers of the plan but those of persistent storages: outputs, inputs, buffers of a step that failed. */
void plim_each_free_transient(plim_exec *exec, plim_exec_plan *exec_plan);

#endif
