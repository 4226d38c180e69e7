/* What the commands share: from options to a context, a device, a data set, a program with plans, a trainer. Each
 * stage needs the ones above it. Failures leave their sentence in the context; session_close prints it. */
#ifndef PLIM_TOOLS_PLIMSOLL_SESSION_H
#define PLIM_TOOLS_PLIMSOLL_SESSION_H

#include "runtime/arena/replay_search.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/preparation.h"
#include "runtime/train/trainer.h"
#include "tools/plimsoll/heap.h"
#include "tools/plimsoll/options.h"
#include "tools/plimsoll/progress.h"
#include "tools/plimsoll/refusal_text.h"
#include "tools/plimsoll/training.h"

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

/* The bytes of --vram, 0 without the option; the device must be open. */
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

#endif
