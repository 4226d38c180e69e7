/* Steps, evaluation and figures of a run. */
#include "tools/plimsoll/run_train.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/name.h"
#include "runtime/base/size.h"
#include "runtime/device/device_cuda.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/page_options.h"
#include "tools/plimsoll/pictures.h"
#include "tools/plimsoll/session.h"
#include "tools/plimsoll/trace/trace_spaces.h"

enum { LINE = 120 };

/* Of the median step. */
static double images_per_second(const run *r) {
  int64_t median = times_percentile(&r->times, 50);
  return median > 0 ? (double)r->s->o->batch * 1e9 / (double)median : 0;
}

static void trace_step(const run *r, const plim_step_report *report) {
  plim_exec *exec = plim_trainer_exec(r->trainer);
  int64_t done = r->times.count; /* this step among them */
  int traced = plim_exec_plan_of(exec, report->plan_index) == r->s->program->plan[PLIM_PROGRAM_TRAIN];
  if (traced && done > RUN_TRACE_FROM && done <= RUN_TRACE_FROM + RUN_TRACE_STEPS) {
    plim_exec_timeline line = plim_exec_last_timeline(exec, PLIM_PROGRAM_TRAIN);
    if (line.begin_ns) {
      (void)plim_trace_add_queues(r->trace, report->step, line.begin_ns, line.time_ns, line.waited_ns);
    } else {
      (void)plim_trace_add(r->trace, report->step, plim_exec_times(exec, PLIM_PROGRAM_TRAIN));
    }
  }
  if (done == RUN_TRACE_FROM) plim_exec_timing_begin(exec);
  if (done == RUN_TRACE_FROM + RUN_TRACE_STEPS) plim_exec_timing_end(exec);
}

/* What this thread allocated since the last call belongs to the step that ended, unless a trace was written or another
 * plan was made. */
static void count_hidden(run *r, int64_t step) {
  int64_t ever = heap_thread_allocated(), spent = ever - r->allocated_ever;
  r->allocated_ever = ever;
  if (ever < 0) r->hidden_bytes = -1;
  if (r->trace || limits_plan_at(&r->s->limits, step)) return;
  if (ever >= 0 && r->times.count > 1 && spent > r->hidden_bytes) r->hidden_bytes = spent;
}

static void measure_peak(run *r) {
  int64_t bytes = plim_exec_measured(plim_trainer_exec(r->trainer), PLIM_PROGRAM_TRAIN).space[0].peak_bytes;
  if (bytes > r->peak_bytes) r->peak_bytes = bytes;
}

static void show_step(run *r, const plim_step_report *report) {
  char left[HUMAN_BYTES], text[LINE];
  if (!r->s->bar.on) return;
  double seconds = (double)(plim_now_ns() - r->begin_ns) / 1e9;
  double rest = seconds / (double)r->times.count * (double)(r->total - r->times.count);
  (void)snprintf(text, sizeof text, "loss %.4f  %.0f images/s  %s left", r->loss,
                 (double)r->s->o->batch * 1e9 / (double)report->time_ns, human_seconds(rest, left));
  progress_draw(&r->s->bar, "train", r->times.count, r->total, text);
}

static void on_step(void *user, const plim_step_report *report) {
  run *r = user;
  times_add(&r->times, report->time_ns);
  if (r->s->retime.reported) times_add(&r->retimed, report->time_ns);
  times_add(&r->cpu_times, process_cpu_ns() - r->cpu_ns);
  count_hidden(r, report->step);
  measure_peak(r);
  if (r->trace) trace_step(r, report);
  if (r->times.count == 1) r->first_loss = report->loss;
  r->last_loss = report->loss;
  r->loss = r->times.count == 1 ? (double)report->loss : 0.95 * r->loss + 0.05 * (double)report->loss;
  show_step(r, report);
  plim_energy_meter_keep(&r->energy);
  r->cpu_ns = process_cpu_ns();
}

plim_status run_steps(run *r, int64_t steps) {
  if (r->begin_ns == 0) {
    r->begin_ns = plim_now_ns();
    plim_energy_meter_open(r->s->device, &r->energy);
  }
  r->allocated_ever = heap_thread_allocated();
  plim_energy_meter_start(&r->energy);
  r->cpu_ns = process_cpu_ns();
  plim_status status = plim_trainer_run(r->trainer, steps, on_step, r);
  plim_energy_meter_add(&r->energy);
  return status;
}

