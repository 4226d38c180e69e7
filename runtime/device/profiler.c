/* Measuring: every pass runs all cases that are wanted once, in program order, each at the next place of the arena;
 * passes follow each other, so that a slow moment of the machine hits all cases alike. Median over the passes.
 *
 * In a step an op mostly finds its inputs in cache, because the op before has just written them, and the rest of its
 * operands outside. So inputs that the graph shows to be used shortly before are written right before each run; all
 * else lies where nobody has been for a while. */
#include "runtime/device/profiler.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/device/profile_cache.h"
#include "runtime/device/profile_operands.h"
#include "runtime/device/profile_set.h"

enum { DEFAULT_PASSES = 9, MOST_PASSES = 1000, SLOW = 3 };

/* An arena of more bytes than caches have: what was used one round ago is not in them. */
enum { COLD_BYTES = 64 << 20 };

typedef struct measurement {
  plim_profile_set *set;
  char *arena;
  int64_t arena_bytes, cursor;
  float *normal; /* [PLIM_NORMALS] */
  int32_t passes;
  int64_t *sample; /* [n_cases][passes] ns */
} measurement;

plim_profiler_options plim_profiler_options_default(void) {
  return (plim_profiler_options){.struct_bytes = sizeof(plim_profiler_options)};
}

/* The next place for so many bytes: behind the last one, from the start again at the end. */
static char *next_place(measurement *m, int64_t bytes) {
  if (m->cursor + bytes > m->arena_bytes) m->cursor = 0;
  char *place = m->arena + m->cursor;
  m->cursor += bytes;
  return place;
}

static void prepare_operands(const float *normal, const plim_profile_group *group, const plim_operand_plan *plan,
                             char *place) {
  for (int32_t k = 0; k < group->desc.n_in; k++) {
    if (plim_operand_is_special(&group->desc, k)) {
      plim_operand_fill_special(&group->desc, k, normal, place + plan->at[k]);
    } else if (group->habit.warm_votes[k] > 0) {
      plim_normals_fill(normal, place + plan->at[k], plim_shape_bytes(&group->desc.in[k]));
    }
  }
}

static plim_status run_case(measurement *m, const plim_profile_group *group, const plim_profile_case *c,
                            int64_t *time_ns) {
  plim_device *device = m->set->device;
  plim_operand_plan plan = plim_operands_place(&group->desc, c->variant.workspace_bytes);
  char *place = next_place(m, plan.bytes);
  void *operand[PLIM_OP_MAX_OPERANDS];
  for (int32_t k = 0; k < plan.n; k++) operand[k] = place + plan.at[k];
  for (int32_t k = 0; k < group->desc.n_out; k++) {
    if (group->habit.over_votes[k] > 0) operand[group->desc.n_in + k] = operand[group->habit.over[k]];
  }
  prepare_operands(m->normal, group, &plan, place);
  plim_kernel_args args = {.in = operand,
                           .out = operand + group->desc.n_in,
                           .upd = operand + group->desc.n_in + group->desc.n_out,
                           .workspace = c->variant.workspace_bytes > 0 ? place + plan.at[plan.n] : NULL,
                           .seed = 1,
                           .step = 1,
                           .op = group->op};
  int64_t start = device->api->clock(device);
  PLIM_TRY(device->api->run(device, 0, c->kernel, &args));
  PLIM_TRY(device->api->sync(device));
  *time_ns = device->api->clock(device) - start;
  return PLIM_OK;
}

static int64_t least(const int64_t *sample, int32_t n) {
  int64_t best = sample[0];
  for (int32_t i = 1; i < n; i++) best = sample[i] < best ? sample[i] : best;
  return best;
}

/* A case whose best time so far is SLOW times that of another variant will not win, and is not run again. */
static int is_worth_repeating(const measurement *m, const plim_profile_group *group, int32_t c, int32_t pass) {
  if (pass < 2) return 1;
  int64_t own = least(&m->sample[(int64_t)c * m->passes], pass);
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    if (m->set->cases[i].kernel && own / SLOW > least(&m->sample[(int64_t)i * m->passes], pass)) return 0;
  }
  return 1;
}

static plim_status run_pass(measurement *m, int32_t pass) {
  plim_profile_set *set = m->set;
  plim_normals_fill(m->normal, m->arena, m->arena_bytes); /* results of the last pass may have grown */
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    for (int32_t c = group->first; c < group->first + group->n; c++) {
      int64_t *sample = &m->sample[(int64_t)c * m->passes];
      if (!set->cases[c].kernel) continue;
      if (!is_worth_repeating(m, group, c, pass)) {
        sample[pass] = least(sample, pass);
        continue;
      }
      plim_status status = run_case(m, group, &set->cases[c], &sample[pass]);
      if (status == PLIM_OK) continue;
      return plim_fail(set->device->ctx, status, "op \"%s\", variant \"%s\": %s", set->graph->op[group->op].name,
                       set->cases[c].variant.name, plim_context_error(set->device->ctx));
    }
  }
  return PLIM_OK;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The median of all passes but the first, which warms up. */
