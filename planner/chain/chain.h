/* A step as a chain: its forward part with checkpoints in it; Rotor's recurrence, which decides moves over a chain of
 * stages; what stages cost; and the runner that makes a schedule of the moves. */
#ifndef PLIM_PLANNER_CHAIN_CHAIN_H
#define PLIM_PLANNER_CHAIN_CHAIN_H

#include "planner/core/problem.h"

/* ==== forward part (chain_forward.c) ==== */

/* The forward part of a step: what checkpoints are chosen from. */

/* The ops marked as forward, without effects. Where all ops are (a plain graph): the ops up to the one of program order
 * after which the most bytes are alive. */
typedef struct plim_forward {
  const plim_problem *problem;
  int32_t n;
  int32_t *op;          /* [n] in program order */
  uint8_t *is_forward;  /* [n_ops] */
  uint8_t *is_cut;      /* [n_ops] 1: an articulation point. Nothing written before it is read after it in the forward
                           part */
  int32_t *last_reader; /* [n_items] last reader in the forward part, -1 */
} plim_forward;

/* O(graph). */
PLIM_MUST_USE plim_status plim_forward_make(const plim_problem *problem, plim_forward *out);
void plim_forward_free(plim_forward *forward);

/* ==== demand (demand.c) ==== */

/* Running ops on demand: what an op misses is recomputed first, depth first, from what is available. */

typedef struct plim_demand {
  const plim_problem *problem;
  plim_schedule *out; /* borrowed; runs are appended */
  int32_t runs_limit; /* of the schedule */
  uint8_t *available; /* [n_items] 1: the latest value may be read. The caller clears it for what is evicted */
  uint8_t *ran;       /* [n_ops] 1: the op has run */
  int32_t *stack;     /* [n_ops] scratch */
  int32_t *seen;      /* [n_ops] scratch: reads of each op on the stack that are available */
} plim_demand;

PLIM_MUST_USE plim_status plim_demand_make(const plim_problem *problem, plim_demand *out);
void plim_demand_free(plim_demand *demand);

/* Begin anew: an empty schedule, nothing available, nothing has run. */
void plim_demand_begin(plim_demand *demand, plim_schedule *out, int32_t runs_limit);

/* Append a run of v with its fastest choice, and before it the runs that it misses. Where a repeat would come after an
 * update that its op must not see, the older value is read in its place, and is alive longer. PLIM_ENOFIT: more than
 * runs_limit runs. PLIM_ECANCEL: cancelled, or the context's deadline is over. O(reads of the ops that run). */
PLIM_MUST_USE plim_status plim_demand_run(plim_demand *demand, int32_t v);

/* ==== checkpoints (checkpoints.c) ==== */

/* Plans by checkpoints: what is kept determines what is recomputed. A set of forward ops goes in, a schedule comes out.
 *
 * Example: forward ops a b c d read the one before; backward ops d' c' b' a' each read the output of one of them. Every
 * second op is a checkpoint, so the outputs of b and d are kept. The schedule is
 *   a b c d d' c c' b' a a'
 * The output of a is evicted after b, that of c after d. c' misses its operand, so c runs once more, from the output of
 * b. At most three outputs of the forward part are alive (b, c and d, while d runs), in place of four. */

/* Where checkpoints may stand. cuts: articulation points of the forward part. linear: every op of it, as if it were a
 * chain. */
typedef enum plim_checkpoint_kind { PLIM_CHECKPOINT_CUTS, PLIM_CHECKPOINT_LINEAR } plim_checkpoint_kind;

typedef struct plim_checkpoints {
  const plim_problem *problem;
  plim_forward forward;
  plim_demand demand;
  uint8_t *kept; /* [n_ops] the outputs of this op are checkpoints */
} plim_checkpoints;

PLIM_MUST_USE plim_status plim_checkpoints_new(const plim_problem *problem, plim_checkpoints **out);
void plim_checkpoints_free(plim_checkpoints *checkpoints); /* NULL is legal */

/* Keep every k-th candidate. Returns the number of candidates. Source: Chen, Xu, Zhang, Guestrin, 2016. */
int32_t plim_checkpoints_every(plim_checkpoints *checkpoints, plim_checkpoint_kind kind, int32_t k);

/* The schedule that follows from a set of checkpoints. It is program order; an item of the forward part that is no
 * checkpoint is evicted after its last reader there, and recomputed on demand when the rest of the step reads it.
 *   hold       in  1: what was recomputed stays, so a segment between checkpoints is recomputed once; the segment after
 *                  the last checkpoint is not evicted at all. 0: only what the op reads stays: fewest bytes, many runs
 *   runs_limit  in  PLIM_ENOFIT where more would be needed */