plim_status run_evaluate(run *r) {
  progress_draw(&r->s->bar, "test", 0, 0, "evaluating");
  PLIM_TRY(plim_trainer_evaluate(r->trainer, &r->test));
  r->tested = 1;
  return PLIM_OK;
}

/* ---- effort that changes nothing ---- */

static int32_t planner_row(const options *o) {
  return o->planner ? plim_name_find(plim_planner_name, o->planner) : 0;
}

/* Threads compute, too, where something is run; of a graph there is nothing but the plan. */
static int is_given(const options *o, plim_plan_effort effort) {
  switch (effort) {
    case PLIM_EFFORT_TIME:
      return o->time_limit > 0;
    case PLIM_EFFORT_ITERATIONS:
      return o->iterations > 0;
    case PLIM_EFFORT_THREADS:
      return o->graph && o->threads > 1;
    case PLIM_EFFORT_COPIES:
      return o->copies > 0;
  }
  return 0;
}

/* Who decides the schedule without planning: a policy, or a plan of earlier. A budget that changes, and on a GPU
 * retiming, ask the planner all the same. NULL: the planner. */
static const char *decided_by(const options *o) {
  int plans = o->memory_at.count > 0 || (o->plan && (o->retime > 0 || strncmp(o->device, "cuda", 4) == 0));
  return plans ? NULL : o->online ? o->online : o->plan;
}

void run_figures_effort(figures *f, int column, const options *o) {
  static const char *const name[] = {[PLIM_EFFORT_TIME] = "--time-limit",
                                     [PLIM_EFFORT_ITERATIONS] = "--iterations",
                                     [PLIM_EFFORT_THREADS] = "--threads",
                                     [PLIM_EFFORT_COPIES] = "--copies"};
  const char *other = decided_by(o);
  int32_t row = planner_row(o);
  char text[128];
  size_t used = 0;
  for (int e = PLIM_EFFORT_TIME; e <= PLIM_EFFORT_COPIES; e++) {
    if (!is_given(o, (plim_plan_effort)e) || (!other && plim_planner_obeys(row, (plim_plan_effort)e))) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", name[e]);
  }
  if (used == 0) return;
  figures_text(f, column, "without_effect", "without effect", text);
  figures_note(f, column, ": %s ignores it", other ? other : plim_planner_name(row));
}

/* ---- figures ---- */

/* Variants that the profile left out, the first with its reason. */
static void add_dropped(figures *f, const plim_graph *graph, const plim_profile *profile) {
  char text[FIGURES_TEXT];
  json_t *list = json_array();
  if (profile->n_dropped > 0) {
    const plim_dropped *d = &profile->dropped[0];
    (void)snprintf(text, sizeof text, "%d: %s of %s: %s%s", (int)profile->n_dropped, d->name, graph->op[d->op].name,
                   d->why, profile->n_dropped > 1 ? "; ..." : "");
    figures_text(f, 0, NULL, "variants dropped", text);
  }
  for (int32_t i = 0; i < profile->n_dropped; i++) {
    const plim_dropped *d = &profile->dropped[i];
    (void)json_array_append_new(
        list, json_pack("{s:s, s:s, s:s}", "op", graph->op[d->op].name, "variant", d->name, "why", d->why));
  }
  if (profile->n_dropped > 0) (void)json_object_set(f->object, "variants_dropped", list);
  json_decref(list);
}

