/* Measuring: every pass runs all cases that are wanted once, in program order; passes follow each other, so that a slow
 * moment of the machine hits all cases alike. Median over the passes.
 *
 * In a step an op finds some operands in cache and others outside. Here too: warm operands lie in a ring of memory that
 * caches hold, and are written right before each run; cold ones lie in a larger ring, where nobody has been for a
 * while. */
#include "runtime/device/profiler.h"

#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/device/profile_cache.h"
#include "runtime/device/profile_operands.h"
#include "runtime/device/profile_set.h"

enum { DEFAULT_PASSES = 9, MOST_PASSES = 1000, SLOW = 3 };

/* Fits into the caches of a machine that runs more than this program; is more than they hold, where the device does not
 * tell how much that is. */
enum { WARM_BYTES = 16 << 20, COLD_BYTES = 64 << 20 };

typedef struct ring {
  char *base;
  int64_t bytes, cursor;
} ring;

typedef struct measurement {
  plim_profile_set *set;
  ring rings[2];  /* by plim_meeting */
  ring *block[2]; /* which of them serves; both the first where there is no room for two */
  float *normal;  /* [PLIM_NORMALS] */
  void *host;     /* [host_bytes] an operand in the making, where the host does not see the device's memory */
  int64_t host_bytes;
  void *source; /* the normals on the device, where the host does not see its memory: copies within it are fast */
  int32_t passes;
  int64_t *sample; /* [n_cases][passes] ns */
} measurement;

plim_profiler_options plim_profiler_options_default(void) {
  return (plim_profiler_options){.struct_bytes = sizeof(plim_profiler_options)};
}

/* The next place for so many bytes: behind the last one, from the start again at the end. */
static char *next_place(ring *r, int64_t bytes) {
  if (r->cursor + bytes > r->bytes) r->cursor = 0;
  char *place = r->base + r->cursor;
  r->cursor += bytes;
  return place;
}

enum { NORMALS_BYTES = PLIM_NORMALS * sizeof(float) };

static plim_status put_normals(const measurement *m, void *to, int64_t bytes) {
  plim_device *device = m->set->device;
  if (device->api->host_visible) {
    plim_normals_fill(m->normal, to, bytes);
    return PLIM_OK;
  }
  for (int64_t at = 0; at < bytes; at += NORMALS_BYTES) {
    int64_t piece = bytes - at < NORMALS_BYTES ? bytes - at : NORMALS_BYTES;
    PLIM_TRY(device->api->copy(device, 0, (char *)to + at, m->source, piece));
  }
  return PLIM_OK;
}

static plim_status put_special(const measurement *m, const plim_op_desc *desc, int32_t k, void *to) {
  plim_device *device = m->set->device;
  int visible = device->api->host_visible;
  plim_operand_fill_special(desc, k, m->normal, visible ? to : m->host);
  if (visible) return PLIM_OK;
  PLIM_TRY(device->api->copy(device, 0, to, m->host, plim_shape_bytes(&desc->in[k])));
  return device->api->sync(device); /* the next one is made in the same place */
}

/* Write what must be warm, and what must not be arbitrary. */
static plim_status prepare_operands(const measurement *m, const plim_profile_group *group,
                                    const plim_operand_plan *plan, void *const *operand) {
  const plim_op_desc *desc = &group->desc;
  for (int32_t k = desc->n_in; k < desc->n_in + desc->n_out; k++) {
    if (plan->block[k] != PLIM_MEET_WARM) continue;
    PLIM_TRY(put_normals(m, operand[k], plim_shape_bytes(&desc->out[k - desc->n_in])));
  }
  for (int32_t k = 0; k < desc->n_in; k++) {
    if (plim_operand_is_special(desc, k)) {
      PLIM_TRY(put_special(m, desc, k, operand[k]));
    } else if (plan->block[k] == PLIM_MEET_WARM) {
      PLIM_TRY(put_normals(m, operand[k], plim_shape_bytes(&desc->in[k])));
    }
  }
  return m->set->device->api->sync(m->set->device);
}