PLIM_MUST_USE plim_status plim_checkpoints_schedule(plim_checkpoints *checkpoints, int hold, int32_t runs_limit,
                                                    plim_schedule *out);

/* Call `visit` for greedy sets, first at cuts, then at all forward ops. The threshold starts at all forward bytes and
 * falls by one part in `parts` (at least 2) each time. A set of as many checkpoints as the one before is left out. Ends
 * with the first status that is not PLIM_OK. */
typedef plim_status plim_checkpoints_visit(void *user, plim_checkpoints *checkpoints);
PLIM_MUST_USE plim_status plim_checkpoints_sweep(plim_checkpoints *checkpoints, int32_t parts,
                                                 plim_checkpoints_visit *visit, void *user);

/* ==== recurrence (rotor.c) ==== */

/* Rotor's recurrence: the fastest way forward and backward through a chain of unequal stages within so many bytes.
 *
 * value(i, j, m): least time to run forward and backward of stages i .. j within m units of memory, when state i lies
 * outside of them and what the tail hands from stage j + 1 to stage j lies inside. It is the least of
 *   back   i = j: run the stage's tail from state i alone
 *   leave  advance to a state k, hold it, do k .. j, release it, do i .. k - 1
 *   tape   run stage i and hold what one of its options says, do i + 1 .. j, run the stage's tail.
 * The optimum among plans that never evict a state before its use. It is no lower bound for other plans.
 *
 * Example: stages 0 and 1 take 1 ns forward and 1 ns back, and hold nothing but their states, one unit each.
 *   tape stage 0   state 1 is held beside state 0: forward 0, forward 1, back 1, back 0: 4 ns
 *   leave to 1     forward 0 without its tape, hold state 1, do stage 1, release it; then stage 0 once more: 5 ns
 * `tape` needs room for what stage 0 holds while stage 1 is at work, `leave` only for state 1. */

enum { PLIM_ROTOR_OPTIONS = 6 };

typedef struct plim_rotor_option {
  int64_t time_ns;       /* forward, what is recomputed, and the stage's tail */
  int64_t held_bytes;    /* from its forward to its tail, state i + 1 included */
  int64_t forward_bytes; /* most bytes during forward, state i left out */
  int64_t back_bytes;    /* most bytes during the stage's tail, state i left out */
} plim_rotor_option;

typedef struct plim_rotor_stage {
  int64_t forward_ns, forward_bytes; /* with nothing held but state i + 1; state i left out */
  int64_t back_ns, back_bytes;       /* the stage's tail from state i alone; state i left out */
  int64_t handed_bytes;              /* what the tail hands from stage i + 1 to this one */
  int32_t n_options;
  plim_rotor_option option[PLIM_ROTOR_OPTIONS];
} plim_rotor_stage;

typedef struct plim_rotor_chain {
  int32_t n;                     /* stages */
  const plim_rotor_stage *stage; /* [n] */
  const int64_t *state_bytes;    /* [n][n] of state k beyond what is in state i, at [i][k] */
} plim_rotor_chain;

typedef struct plim_rotor {
  plim_context *ctx;
  const plim_rotor_chain *chain;
  int32_t n_units;
  int64_t unit_bytes;
  int64_t *value; /* [n (n + 1) / 2][n_units + 1] */
} plim_rotor;

enum { PLIM_ROTOR_NEVER = -1, PLIM_ROTOR_BACK = -2, PLIM_ROTOR_TAPE = -3 };

typedef struct plim_rotor_choice {
  int32_t state;  /* the state to leave, or one of the above */
  int32_t option; /* of a tape */
} plim_rotor_choice;

/* Fill the table; bytes are rounded up to units. The chain must outlive it. O(n^3 x units) time, O(n^2 x units) memory.
 * PLIM_ECANCEL when the context was cancelled. */
PLIM_MUST_USE plim_status plim_rotor_make(plim_context *ctx, const plim_rotor_chain *chain, int32_t n_units,
                                          int64_t unit_bytes, plim_rotor **out);
void plim_rotor_free(plim_rotor *rotor); /* NULL is legal */

/* Least time of stages i .. j within m units (PLIM_TIME_INFINITE: it cannot be done), what attains it, and the units
 * that are left for the inner part of that choice. */
int64_t plim_rotor_time(const plim_rotor *rotor, int32_t i, int32_t j, int32_t m);
plim_rotor_choice plim_rotor_choose(const plim_rotor *rotor, int32_t i, int32_t j, int32_t m);
int32_t plim_rotor_inner_units(const plim_rotor *rotor, int32_t i, int32_t m, plim_rotor_choice choice);

/* ==== stages (chain_stages.c) ==== */