void run_figures_setting(figures *f, const session *s) {
  char text[FIGURES_TEXT], threads[HUMAN_BYTES];
  const plim_machine *machine = &s->device->machine;
  const plim_graph *graph = s->program->graph[PLIM_PROGRAM_TRAIN];
  const char *math = plim_precision_name(plim_graph_precision(graph));
  char parts[HUMAN_BYTES] = "";
  if (s->o->accumulate > 1) (void)snprintf(parts, sizeof parts, " in %d micro-batches", (int)s->o->accumulate);
  (void)snprintf(text, sizeof text, "%s, batch %d%s, %s, %s, %s", s->o->model, (int)s->o->batch, parts, s->o->data,
                 plim_layout_name(s->source.net.layout), math);
  figures_text(f, 0, NULL, "model", text);
  (void)snprintf(text, sizeof text, "%s%s, %s, %s, %s", s->checked ? "check of " : "", machine->device,
                 human_items(machine->threads, "thread", threads), machine->isa, machine->library);
  figures_text(f, 0, NULL, "device", text);
  const char *missing = strcmp(machine->device, "cuda") == 0 ? plim_device_cuda_missing(s->device) : "";
  if (missing[0]) figures_note(f, 0, "; %s: slower convolutions", missing);
  const int64_t timing_event_ns =
      strcmp(machine->device, "cuda") == 0 ? plim_device_cuda_timing_event_ns(s->device) : -1;
  if (timing_event_ns >= 0) {
    figures_real(f, 0, "event_us", "event cost", "%.2f us", (double)timing_event_ns / 1e3);
    figures_note(f, 0, ", not part of the times");
  }
  if (s->device->builds) {
    figures_count(f, 0, "kernels_built", "kernels built", s->device->built);
    figures_note(f, 0, " by libraries");
  }
  if (s->profiling.left_out > 0) {
    figures_count(f, 0, "variants_left_out", "variants left out", s->profiling.left_out);
    figures_note(f, 0, ": there was no time to measure them (--profile-time)");
  }
  json_t *o = f->object;
  (void)json_object_set_new(o, "model", json_string(s->o->model));
  (void)json_object_set_new(o, "data", json_string(s->o->data));
  (void)json_object_set_new(o, "batch", json_integer(s->o->batch));
  (void)json_object_set_new(o, "accumulate", json_integer(s->o->accumulate));
  (void)json_object_set_new(o, "math", json_string(math));
  (void)json_object_set_new(o, "layout", json_string(plim_layout_name(s->source.net.layout)));
  (void)json_object_set_new(o, "parameters", json_integer(plim_graph_parameters(graph)));
  (void)json_object_set_new(o, "threads", json_integer(machine->threads));
  (void)json_object_set_new(o, "isa", json_string(machine->isa));
  (void)json_object_set_new(o, "library", json_string(machine->library));
  if (missing[0]) (void)json_object_set_new(o, "libraries_missing", json_string(missing));
  if (s->program->profile[PLIM_PROGRAM_TRAIN]) add_dropped(f, graph, s->program->profile[PLIM_PROGRAM_TRAIN]);
}

static void add_cap(figures *f, int column, const session *s, const plim_plan *plan) {
  if (plan->budget_bytes == PLIM_BYTES_UNLIMITED) {
    figures_text(f, column, NULL, "budget", "none");
  } else {
    figures_bytes(f, column, "budget_bytes", "budget", plan->budget_bytes);
    figures_note(f, column, " (%.1f %% of keep-all)",
                 (double)plan->budget_bytes * 100 / (double)s->prep.keep_all->arena_bytes);
    if (s->o->plan && s->o->memory && plan == s->program->plan[PLIM_PROGRAM_TRAIN])
      figures_note(f, column, ", as %s says; it fits into --memory %s", s->o->plan, s->o->memory);
    if (session_uses_heap(s)) figures_note(f, column, " of the plan; allocations have none");
  }
}

static void add_numerics(figures *f, int column, const session *s, const plim_plan *plan) {
  int changed = numerics_changed(s, plan);
  figures_text(f, column, "arithmetic", NULL, plan->numerics.hash);
  figures_count(f, column, "labels_changed", NULL, changed);
  figures_text(f, column, NULL, "numerics", changed == 0 ? "of the unlimited run" : "");
  if (changed > 0) {
    figures_note(f, column, "%d of %d ops give other bits than their fastest variant", changed,
                 s->program->graph[PLIM_PROGRAM_TRAIN]->n_ops);
  }
}

