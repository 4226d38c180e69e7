/* What the commands share: from options to a context, a device, a data set, a program with plans, a trainer. Each
 * stage needs the ones above it. Failures leave their sentence in the context; session_close prints it.
 *
 * Files: session.c, numerics.c (which kernels may run, and which do), refusal_text.c (what a budget that is too small
 * gets), training.c (budgets by step, times in place, lengths, rates and the trainer). */
#ifndef PLIM_TOOLS_PLIMSOLL_SESSION_H
#define PLIM_TOOLS_PLIMSOLL_SESSION_H

#include <jansson.h>

#include "runtime/arena/replay_search.h"
#include "runtime/program/program_source.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/preparation.h"
#include "runtime/train/trainer.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/heap.h"
#include "tools/plimsoll/options.h"

/* Budgets by step (--memory-at). */
typedef struct limits {
  int32_t n;
  plim_budget_change row[OPTION_VALUES]; /* by step */
  int32_t n_reports;
  plim_budget_report report[OPTION_VALUES];
} limits;

/* Times in place (--retime). */
typedef struct retime {
  int reported;
  plim_retime_report report;
} retime;

typedef struct refusal {
  int64_t budget_bytes, smallest_bytes, bound_bytes;
  int32_t largest_batch;       /* found to fit; 0: not even one image does; -1: not looked for */
  int64_t smallest_auto_bytes; /* where the numerics were fixed: the smallest budget with any; else 0 */
  int64_t online_bytes;        /* into which the online policy fits; 0: not asked for, -1: none was found */
} refusal;

typedef struct session {
  const options *o;
  plim_context *ctx;
  progress bar;
  int64_t begin_ns;   /* of the process */
  int64_t reserve_ns; /* of --time-limit, for what comes after planning */
  plim_device *device;
  plim_device *checked; /* the one that --device check decorates, else NULL */
  int64_t vram_bytes;   /* of --vram; 0: not given */
  plim_dataset *dataset;
  plim_program *program;
  plim_preparation prep;               /* of the program; its keep-all plan is the measure of percentages */
  plim_program_source source;          /* of all programs of this session; its net has the layout */
  plim_profiler_options profiler;      /* of the source */
  plim_profiler_report profiling;      /* of all measuring but that of samples */
  int makes_page_file;                 /* 1: --page-file was not there before */
  plim_paging paging;                  /* of --memory cpu=SIZE,host=SIZE */
  plim_powers powers;                  /* of --objective energy */
  plim_plan_options planning;          /* budget and numerics as the options say */
  const char **numerics_key;           /* [n_ops] when numerics are given op by op */
  plim_plan *numerics_plan;            /* what --numerics FILE names, a plan or */
  plim_checkpoint_info *numerics_file; /* a checkpoint: it holds the numerics keys */
  plim_checkpoint_info *saved;         /* what --load names */
  int32_t answered; /* 1: the object that --json asks for has been printed, also if the command fails then */
  refusal refusal;  /* set when the budget is too small */
  heap_arena heap;  /* of --addresses jemalloc */
  limits limits;    /* of --memory-at */
  retime retime;    /* of --retime */
} session;

/* Check the names among the options, make the context, watch Ctrl-C. */
plim_status session_open(session *s, const options *o);

/* What is left of --time-limit for planning, at least 1 ns. The limit is that of the process; what is reserved for
 * writing is half of what reading took, until session_reserve is called, and at most a tenth. */
void session_reserve(session *s);
int64_t session_left_ns(const session *s);

/* --optimizer, or that of the model; as it is named, so sgd with a momentum too. */
plim_optimizer session_optimizer(const session *s);

plim_status session_device(session *s);
plim_status session_data(session *s);

/* Read --vram into s->vram_bytes; 0 without it. */
plim_status session_vram(session *s);

/* Graphs and profiles in the layout asked for, or the faster one. */
plim_status session_program(session *s);

/* Images after the last whole batch of an epoch that are to be trained: 0 unless --last-batch says so. */
int32_t session_last_batch(const session *s);

/* Budget and numerics. */
plim_status session_planning(session *s);

/* Threads that plan: --threads; else those of this process where a time limit ends the search, and one where effort
 * does, so that the plan is the same on every machine. */
int32_t session_planner_threads(const options *o);

/* Plan both steps, or use --plan. When the budget is too small, the sentence says what would work. */
plim_status session_plan(session *s);

