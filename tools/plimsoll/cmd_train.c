/* plimsoll train: the whole chain, then the table. */
#include <stdio.h>
#include <string.h>

#include "runtime/device/vram.h"
#include "runtime/graph/sibling.h"
#include "runtime/train/checkpoint.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/page_options.h"
#include "tools/plimsoll/run_train.h"
#include "tools/plimsoll/session.h"

static plim_status prepare(session *s) {
  PLIM_TRY(session_device(s));
  PLIM_TRY(session_vram(s));
  PLIM_TRY(session_data(s));
  PLIM_TRY(session_program(s));
  PLIM_TRY(session_planning(s));
  return session_plan(s);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Two steps of the run, then PLIM_ENOFIT when the GPU holds more than --vram. */
static plim_status first_steps(run *r) {
  session *s = r->s;
  if (s->vram_bytes == 0) return PLIM_OK;
  PLIM_TRY(run_steps(r, smaller(r->total, 2)));
  return plim_vram_check(s->device, s->vram_bytes, plim_exec_arena_bytes(plim_trainer_exec(r->trainer)));
}

/* The last epoch may be a part of one. */
static void print_epoch(const run *r, int64_t epoch) {
  int64_t done = plim_trainer_steps(r->trainer), into = done % epoch, number = (done - 1) / epoch + 1;
  printf("epoch %lld", (long long)number);
  if (into > 0) printf(" (%lld of %lld steps)", (long long)into, (long long)epoch);
  const double share = (double)r->test.correct * 100 / (double)r->test.counted;
  if (r->s->source.net.context > 0) {
    printf(": loss %.4f, test %.4f nats a token, %.2f %% of next tokens predicted\n", r->loss, r->test.loss, share);
  } else {
    printf(": loss %.4f, test accuracy %.2f %%\n", r->loss, share);
  }
  (void)fflush(stdout);
}

/* Epoch by epoch, so that each ends with an evaluation. */
static plim_status run_epochs(run *r) {
  int64_t epoch = plim_trainer_epoch_steps(r->trainer);
  while (plim_trainer_steps(r->trainer) < r->total) {
    int64_t done = plim_trainer_steps(r->trainer), left = r->total - done, steps = epoch - done % epoch;
    PLIM_TRY(run_steps(r, steps < left ? steps : left));
    if (session_computes(r->s)) PLIM_TRY(run_evaluate(r));
    progress_clear(&r->s->bar);
    if (!r->s->o->json && r->total > epoch && session_computes(r->s)) print_epoch(r, epoch);
  }
  return PLIM_OK;
}

static void add_arena_replay(figures *f, const plim_replay_counts *counts) {
  figures_count(f, 0, "evictions", "evictions", counts->evictions);
  figures_note(f, 0, ", %lld recomputations, %lld blocks looked at in %.1f ms", (long long)counts->recomputes,
               (long long)counts->blocks_scanned, (double)counts->search_ns / 1e6);
  figures_count(f, 0, "recomputations", NULL, counts->recomputes);
  figures_real(f, 0, "search_seconds", NULL, "%.6f", (double)counts->search_ns / 1e9);
}

static void add_heap(figures *f, const heap_arena *heap) {
  char name[64];
  figures_text(f, 0, "allocator", "allocator", heap_name(name, sizeof name));
  figures_bytes(f, 0, "allocated_peak_bytes", "allocated, peak", heap->peak);
  figures_bytes(f, 0, "allocator_resident_bytes", "allocator, resident", heap_arena_resident(heap));
}

/* A checkpoint may be where the run was to end, or beyond. */
static void add_nothing(figures *f, const run *r) {
  int64_t done = plim_trainer_steps(r->trainer);
  figures_count(f, 0, "steps", "steps", 0);
  figures_note(f, 0, ": nothing to do, %s is at step %lld%s %lld", r->s->o->load ? r->s->o->load : "the run",
               (long long)done, done > r->total ? ", beyond this run's" : " of", (long long)r->total);
}

static void print_table(const run *r) {
  const session *s = r->s;
  int heap = session_uses_heap(s);
  const plim_exec *exec = plim_trainer_exec(r->trainer);
  const int64_t arena = heap ? heap_arena_resident(&s->heap) : plim_exec_first_bytes(exec); /* it never grows */
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  run_figures_setting(&f, s);
  run_figures_plan(&f, 0, s, s->program);
  paging_figures_trial(&f, &s->prep.trial);
  run_figures_measured(&f, 0, r);
  if (r->times.count == 0) add_nothing(&f, r);
  if (s->o->online) figures_text(&f, 0, "online", "online policy", s->o->online);
  if (s->o->online || strcmp(s->o->addresses, "arena") == 0) add_arena_replay(&f, &s->prep.replay);
  run_figures_last(&f, s);
  limits_figures(&f, &s->limits);
  retime_figures(&f, s->o, &s->retime);
  run_figures_retimed(&f, r);
  if (s->prep.room_bytes > 0) {
    figures_bytes(&f, 0, "arena_room_bytes", "room for the arena", s->prep.room_bytes);
    figures_note(&f, 0, " more than planned for, since it moves nothing");
  }
  if (heap) add_heap(&f, &s->heap);
  if (session_computes(s)) {
    outside o = run_outside(s, arena, paging_resident_bytes(exec));
    run_figures_outside(&f, &o);
    paging_figures_resident(&f, exec, arena, o.total);
  }
  figures_real(&f, 0, "seconds", "seconds", "%.1f",
               r->begin_ns > 0 ? (double)(plim_now_ns() - r->begin_ns) / 1e9 : 0.0);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

/* What was traced is kept also when the run was stopped. */
static plim_status end_trace(run *r, plim_status status) {
  const plim_program *p = r->s->program;
  plim_status ended = plim_trace_end(r->trace);
  r->trace = NULL;
  if (ended == PLIM_OK) {
    ended = plim_sibling_save_trace(p->graph[PLIM_PROGRAM_TRAIN], p->plan[PLIM_PROGRAM_TRAIN], r->s->o->trace);
  }
  return status == PLIM_OK ? ended : status;
}

/* What was trained is kept also when the run was stopped; `status` stays then. */
static plim_status save_weights(const run *r, plim_status status) {
  plim_status saved = plim_checkpoint_save(r->trainer, r->s->o->save);
  return saved == PLIM_OK ? status : saved;
}

static plim_status train(session *s) {
  static run r; /* step times make it large */
  plim_status status = PLIM_OK;
  r.s = s;
  r.total = session_steps(s);
  PLIM_TRY_OR_DONE(session_check_steps(s));
  PLIM_TRY_OR_DONE(session_trainer(s, s->program, session_total_steps(s), &r.trainer));
  if (s->o->output) PLIM_TRY_OR_DONE(session_save_plan(s));
  if (s->o->load) PLIM_TRY_OR_DONE(plim_checkpoint_load(r.trainer, s->o->load));
  numerics_tell_resumed(s);
  if (s->o->trace)
    PLIM_TRY_OR_DONE(plim_trace_begin(s->program->graph[PLIM_PROGRAM_TRAIN], s->program->plan[PLIM_PROGRAM_TRAIN],
                                      s->o->trace, &r.trace));
  status = first_steps(&r);
  if (status == PLIM_OK) status = run_epochs(&r);
  progress_clear(&s->bar);
  if (r.trace) status = end_trace(&r, status);
  int stopped = status == PLIM_ECANCEL && r.times.count > 0; /* between two steps */
  if ((status == PLIM_OK || stopped) && s->o->save) status = save_weights(&r, status);
  if (status == PLIM_OK || stopped) {
    print_table(&r);
    s->answered = 1;
  }
done:
  plim_trace_abandon(r.trace);
  plim_trainer_close(r.trainer);
  r.s = NULL; /* it ends here, the run stays */
  return status;
}

static int run_train(const options *o) {
  session s;
  plim_status status = session_open(&s, o);
  if (status == PLIM_OK) status = prepare(&s);
  if (status == PLIM_OK) status = train(&s);
  return session_close(&s, status);
}

const command command_train = {
    .name = "train",
    .mask = COMMAND_TRAIN,
    .summary = "train a model within a memory budget",
    .about =
        "Train a model inside a fixed number of bytes: on images, on a text, or on noise.\n\n"
        "Builds the model's training step, measures what each op costs on this machine (cached), plans what to "
        "keep and what to recompute so that everything fits into --memory, checks the plan, and trains from one arena "
        "of that size. Recomputation changes no bit of the weights; the choice of kernels may: with --numerics fastest "
        "they are those of the unlimited run, bit for bit.",
    .after =
        "EXAMPLES\n"
        "  plimsoll train --model resnet20 --memory 64MiB --epochs 3 --save w.ckpt\n"
        "  plimsoll train --model resnet20 --online best --memory 64MiB -o online.json\n"
        "  plimsoll train -m tinyres --data synthetic --memory 50% --steps 100 --json\n\n"
        "ENVIRONMENT\n"
        "  PLIM_CUDA_LIBS           folders with cuBLAS and cuDNN, colons between them\n"
        "  PLIM_CUDNN, PLIM_CUBLAS  the library's file, or none; no other is tried\n\n"
        "FILES\n"
        "  /usr/share/datasets/fashion-mnist  Debian package dataset-fashion-mnist\n"
        "  $XDG_CACHE_HOME/plimsoll           measured profiles, plans that were found\n"
        "  With --trace t.jsonl plan and graph are written beside it. Weights and trace\n"
        "  are kept after Ctrl-C, SIGTERM and SIGHUP as well.\n",
    .run = run_train,
};