void run_figures_plan(figures *f, int column, const session *s, const plim_program *program) {
  const plim_plan *plan = program->plan[PLIM_PROGRAM_TRAIN];
  double overhead = plim_plan_overhead_percent(plan), bound = plim_plan_bound_percent(plan);
  char by[HUMAN_BYTES];
  add_cap(f, column, s, plan);
  figures_bytes(f, column, "arena_bytes", "arena", plim_program_arena_bytes(program));
  figures_bytes(f, column, "peak_bytes", "peak, planned", plan->peak_bytes);
  paging_figures_plan(f, column, program->graph[PLIM_PROGRAM_TRAIN], plan);
  figures_bytes(f, column, "keep_all_bytes", f->columns == 1 ? "keep-all" : NULL, s->prep.keep_all->arena_bytes);
  figures_real(f, column, "overhead_percent", "overhead, predicted", "%.2f %%", overhead);
  paging_figures_overhead(f, column, plan);
  energy_figures(f, column, s, plan);
  figures_real(f, column, "bound_percent", "lower bound", "%.2f %%", bound);
  figures_note(f, column, ", gap %.2f, class %s%s", overhead - bound, plim_plan_class_name(plan->plan_class),
               plan->proved ? ", proved" : "");
  figures_text(f, column, "class", NULL, plim_plan_class_name(plan->plan_class));
  figures_flag(f, column, "proved", NULL, plan->proved);
  figures_count(f, column, "commands", "plan", plan->n_commands);
  figures_note(f, column, " commands for %d ops, by %s", program->graph[PLIM_PROGRAM_TRAIN]->n_ops,
               human_planner(plan->planner, by));
  if (program == s->program && program->from_front) figures_note(f, column, ", kept from an earlier run");
  figures_flag(f, column, "from_front", NULL, program == s->program && program->from_front);
  figures_text(f, column, "planner", NULL, plan->planner);
  if (program == s->program) run_figures_effort(f, column, s->o);
  add_numerics(f, column, s, plan);
}

/* From the second step on: calls of our own, and what the libraries take for the time of a call. */
static void add_allocations(figures *f, int column, const run *r, int64_t own) {
  char size[PLIM_SIZE_TEXT_BYTES];
  figures_count(f, column, "own_allocations", "allocations a step", own);
  if (r->hidden_bytes < 0 || r->trace) return;
  figures_note(f, column, " of our own; libraries take and free %s", plim_size_print(r->hidden_bytes, size));
  figures_count(f, column, "hidden_bytes", NULL, r->hidden_bytes);
}

/* Of the median step, by all threads: a busy machine changes it less than the time that passes. */
static void add_processor_time(figures *f, int column, const run *r) {
  const int64_t median = times_percentile(&r->cpu_times, 50);
  if (median <= 0) return;
  figures_real(f, column, "step_cpu_ms", NULL, "%.2f", (double)median / 1e6);
  figures_real(f, column, "images_per_cpu_second", NULL, "%.2f", (double)r->s->o->batch * 1e9 / (double)median);
}

/* Of processor packages and of the GPU, where their counters can be read. */
static void add_energy_rows(figures *f, int column, const run *r) {
  const plim_rapl *packages = &r->energy.packages;
  const double steps = (double)r->times.count;
  char count[HUMAN_BYTES];
  if (packages->n > 0) {
    figures_real(f, column, "energy_measured_joule", "energy, measured", "%.4g J a step", packages->joule / steps);
    figures_note(f, column, ", of %s with all that runs there", human_items(packages->n, "processor package", count));
  }
  if (!r->energy.device) return;
  figures_real(f, column, "gpu_energy_measured_joule", "energy of the GPU", "%.4g J a step",
               r->energy.gpu_joule / steps);
  figures_note(f, column, ", with all that runs there");
}

void run_figures_measured(figures *f, int column, const run *r) {
  plim_exec_use use = plim_exec_measured(plim_trainer_exec(r->trainer), PLIM_PROGRAM_TRAIN);
  int64_t median = times_percentile(&r->times, 50);
  if (r->times.count == 0) return;
  figures_bytes(f, column, "peak_measured_bytes", "peak, measured", r->peak_bytes);
  paging_figures_measured(f, column, r->s->program->graph[PLIM_PROGRAM_TRAIN], plim_trainer_exec(r->trainer));
  figures_count(f, column, "steps", "steps", r->times.count);
  if (r->times.count > 1 && !session_uses_heap(r->s)) add_allocations(f, column, r, use.own_allocations);
  figures_real(f, column, "step_ms", "median step", "%.2f ms", (double)median / 1e6);
  figures_note(f, column, " (10 to 90 %%: %.2f to %.2f)", (double)times_percentile(&r->times, 10) / 1e6,
               (double)times_percentile(&r->times, 90) / 1e6);
  const int32_t context = r->s->source.net.context;
  figures_real(f, column, "images_per_second", context > 0 ? "sequences/s" : "images/s", "%.0f", images_per_second(r));
  add_processor_time(f, column, r);
  add_energy_rows(f, column, r);
  if (context > 0) figures_real(f, column, "tokens_per_second", "tokens/s", "%.0f", images_per_second(r) * context);
  if (!session_computes(r->s)) return;
  figures_real(f, column, "loss", "loss", "%.4f", (double)r->last_loss); /* of the last step */
  figures_note(f, column, " (first step %.4f)", (double)r->first_loss);
  if (!r->tested) return;
  figures_real(f, column, "test_accuracy_percent", context > 0 ? "next tokens" : "test accuracy",
               context > 0 ? "%.2f %% of the test predicted" : "%.2f %%",
               (double)r->test.correct * 100 / (double)r->test.counted);
  figures_real(f, column, "test_loss", context > 0 ? "test loss" : NULL, context > 0 ? "%.4f nats a token" : "%.4f",
               r->test.loss);
}