/* A step as a chain of stages: the forward part cut into pieces, and after it the rest of the step (the tail), each
 * part of which goes back to one stage.
 *
 * State k is what stages before k hand on to stages k and later of the forward part. The tail's part of stage i is its
 * ops, in program order, that can run once state i is there and stage i has run. */

typedef struct plim_stages {
  const plim_problem *problem;
  plim_forward forward;
  int32_t n;
  int32_t *first;      /* [n + 1] stage i is forward.op[first[i] .. first[i + 1]) */
  int32_t *tail;       /* [n + 1] its part of the tail: ops tail[i + 1] .. tail[i], effects of the forward part left
                          out; tail[n] is the first op after the forward part, tail[0] is n_ops */
  int32_t *made;       /* [n_items] the stage that makes it, -1: none */
  int32_t *read;       /* [n_items] the last stage whose forward ops read it, or `made` */
  plim_ids *state;     /* [n + 1] items of state k */
  int32_t *state_item; /* the lists */
  int64_t n_state_items;
} plim_stages;

/* Stages that end at each candidate; where there would be more than `max_stages`, neighbours are joined so that all
 * make about as many bytes. */
PLIM_MUST_USE plim_status plim_stages_new(const plim_problem *problem, plim_checkpoint_kind kind, int32_t max_stages,
                                          plim_stages **out);
/* Is the item, made in stage i or later and in no state, read by the tail after its part of stage i? */
int plim_stages_is_handed_on(const plim_stages *stages, int32_t item, int32_t i);
void plim_stages_free(plim_stages *stages); /* NULL is legal */

/* ==== costs of stages (stage_costs.c) ==== */

/* What stages cost: the data of Rotor's recurrence for a chain of stages of a real step. */

typedef struct plim_stage_costs {
  const plim_stages *stages;
  plim_rotor_chain chain;
  plim_rotor_stage *stage; /* [n] */
  int64_t *state_bytes;    /* [n][n] */
  int32_t *drop_at;        /* [n_items] option o of the stage that makes it holds it when o < drop_at */
} plim_stage_costs;

/* Options of a stage: option 0 holds all that the tail reads of it, each further one a quarter of the bytes less, what
 * is cheapest to recompute for its bytes first. Each is run on the stage alone, and its bytes are counted. */
PLIM_MUST_USE plim_status plim_stage_costs_new(const plim_stages *stages, plim_stage_costs **out);
void plim_stage_costs_free(plim_stage_costs *costs); /* NULL is legal */

/* ==== runner (stage_runner.c) ==== */

/* From moves on a chain of stages to a schedule. What a move misses is recomputed on demand, so every sequence of moves
 * gives a valid schedule. Moves only decide what is evicted. */

typedef struct plim_stage_runner {
  const plim_stages *stages;
  plim_demand demand;
  int32_t *held;          /* [n_items] how many checkpoints hold it */
  const int32_t *drop_at; /* [n_items] see plim_stage_tape; NULL: options are not used */
  int32_t next;           /* the first op of program order that has not run, as long as the forward part runs */
  int32_t may_linger;     /* 1: a released checkpoint stays until the stage before it is done */
  plim_schedule schedule;
} plim_stage_runner;

PLIM_MUST_USE plim_status plim_stage_runner_make(const plim_stages *stages, plim_stage_runner *out);
void plim_stage_runner_free(plim_stage_runner *runner);

void plim_stage_begin(plim_stage_runner *runner, int32_t runs_limit);

/* Run the forward ops of stage i up to state i + 1, and evict the rest of what it read and wrote. */
PLIM_MUST_USE plim_status plim_stage_advance(plim_stage_runner *runner, int32_t i);
/* Hold state k; release it. */
void plim_stage_keep(plim_stage_runner *runner, int32_t k);
void plim_stage_release(plim_stage_runner *runner, int32_t k);
/* Run the forward ops of stage i and hold state i + 1 and what the tail reads of the rest, except items with
 * drop_at <= option; and let go of it. */
PLIM_MUST_USE plim_status plim_stage_tape(plim_stage_runner *runner, int32_t i, int32_t option);
void plim_stage_untape(plim_stage_runner *runner, int32_t i, int32_t option);
/* Run the tail's part of stage i, then evict what was recomputed for it. The last stage runs forward first. */
PLIM_MUST_USE plim_status plim_stage_back(plim_stage_runner *runner, int32_t i);

/* ==== tuning constants ==== */

/* Of planner/chain, in one table. They were set by trial. */
static const struct plim_chain_tuning {
  int32_t sweep_range; /* thresholds of a sweep go down to about e^-this of all bytes. Changes plans */
  int32_t run_ns;      /* ns that a run on demand takes, by guess: for deadlines */
} chain_tuning = {.sweep_range = 7, .run_ns = 100};

#endif