static plim_status run_case(measurement *m, const plim_profile_group *group, const plim_profile_case *c,
                            int64_t *time_ns) {
  plim_device *device = m->set->device;
  plim_operand_plan plan = plim_operands_place(&group->desc, &group->habit, c->variant.workspace_bytes);
  char *place[2];
  void *operand[PLIM_OP_MAX_OPERANDS + 1];
  for (int i = 0; i < 2; i++) place[i] = next_place(m->block[i], plan.bytes[i]);
  for (int32_t k = 0; k <= plan.n; k++) operand[k] = place[plan.block[k]] + plan.at[k];
  PLIM_TRY(prepare_operands(m, group, &plan, operand));
  plim_kernel_args args = {.in = operand,
                           .out = operand + group->desc.n_in,
                           .upd = operand + group->desc.n_in + group->desc.n_out,
                           .workspace = c->variant.workspace_bytes > 0 ? operand[plan.n] : NULL,
                           .seed = 1,
                           .step = 1,
                           .op = group->op};
  return plim_device_time(device, c->kernel, &args, time_ns);
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
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

/* The median of all passes but the first, which warms up. */
static void take_medians(measurement *m) {
  for (int32_t c = 0; c < m->set->n_cases; c++) {
    if (!m->set->cases[c].kernel) continue;
    int64_t *sample = &m->sample[(int64_t)c * m->passes + 1];
    plim_integers_sort(sample, m->passes - 1);
    m->set->cases[c].variant.time_ns = sample[(m->passes - 1) / 2];
  }
}

/* What the cases need at most. */
typedef struct needs {
  int64_t bytes, block[2]; /* of one case; of its blocks, each the most of any case */
} needs;

/* Prepare the cases whose time is not known; needs are 0 when there is none. */
static plim_status prepare_cases(plim_profile_set *set, needs *most) {
  *most = (needs){0};
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      plim_profile_case *c = &set->cases[i];
      if (c->variant.time_ns >= 0) continue;
      PLIM_TRY(set->device->api->prepare(set->device, &group->desc, c->variant.name, &c->kernel));
      plim_operand_plan plan = plim_operands_place(&group->desc, &group->habit, c->variant.workspace_bytes);
      for (int k = 0; k < 2; k++) most->block[k] = larger(most->block[k], plan.bytes[k]);
      most->bytes = larger(most->bytes, plan.bytes[0] + plan.bytes[1]);
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

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Bytes of all storages of the graph: about what a step touches before it comes back to a place. */
static int64_t step_bytes(const plim_graph *graph) {
  int64_t all = 0;
  for (int32_t s = 0; s < graph->n_storages; s++) {
    all = plim_add_bytes(all, plim_align_up(graph->storage[s].bytes, PLIM_ALIGN));
  }
  return all < 0 ? INT64_MAX / 4 : all;
}

/* Set the sizes of the rings and which of them serve; returns the memory for both. A small step finds more of its cold
 * operands in cache, so its rings are small as well. `limit` is the most that may be taken, 0: any. */
static int64_t choose_rings(measurement *m, const needs *most, int64_t limit) {
  int64_t all = step_bytes(m->set->graph), cold = larger(COLD_BYTES, 2 * m->set->device->cache_bytes);
  int64_t warm = smaller(WARM_BYTES, all), total = warm + smaller(cold, all + warm);
  if (limit > 0) total = smaller(total, limit);
  total = larger(total, most->bytes);
  warm = smaller(larger(warm, most->block[PLIM_MEET_WARM]), total - most->block[PLIM_MEET_COLD]);
  int two = warm >= most->block[PLIM_MEET_WARM];
  m->rings[PLIM_MEET_WARM].bytes = two ? warm : total;
  m->rings[PLIM_MEET_COLD].bytes = total - m->rings[PLIM_MEET_WARM].bytes;
  m->block[PLIM_MEET_WARM] = &m->rings[PLIM_MEET_WARM];
  m->block[PLIM_MEET_COLD] = &m->rings[two ? PLIM_MEET_COLD : PLIM_MEET_WARM];
  return total;
}

/* Measure every case whose time is not known; *measured is 0 when there is none. */
static plim_status measure(plim_profile_set *set, int32_t passes, int64_t limit, int32_t *measured) {
  plim_device *device = set->device;
  plim_context *ctx = device->ctx;
  measurement m = {.set = set, .passes = passes + 1};
  void *arena = NULL;
  needs most;
  int64_t arena_bytes = 0, samples = (int64_t)set->n_cases * m.passes;
  plim_status status;
  PLIM_CHECK(prepare_cases(set, &most));
  if (most.bytes == 0) goto done; /* all known */
  arena_bytes = choose_rings(&m, &most, limit);
  PLIM_CHECK(plim_allocate(ctx, PLIM_NORMALS, sizeof *m.normal, &m.normal));
  PLIM_CHECK(plim_allocate(ctx, samples, sizeof *m.sample, &m.sample));
  m.host_bytes = device->api->host_visible ? 0 : arena_bytes;
  PLIM_CHECK(plim_allocate(ctx, m.host_bytes, 1, &m.host));
  PLIM_CHECK(device->api->alloc(device, arena_bytes, &arena));
  if (!device->api->host_visible) PLIM_CHECK(device->api->alloc(device, NORMALS_BYTES, &m.source));
  m.rings[PLIM_MEET_WARM].base = arena;
  m.rings[PLIM_MEET_COLD].base = (char *)arena + m.rings[PLIM_MEET_WARM].bytes;
  plim_normals_make(m.normal);
  if (m.source) PLIM_CHECK(device->api->copy(device, 0, m.source, m.normal, NORMALS_BYTES));
  PLIM_CHECK(put_normals(&m, arena, arena_bytes));
  *measured = 1;
  status = run_passes(&m);
done:
  if (m.source) device->api->release(device, m.source, NORMALS_BYTES);
  if (arena) device->api->release(device, arena, arena_bytes);
  plim_release(ctx, m.host, m.host_bytes, 1);
  plim_release(ctx, m.sample, samples, sizeof *m.sample);
  plim_release(ctx, m.normal, PLIM_NORMALS, sizeof *m.normal);
  return status;
}

static plim_status check_options(plim_context *ctx, const plim_profiler_options *options) {
  if (options->struct_bytes != sizeof *options) {
    return plim_fail(ctx, PLIM_EUSAGE, "plim_profiler_options of %zu bytes; this library knows %zu",
                     options->struct_bytes, sizeof *options);
  }
  int64_t bytes = options->wanted_bytes < 0 ? options->wanted_bytes : options->arena_bytes;
  if (options->repeats < 0 || options->repeats > MOST_PASSES || bytes < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d repeats in %lld bytes: repeats are 1 to %d (0: %d), bytes 0 or more",
                     (int)options->repeats, (long long)bytes, (int)MOST_PASSES, (int)DEFAULT_PASSES);
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
  int64_t limit = options->wanted_bytes > 0 ? options->wanted_bytes : options->arena_bytes;
  PLIM_CHECK(measure(&set, passes, limit, &measured));
  if (measured > 0) PLIM_CHECK(plim_profile_cache_store(&cache, &set));
  status = plim_profile_set_finish(&set, 1, out);
done:
  plim_profile_cache_close(&cache);
  plim_profile_set_free(&set);
  return status;
}