/* Write the plan of the training step to -o, and the graph that it needs to be checked or read beside it. */
plim_status session_save_plan(const session *s);

/* Does the device compute anything? sim does not. */
int session_computes(const session *s);

/* Print the sentence of a failure, free everything; the exit status. */
int session_close(session *s, plim_status status);

/* A command that is one function: open, work, close. */
int session_run(const options *o, plim_status (*work)(session *s));

/* ==== numerics: everything that decides bits ==== */

/* Set the session's planning by --numerics; without it a run keeps the numerics of the checkpoint that it loads. */
plim_status numerics_choose(session *s);

/* Plan with the numerics of `plan`, which must outlive `planning`. */
plim_status numerics_of_plan(session *s, const plim_plan *plan, plim_plan_options *planning);

/* Ops whose kernel gives other bits than that of the unlimited run. */
int numerics_changed(const session *s, const plim_plan *plan);

/* The first line of output, where a plan's numerics are not those of the unlimited run. Nothing with --json, whose
 * object has the number. */
void numerics_tell(const session *s, const plim_plan *plan);

/* What a run changes against the checkpoint that it continues from. */
void numerics_tell_resumed(const session *s);

/* What fixed the numerics of the session's planning, as in "batch 8 and the kernels of the unlimited run", from " and"
 * on; "" where nothing did. And what to do when they fit into no budget wanted. Static texts. */
const char *numerics_fixed_by(const session *s);
const char *numerics_remedy(const session *s);

void numerics_close(session *s);

/* ==== refusals: the smallest budget that works, what is proven, and the largest batch ==== */

/* Each fills s->refusal and returns PLIM_ENOFIT with the sentence; another status when the search itself failed. */

/* Of a plan that pages, with what is known of its smallest budget already. */
plim_status refusal_explain_floor(session *s, const plim_plan_floor *floor);

/* Of a graph of the options. The budget is that of `wanted`; `known` is what planning knows of it, NULL: nothing. */
plim_status refusal_explain_graph(session *s, const plim_graph *graph, const plim_profile *profile,
                                  const plim_plan_options *wanted, const plim_plan_floor *known);

/* The session's preparation failed with PLIM_ENOFIT: the sentence of its stage, with --memory-at or --vram where they
 * set the budget. */
plim_status refusal_explain_preparation(session *s);

/* The device had no room for a program's arena, as the context says: the same with what to do about it. */
plim_status refusal_explain_room(const session *s, const plim_program *program);

/* Add to the context's sentence into how much the policy of --online fits: s->refusal.online_bytes. PLIM_ENOFIT. */
plim_status refusal_add_policy(session *s);

/* The same as figures, for results that are printed all the same. */
void refusal_figures(figures *f, int column, const refusal *r);

void refusal_json(const refusal *r, json_t *object);

/* ==== budgets by step ==== */

/* Read the options. The session must know what percentages are of. */
plim_status limits_parse(session *s);

/* Those of steps that the run reaches: the first so many. A budget of a step that never comes needs no plan. */
int32_t limits_reached(const session *s);

/* Is the budget to change in this step, or before it? */
int limits_plan_at(const limits *l, int64_t step);

/* What happened, as rows. */
void limits_figures(figures *f, const limits *l);

/* ==== times in place ==== */

/* What came of it, as a row. */
void retime_figures(figures *f, const options *o, const retime *r);

/* ==== the trainer ==== */

/* The learning rates of the options, and of the optimizer where they say nothing. `steps`: its length. */
plim_rate_schedule session_schedule(const session *s, int64_t steps);

/* How the options say that it trains; steps: the length of the learning-rate schedule. */
plim_trainer_options session_trainer_options(const session *s, int64_t steps);

/* A trainer over any program of this session; steps: the length of the learning-rate schedule. --addresses jemalloc
 * applies to the session's own program. */
plim_status session_trainer(session *s, plim_program *program, int64_t steps, plim_trainer **out);

/* Does every value of the session's program get its own allocation? */
int session_uses_heap(const session *s);

/* The step at which the options let training stop, from the first one on. */
int64_t session_steps(const session *s);

/* The length of the learning-rate schedule: --total-steps; else the steps of --epochs, where that is given, or
 * session_steps, whichever are more. */
int64_t session_total_steps(const session *s);
/* PLIM_EUSAGE when the run is longer than its schedule. */
PLIM_MUST_USE plim_status session_check_steps(const session *s);

#endif
