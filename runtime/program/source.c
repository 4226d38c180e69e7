/* Makes programs from a source: makes the net for a batch and a layout, and measures its ops within the run's budget,
 * so that measuring needs no more memory than training. */
#include "runtime/device/vram.h"
#include "runtime/program/program_source.h"

plim_program_source plim_program_source_default(void) {
  return (plim_program_source){.struct_bytes = sizeof(plim_program_source),
                               .net = plim_net_options_default(),
                               .budget = {.bytes = -1, .percent = 100, .scale = 1}};
}

/* Reduce *bytes to the bytes that the budget of the whole GPU leaves now. */
static plim_status within_vram(plim_device *device, int64_t vram_bytes, int64_t *bytes) {
  int64_t left = 0;
  PLIM_TRY(plim_vram_left(device, vram_bytes, 0, &left));
  if (*bytes == 0 || *bytes > left) *bytes = left;
  return PLIM_OK;
}

/* Is it proven that no plan of the program fits into so many bytes? */
static plim_status is_hopeless(const plim_program *modelled, int pages, int64_t bytes, int *yes) {
  const plim_plan_options planning = plim_plan_options_default();
  const plim_graph *graph = modelled->graph[PLIM_PROGRAM_TRAIN];
  const int64_t elsewhere = pages ? plim_graph_persistent_bytes(graph) : 0; /* what persists may be at home there */
  plim_plan_floor floor;
  PLIM_TRY(plim_plan_bound(modelled->ctx, graph, modelled->profile[PLIM_PROGRAM_TRAIN], &planning, &floor));
  *yes = floor.bound_bytes - elsewhere > bytes;
  return PLIM_OK;
}

/* Find the bytes that measuring may take: the budget, or the keep-all bytes. The keep-all bytes are those of modelled
 * costs in program order, because nothing has been measured yet. They do not depend on the budget, so the budget
 * changes the addresses of operands, but not which ops are measured. *hopeless: planning will refuse them. */
static plim_status measuring_bytes(plim_device *device, const plim_program_source *source, const plim_net *net,
                                   int64_t *out, int *hopeless) {
  plim_plan_options planning = plim_plan_options_default();
  plim_program *modelled = NULL;
  plim_plan *keep_all = NULL;
  plim_status status;
  planning.order = PLIM_ORDER_FIXED;
  *hopeless = 0;
  PLIM_TRY_OR_DONE(plim_program_begin(device, net, NULL, &modelled));
  PLIM_TRY_OR_DONE(plim_plan_keep_all(device->ctx, modelled->graph[PLIM_PROGRAM_TRAIN],
                                      modelled->profile[PLIM_PROGRAM_TRAIN], &planning, &keep_all));
  *out = plim_size_bytes(&source->budget, keep_all->arena_bytes);
  if (*out < 0) *out = 0; /* no budget after all */
  if (source->vram_bytes > 0) PLIM_TRY_OR_DONE(within_vram(device, source->vram_bytes, out));
  if (*out > 0) PLIM_TRY_OR_DONE(is_hopeless(modelled, source->pages, *out, hopeless));
  if (*out > PLIM_ALIGN) *out -= *out % PLIM_ALIGN; /* operands are aligned from both ends */
done:
  plim_plan_free(keep_all);
  plim_program_free(modelled);
  return status;
}

/* Find how to measure the source's ops: options in *out; *measured 0: costs are modelled. */
static plim_status profiler_of(plim_device *device, const plim_program_source *source, const plim_net *net,
                               plim_profiler_options *out, int *measured) {
  int hopeless;
  *measured = source->profiler != NULL;
  if (!*measured) return PLIM_OK;
  *out = *source->profiler;
  PLIM_TRY(measuring_bytes(device, source, net, &out->wanted_bytes, &hopeless));
  *measured = !hopeless;
  return PLIM_OK;
}

static plim_status check(const plim_device *device, const plim_program_source *source) {
  return plim_check_options(device->ctx, "plim_program_source", source->struct_bytes, sizeof *source);
}

plim_status plim_program_make(plim_device *device, const plim_program_source *source, plim_program **out) {
  plim_profiler_options profiler;
  plim_net *net = NULL;
  int measured;
  PLIM_TRY(check(device, source));
  PLIM_TRY(source->make(source->user, &source->net, &net));
  plim_status status = profiler_of(device, source, net, &profiler, &measured);
  if (status == PLIM_OK) status = plim_program_begin(device, net, measured ? &profiler : NULL, out);
  plim_net_free(net);
  return status;
}

/* The fewest equal micro-batches that are no larger than those of the whole batch. */
static int32_t micro_batches_of_last(const plim_net_options *net, int32_t images) {
  const int32_t most = net->batch / net->accumulate;
  int32_t n = images / most + (images % most > 0);
  while (n < images && images % n != 0) n++;
  return n;
}

