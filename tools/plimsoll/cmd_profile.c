/* plimsoll profile: what each op of the training step costs, by variant. */
#include <stdio.h>

#include "runtime/device/desc.h"
#include "runtime/profile/roofline_peaks.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/run_train.h"

/* Time of all ops of one kind, each with its fastest variant, and the least by what the device can do. */
typedef struct kind_time {
  int64_t ns;
  double least_ns;
  int ops;
} kind_time;

static int64_t fastest_ns(const plim_profile *p, int32_t op) {
  int64_t best = INT64_MAX;
  for (int32_t i = p->first[op]; i < p->first[op + 1]; i++) {
    if (p->variant[i].time_ns < best) best = p->variant[i].time_ns;
  }
  return best;
}

static double least_ns(const plim_graph *graph, int32_t op, const plim_roofline_peaks *roofline_peaks) {
  plim_op_desc desc;
  if (!roofline_peaks) return 0;
  plim_desc_of(graph, op, &desc);
  return plim_roofline_peaks_ns(roofline_peaks, &desc);
}

/* `ceilings` NULL: not known. */
static void print_kinds(figures *f, const plim_graph *graph, const plim_profile *profile, int64_t total,
                        const plim_roofline_peaks *roofline_peaks) {
  kind_time kind[PLIM_OP_KIND_COUNT] = {{0, 0, 0}};
  char count[HUMAN_BYTES];
  json_t *kinds = json_object(), *shares = json_object();
  for (int32_t o = 0; o < graph->n_ops; o++) {
    kind[graph->op[o].kind].ns += fastest_ns(profile, o);
    kind[graph->op[o].kind].least_ns += least_ns(graph, o, roofline_peaks);
    kind[graph->op[o].kind].ops++;
  }
  for (int done = 0; done < PLIM_OP_KIND_COUNT; done++) {
    int most = 0;
    for (int k = 1; k < PLIM_OP_KIND_COUNT; k++) {
      if (kind[k].ns > kind[most].ns) most = k;
    }
    if (kind[most].ops == 0) break;
    const char *name = plim_op_kind_name((plim_op_kind)most);
    figures_real(f, 0, NULL, name, "%.3f ms", (double)kind[most].ns / 1e6);
    double share = kind[most].least_ns * 100 / (double)kind[most].ns;
    figures_note(f, 0, " (%.1f %%, %s%s", (double)kind[most].ns * 100 / (double)total,
                 human_items(kind[most].ops, "op", count), roofline_peaks ? "" : ")");
    if (roofline_peaks) figures_note(f, 0, ", %.0f %% of the ceiling)", share);
    (void)json_object_set_new(kinds, name, json_integer(kind[most].ns));
    (void)json_object_set_new(shares, name, json_real(share));
    kind[most] = (kind_time){-1, 0, 0};
  }
  (void)json_object_set_new(f->object, "kind_ns", kinds);
  if (roofline_peaks) (void)json_object_set(f->object, "kind_percent_of_ceiling", shares);
  json_decref(shares);
}

/* Each op by name, with its share of the ceiling, for who reads JSON. */
static void list_ops(figures *f, const plim_graph *graph, const plim_profile *profile,
                     const plim_roofline_peaks *roofline_peaks) {
  json_t *ops = json_array();
  for (int32_t o = 0; o < graph->n_ops; o++) {
    const int64_t ns = fastest_ns(profile, o);
    (void)json_array_append_new(
        ops,
        json_pack("{s:s, s:s, s:I, s:f}", "op", graph->op[o].name, "kind", plim_op_kind_name(graph->op[o].kind), "ns",
                  (json_int_t)ns, "percent_of_ceiling", least_ns(graph, o, roofline_peaks) * 100 / (double)ns));
  }
  (void)json_object_set_new(f->object, "each_op", ops);
}

static void print_roofline_peaks(figures *f, const plim_roofline_peaks *c) {
  figures_real(f, 0, "ceiling_gb_per_s", "ceilings", "%.1f GB/s", c->bytes_per_ns);
  json_t *rates = json_object();
  for (int math = 0; math < PLIM_PRECISION_COUNT; math++) {
    if (c->flops_per_ns[math] == 0) continue;
    const char *name = plim_precision_name((plim_precision)math);
    figures_note(f, 0, ", %s %.0f GFLOP/s", name, c->flops_per_ns[math]);
    (void)json_object_set_new(rates, name, json_real(c->flops_per_ns[math]));
  }
  (void)json_object_set_new(f->object, "ceiling_gflop_per_s", rates);
}

static void print_table(const session *s, const plim_roofline_peaks *roofline_peaks, double seconds) {
  const plim_graph *graph = s->program->graph[PLIM_PROGRAM_TRAIN];
  const plim_profile *profile = s->program->profile[PLIM_PROGRAM_TRAIN];
  int64_t total = 0;
  figures f;
  for (int32_t o = 0; o < graph->n_ops; o++) total += fastest_ns(profile, o);
  figures_begin(&f, 1, NULL, NULL);
  run_figures_setting(&f, s);
  figures_count(&f, 0, "ops", "ops", graph->n_ops);
  figures_count(&f, 0, "variants", "variants", profile->first[graph->n_ops]);
  figures_flag(&f, 0, "measured", "measured", profile->measured);
  figures_real(&f, 0, "keep_all_ms", "fastest variants", "%.3f ms", (double)total / 1e6);
  figures_note(&f, 0, ", %.0f images/s", (double)s->o->batch * 1e9 / (double)total);
  if (roofline_peaks) print_roofline_peaks(&f, roofline_peaks);
  print_kinds(&f, graph, profile, total, roofline_peaks);
  if (roofline_peaks) list_ops(&f, graph, profile, roofline_peaks);
  figures_real(&f, 0, "seconds", "seconds", "%.1f", seconds);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

static plim_status profile(session *s) {
  PLIM_TRY(session_device(s));
  int64_t begin = plim_now_ns();
  plim_roofline_peaks roofline_peaks = {0};
  PLIM_TRY(session_program(s));
  if (s->o->roofline_peaks) PLIM_TRY(plim_roofline_peaks_measure(s->device, &roofline_peaks));
  progress_clear(&s->bar);
  if (s->o->output) PLIM_TRY(plim_profile_save(s->program->profile[PLIM_PROGRAM_TRAIN], s->o->output));
  print_table(s, s->o->roofline_peaks ? &roofline_peaks : NULL, (double)(plim_now_ns() - begin) / 1e9);
  return PLIM_OK;
}

static int run_profile(const options *o) {
  session s;
  plim_status status = session_open(&s, o);
  if (status == PLIM_OK) status = profile(&s);
  return session_close(&s, status);
}

const command command_profile = {
    .name = "profile",
    .mask = COMMAND_PROFILE,
    .summary = "measure what each op of a training step costs",
    .about =
        "Measure every op of a model's training step on this machine, in each of its variants, and print where "
        "the time of a step goes. Figures are cached: by device, CPU, instruction set, threads, library versions, "
        "op and shapes.",
    .after =
        "EXAMPLES\n"
        "  plimsoll profile --model resnet20 --batch 128\n"
        "  plimsoll profile --model resnet20 --ceilings\n"
        "  plimsoll profile --model resnet18 --data cifar10 --batch 32 -o profile.json\n\n"
        "FILES\n"
        "  $XDG_CACHE_HOME/plimsoll  measured profiles (default ~/.cache/plimsoll)\n",
    .run = run_profile,
};