void run_figures_last(figures *f, const session *s) {
  const plim_plan *plan = s->program->plan[PLIM_PROGRAM_LAST];
  char size[PLIM_SIZE_TEXT_BYTES];
  if (!plan) return;
  figures_count(f, 0, "last_batch", "last batch", session_last_batch(s));
  figures_note(f, 0, " images, online by %s: %s of the arena, %.2f %% overhead, %lld evictions",
               s->prep.last.config.policy->name, plim_size_print(plan->arena_bytes, size),
               plim_plan_overhead_percent(plan), (long long)s->prep.last.evictions);
  figures_count(f, 0, "last_arena_bytes", NULL, plan->arena_bytes);
  figures_real(f, 0, "last_overhead_percent", NULL, "%.2f", plim_plan_overhead_percent(plan));
}

void run_figures_retimed(figures *f, const run *r) {
  const plim_retime_report *p = &r->s->retime.report;
  const int64_t median = times_percentile(&r->retimed, 50), predicted = p->taken ? p->again_ns : p->measured_ns;
  if (median == 0 || predicted <= 0) return;
  figures_real(f, 0, "retimed_step_ms", "median step since then", "%.2f ms", (double)median / 1e6);
  figures_note(f, 0, ", %+.1f %% of what these times predict", 100 * ((double)median / (double)predicted - 1));
  figures_real(f, 0, "retimed_predicted_ms", NULL, "%.3f", (double)predicted / 1e6);
}

plim_status run_save_picture(const session *s) {
  const plim_graph *graph = s->program->graph[PLIM_PROGRAM_TRAIN];
  const plim_plan *plan = s->program->plan[PLIM_PROGRAM_TRAIN];
  if (plan->n_page_spaces > 0) return trace_paged_save_picture(graph, plan, s->o->svg);
  return curve_save(graph, s->prep.keep_all, plan, s->o->svg);
}

outside run_outside(const session *s, int64_t arena_bytes, int64_t page_bytes) {
  const int64_t resident = page_bytes + (s->device->api->host_visible ? arena_bytes : 0);
  outside o = outside_measure(s->ctx, resident, plim_dataset_bytes(s->dataset));
  if (!plim_device_is_gpu(s->device)) return o;
  plim_cuda_memory now;
  if (plim_device_cuda_memory(s->device, &now) != PLIM_OK) return o;
  o.gpu = now.outside_bytes;
  o.gpu_free = now.free_bytes;
  o.gpu_others = !now.context_known;
  o.gpu_growth = now.settled_bytes < 0 ? 0 : now.outside_bytes - now.settled_bytes;
  return o;
}

void run_figures_outside(figures *f, const outside *o) {
  char text[OUTSIDE_TEXT_BYTES];
  (void)json_object_set_new(f->object, "outside_bytes", json_integer(o->total));
  figures_text(f, 0, NULL, "outside the arena", outside_print(o, text));
  if (o->gpu < 0) return;
  figures_bytes(f, 0, "gpu_outside_bytes", "on the GPU outside", o->gpu);
  figures_note(f, 0, " (context, libraries, modules, captured steps; %.1f MiB are free)",
               (double)o->gpu_free / (1 << 20));
  if (o->gpu_others) figures_note(f, 0, "; what other programs hold counts too, since NVML cannot tell it apart here");
  figures_flag(f, 0, "gpu_outside_has_others", NULL, o->gpu_others);
  figures_count(f, 0, "gpu_growth_bytes", NULL, o->gpu_growth);
  if (o->gpu_growth > 0) {
    figures_note(f, 0, "; GROWN by %lld bytes since the second step, by this program or another",
                 (long long)o->gpu_growth);
  }
}