plim_status plim_program_make_last(plim_program *program, plim_device *device, const plim_program_source *source,
                                   int32_t images) {
  plim_net_options wanted = source->net;
  plim_profiler_options profiler;
  plim_net *net = NULL;
  int measured;
  PLIM_TRY(check(device, source));
  wanted.batch = images;
  wanted.staging_batch = source->net.batch;
  if (images > 0) wanted.accumulate = micro_batches_of_last(&source->net, images);
  PLIM_TRY(source->make(source->user, &wanted, &net));
  plim_status status = profiler_of(device, source, net, &profiler, &measured);
  if (status == PLIM_OK) status = plim_program_add_last(program, device, net, measured ? &profiler : NULL);
  plim_net_free(net);
  return status;
}

/* ---- the layout ---- */

enum { SAMPLE = 6 /* convolutions, of the 2 to 3 x 23 of ResNet-50 */ };

/* Time of the training step when every op runs once with its fastest variant. */
static int64_t fastest_ns(const plim_profile *profile) {
  int64_t sum = 0;
  for (int32_t op = 0; op < profile->n_ops; op++) {
    const int32_t first = profile->first[op];
    sum += plim_variants_least_ns(profile->variant + first, profile->first[op + 1] - first, NULL);
  }
  return sum;
}

/* Is the later of two layouts faster by more than a tie? */
static int is_faster(int64_t later_ns, int64_t earlier_ns) {
  return later_ns < earlier_ns && !plim_variant_ties(earlier_ns, later_ns);
}

/* Time of the training step in the source's layout, for which only the heaviest convolutions are measured. */
static plim_status sample_ns(plim_device *device, const plim_program_source *source, int64_t *ns) {
  plim_profiler_options profiler;
  plim_profile *sample = NULL;
  plim_graph *graph = NULL;
  plim_net *net = NULL;
  plim_status status;
  int measured;
  PLIM_TRY_OR_DONE(source->make(source->user, &source->net, &net));
  PLIM_TRY_OR_DONE(profiler_of(device, source, net, &profiler, &measured));
  *ns = PLIM_TIME_INFINITE; /* hopeless within the budget: a layout that is not is better */
  if (!measured) goto done;
  profiler.sample = SAMPLE;
  profiler.report = NULL;
  PLIM_TRY_OR_DONE(plim_net_train_graph(net, &graph));
  PLIM_TRY_OR_DONE(plim_profile_measure(device, graph, &profiler, &sample));
  *ns = fastest_ns(sample);
done:
  plim_profile_free(sample);
  plim_graph_free(graph);
  plim_net_free(net);
  return status;
}

/* Choose the layout by samples, and set it in the source. */
static plim_status decide_by_sample(plim_device *device, plim_program_source *source, int32_t n,
                                    const plim_layout *layout) {
  int64_t best_ns = 0, ns = 0;
  plim_layout best = layout[0];
  for (int32_t i = 0; i < n; i++) {
    source->net.layout = layout[i];
    PLIM_TRY(sample_ns(device, source, &ns));
    if (i > 0 && !is_faster(ns, best_ns)) continue;
    best = layout[i];
    best_ns = ns;
  }
  source->net.layout = best;
  return PLIM_OK;
}

/* Is the later of two programs better? The times of a source with a profiler are modelled where no plan fits the budget
 * (profiler_of). Such a program is worse than one that was measured, whatever the times. */
static int is_better(const plim_program *later, const plim_program *earlier) {
  const plim_profile *after = later->profile[PLIM_PROGRAM_TRAIN], *before = earlier->profile[PLIM_PROGRAM_TRAIN];
  if (after->measured != before->measured) return after->measured;
  return is_faster(fastest_ns(after), fastest_ns(before));
}

/* Make the program of each layout, and choose the best of them. Set its layout in the source. */
static plim_status decide_by_programs(plim_device *device, plim_program_source *source, int32_t n,
                                      const plim_layout *layout, plim_program **out) {
  plim_program *best = NULL;
  plim_layout best_layout = layout[0];
  for (int32_t i = 0; i < n; i++) {
    plim_program *program = NULL;
    source->net.layout = layout[i];
    plim_status status = plim_program_make(device, source, &program);
    if (status != PLIM_OK) {
      plim_program_free(best);
      return status;
    }
    if (best && !is_better(program, best)) {
      plim_program_free(program);
      continue;
    }
    plim_program_free(best);
    best = program;
    best_layout = layout[i];
  }
  source->net.layout = best_layout;
  *out = best;
  return PLIM_OK;
}

plim_status plim_program_choose_layout(plim_device *device, plim_program_source *source, int32_t n,
                                       const plim_layout *layout, plim_program **out) {
  plim_program_source tried = *source;
  PLIM_TRY(check(device, source));
  if (!layout) {
    layout = device->layout;
    n = device->n_layouts;
  }
  if (n < 1) return plim_fail(device->ctx, PLIM_EUSAGE, "a layout is to be chosen from %d", (int)n);
  if (n > 1 && device->builds && source->profiler) {
    PLIM_TRY(decide_by_sample(device, &tried, n, layout));
    PLIM_TRY(plim_program_make(device, &tried, out));
  } else {
    PLIM_TRY(decide_by_programs(device, &tried, n, layout, out));
  }
  source->net.layout = tried.net.layout;
  return PLIM_OK;
}