static void take_medians(measurement *m) {
  for (int32_t c = 0; c < m->set->n_cases; c++) {
    if (!m->set->cases[c].kernel) continue;
    int64_t *sample = &m->sample[(int64_t)c * m->passes + 1];
    qsort(sample, (size_t)m->passes - 1, sizeof *sample, by_size);
    m->set->cases[c].variant.time_ns = sample[(m->passes - 1) / 2];
  }
}

/* Prepare the cases whose time is not known; *bytes is what the largest of them needs, 0 when there is none. */
static plim_status prepare_cases(plim_profile_set *set, int64_t *bytes) {
  *bytes = 0;
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      plim_profile_case *c = &set->cases[i];
      if (c->variant.time_ns >= 0) continue;
      PLIM_TRY(set->device->api->prepare(set->device, &group->desc, c->variant.name, &c->kernel));
      if (c->bytes > *bytes) *bytes = c->bytes;
    }
  }
  return PLIM_OK;
}

static plim_status run_passes(measurement *m) {
  plim_context *ctx = m->set->device->ctx;
  int64_t start = plim_now_ns();
  for (int32_t pass = 0; pass < m->passes; pass++) {
    plim_progress progress = {"profile", pass, m->passes, plim_now_ns() - start, -1, -1};
    plim_context_report(ctx, &progress);
    if (plim_context_cancelled(ctx)) return plim_fail(ctx, PLIM_ECANCEL, "cancelled while profiling");
    PLIM_TRY(run_pass(m, pass));
  }
  take_medians(m);
  return PLIM_OK;
}

/* As large as the step's own arena may be, as far as caches could tell the difference, within `limit` (0: none). */
static int64_t choose_bytes(const plim_graph *graph, int64_t needed, int64_t limit) {
  int64_t all = 0;
  for (int32_t s = 0; s < graph->n_storages; s++) {
    all = plim_add_bytes(all, plim_align_up(graph->storage[s].bytes, PLIM_ALIGN));
  }
  int64_t wanted = all >= 0 && all < COLD_BYTES ? all : COLD_BYTES;
  if (limit > 0 && wanted > limit) wanted = limit;
  return wanted > needed ? wanted : needed;
}

/* Measure every case whose time is not known; *measured is 0 when there is none. */
static plim_status measure(plim_profile_set *set, int32_t passes, int64_t limit, int32_t *measured) {
  plim_device *device = set->device;
  plim_context *ctx = device->ctx;
  measurement m = {.set = set, .passes = passes + 1};
  void *arena = NULL;
  int64_t needed, samples = (int64_t)set->n_cases * m.passes;
  plim_status status;
  PLIM_CHECK(prepare_cases(set, &needed));
  if (needed == 0) goto done; /* all known */
  m.arena_bytes = choose_bytes(set->graph, needed, limit);
  PLIM_CHECK(plim_allocate(ctx, PLIM_NORMALS, sizeof *m.normal, &m.normal));
  PLIM_CHECK(plim_allocate(ctx, samples, sizeof *m.sample, &m.sample));
  PLIM_CHECK(device->api->alloc(device, m.arena_bytes, &arena));
  m.arena = arena;
  plim_normals_make(m.normal);
  *measured = 1;
  status = run_passes(&m);
done:
  if (arena) device->api->release(device, arena, m.arena_bytes);
  plim_release(ctx, m.sample, samples, sizeof *m.sample);
  plim_release(ctx, m.normal, PLIM_NORMALS, sizeof *m.normal);
  return status;
}

static plim_status check_options(plim_context *ctx, const plim_profiler_options *options) {
  if (options->struct_bytes != sizeof *options) {
    return plim_fail(ctx, PLIM_EUSAGE, "plim_profiler_options of %zu bytes; this library knows %zu",
                     options->struct_bytes, sizeof *options);
  }
  if (options->repeats < 0 || options->repeats > MOST_PASSES || options->arena_bytes < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d repeats in %lld bytes: repeats are 1 to %d (0: %d), bytes 0 or more",
                     (int)options->repeats, (long long)options->arena_bytes, (int)MOST_PASSES, (int)DEFAULT_PASSES);
  }
  return PLIM_OK;
}

plim_status plim_profile_measure(plim_device *device, const plim_graph *graph, const plim_profiler_options *options,
                                 plim_profile **out) {
  plim_profiler_options defaults = plim_profiler_options_default();
  plim_profile_set set;
  if (!options) options = &defaults;
  PLIM_TRY(check_options(device->ctx, options));
  if (strcmp(device->machine.device, "sim") == 0) {
    return plim_fail(device->ctx, PLIM_EUNSUPPORTED, "sim computes nothing that could be measured: model the costs");
  }
  plim_profile_cache cache = {NULL};
  plim_status status;
  PLIM_TRY(plim_profile_set_make(device, graph, options->arena_bytes, &set));
  PLIM_CHECK(plim_profile_cache_open(device->ctx, options->cache_dir, &device->machine, &cache));
  plim_profile_cache_apply(&cache, &set);
  int32_t passes = options->repeats > 0 ? options->repeats : DEFAULT_PASSES, measured = 0;
  PLIM_CHECK(measure(&set, passes, options->arena_bytes, &measured));
  if (measured > 0) PLIM_CHECK(plim_profile_cache_store(&cache, &set));
  status = plim_profile_set_finish(&set, 1, out);
done:
  plim_profile_cache_close(&cache);
  plim_profile_set_free(&set);
  return status;
}
