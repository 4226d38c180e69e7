/* Measures variants. A pass runs all cases of a round once, in program order, so that a slow moment of the machine
 * affects all cases. The time of a case is the median over the passes. Rounds (profile_rounds.c) follow each other
 * until the time is over. */
#include "runtime/profile/profiler.h"

#include <string.h>

#include "runtime/base/integers.h"
#include "runtime/profile/busy_devices.h"
#include "runtime/profile/device_memo.h"
#include "runtime/profile/profile_cache.h"
#include "runtime/profile/profile_drop.h"
#include "runtime/profile/profile_verify.h"

enum { DEFAULT_PASSES = 9, PASSES_MAX = 1000, PASSES_MIN = 2, SLOW = 3, VERY_SLOW = 10 };

/* Limits when the caller gives none. Compiling a plan of cuDNN takes 50 to 500 ms; a step of ResNet-50 needs 32 plans.
 */
enum { DEFAULT_SECONDS = 60, DEFAULT_BUILDS = 48 };

/* The cases of a set while they are measured: rounds of passes. */
typedef struct profiling_state {
  plim_profile_set *set;
  plim_measurement measurement;
  plim_busy_devices *busy;
  int32_t n_passes; /* of a round, with the first, which warms up */
  int32_t round;
  int64_t *sample; /* [n_cases][n_passes] ns */
  int64_t begin_ns, limit_ns;
  int32_t has_own_limit;             /* 1: the caller gave the limit */
  plim_profile_reference *reference; /* [n_groups]; NULL: numbers are not compared */
} profiling_state;

static int64_t *samples_of(const profiling_state *profiling, int32_t c) {
  return &profiling->sample[(int64_t)c * profiling->n_passes];
}

plim_profiler_options plim_profiler_options_default(void) {
  return (plim_profiler_options){.struct_bytes = sizeof(plim_profiler_options)};
}

static int64_t least(const int64_t *sample, int32_t n) {
  int64_t best = sample[0];
  for (int32_t i = 1; i < n; i++) best = sample[i] < best ? sample[i] : best;
  return best;
}

/* Is the case run again? A case whose best time so far is SLOW times that of another variant cannot be the fastest. One
 * run alone says so where what it loaded is not part of its time, and it took VERY_SLOW times as long. */
static int is_worth_repeating(const profiling_state *profiling, const plim_profile_group *group, int32_t c,
                              int32_t pass) {
  if (pass < (profiling->reference ? 1 : 2)) return 1;
  const int64_t own = least(samples_of(profiling, c), pass), slow = pass < 2 ? VERY_SLOW : SLOW;
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    const plim_profile_case *other = &profiling->set->cases[i];
    if (!other->dropped && other->samples > 0 && own / slow > least(samples_of(profiling, i), other->samples)) return 0;
  }
  return 1;
}

static int is_in_round(const profiling_state *profiling, const plim_profile_case *profile_case) {
  return profile_case->kernel && !profile_case->dropped && profile_case->round == profiling->round;
}

static plim_status run_case(profiling_state *profiling, const plim_profile_group *group, int32_t c, int32_t pass) {
  plim_profile_case *profile_case = &profiling->set->cases[c];
  int64_t *sample = samples_of(profiling, c) + pass;
  plim_status status = plim_busy_devices_run(profiling->busy, &profiling->measurement, group, profile_case, sample);
  return status == PLIM_OK ? PLIM_OK : plim_profile_drop_failed(profiling->set, group, profile_case, status);
}

/* Compute the reference result with the single-source kernel, once for all rounds. */
static plim_status fill_reference(profiling_state *profiling, int32_t g) {
  plim_profile_set *set = profiling->set;
  const plim_profile_group *group = &set->group[g];
  const int32_t reference = plim_profile_reference_case(set, group);
  if (profiling->reference[g].n[0] > 0 || reference < 0) return PLIM_OK;
  plim_profile_case *profile_case = &set->cases[reference];
  if (!profile_case->kernel) return PLIM_OK;
  plim_status status = plim_profile_refer(&profiling->measurement, group, profile_case, &profiling->reference[g]);
  return status == PLIM_OK ? PLIM_OK : plim_profile_drop_failed(set, group, profile_case, status);
}

/* The first run of a variant, which warms it up, also compares its numbers with the reference. */
static plim_status verify_case(profiling_state *profiling, int32_t g, int32_t c) {
  const plim_profile_group *group = &profiling->set->group[g];
  plim_profile_case *profile_case = &profiling->set->cases[c];
  int64_t *sample = samples_of(profiling, c);
  char why[PLIM_DROPPED_WHY_BYTES] = "";
  if (c == plim_profile_reference_case(profiling->set, group)) {
    *sample = profiling->reference[g].time_ns;
    return PLIM_OK;
  }
  plim_status status =
      plim_profile_verify(&profiling->measurement, group, profile_case, &profiling->reference[g], sample, why);
  if (status != PLIM_OK) return plim_profile_drop_failed(profiling->set, group, profile_case, status);
  if (why[0]) return plim_profile_drop(profiling->set, group, profile_case, why);
  return *sample < 0 ? run_case(profiling, group, c, 0) : PLIM_OK;
}

static plim_status run_pass(profiling_state *profiling, int32_t pass) {
  plim_profile_set *set = profiling->set;
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    if (pass == 0 && profiling->reference) PLIM_TRY(fill_reference(profiling, g));
    for (int32_t c = group->first; c < group->first + group->n; c++) {
      int64_t *sample = samples_of(profiling, c);
      if (!is_in_round(profiling, &set->cases[c])) continue;
      PLIM_TRY(plim_measure_check_cancelled(profiling->set));
      if (pass == 0 && profiling->reference && profiling->reference[g].n[0] > 0) {
        PLIM_TRY(verify_case(profiling, g, c));
      } else if (is_worth_repeating(profiling, group, c, pass)) {
        PLIM_TRY(run_case(profiling, group, c, pass));
      } else {
        sample[pass] = least(sample, pass);
      }
      set->cases[c].samples = pass + 1;
    }
  }
  return PLIM_OK;
}

/* Set the time of each case to the median of all passes but the first, which warms up. */
static void set_medians(profiling_state *profiling) {
  for (int32_t c = 0; c < profiling->set->n_cases; c++) {
    plim_profile_case *profile_case = &profiling->set->cases[c];
    if (!is_in_round(profiling, profile_case)) continue;
    int64_t *sample = samples_of(profiling, c) + 1;
    plim_integers_sort(sample, profile_case->samples - 1);
    profile_case->variant.time_ns = sample[(profile_case->samples - 1) / 2];
  }
}

/* ---- rounds ---- */

/* Why a variant of the op was left out, now or by an earlier process. */
static const char *why_of(const plim_profile_set *set, const plim_profile_group *group) {
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    if (set->cases[i].why[0]) return set->cases[i].why;
  }
  return "the cache of profiles leaves all of them out";
}

/* Check that the group has a case left. The sentence of a failure says why one was left out. */
static plim_status has_cases(const plim_profile_set *set, const plim_profile_group *group) {
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    if (!set->cases[i].dropped) return PLIM_OK;
  }
  return plim_fail(set->device->ctx, PLIM_EUNSUPPORTED, "op \"%s\" has no variant that can be prepared: %s",
                   set->graph->op[group->op].name, why_of(set, group));
}

static plim_status have_cases(const plim_profile_set *set) {
  for (int32_t g = 0; g < set->n_groups; g++) PLIM_TRY(has_cases(set, &set->group[g]));
  return PLIM_OK;
}

static int is_over(const profiling_state *profiling) {
  return plim_now_ns() - profiling->begin_ns >= profiling->limit_ns;
}

/* Is there no time to build this case? The first case of an op is always built when all of its cases must be. */
static int is_too_late(const profiling_state *profiling, const plim_profile_group *group,
                       const plim_profile_case *profile_case) {
  if (!profile_case->builds) return 0;
  if (profile_case->round > 0 && !profiling->has_own_limit && profiling->set->device->built >= DEFAULT_BUILDS) return 1;
  for (int32_t i = group->first; i < group->first + group->n; i++) {
    const plim_profile_case *other = &profiling->set->cases[i];
    if (other != profile_case && !other->dropped && (!other->builds || other->round < profile_case->round)) {
      return is_over(profiling);
    }
  }
  return 0;
}

static int is_unknown(const plim_profile_case *profile_case) {
  return profile_case->variant.time_ns < 0 && !profile_case->dropped;
}

static plim_status prepare_case(profiling_state *profiling, const plim_profile_group *group,
                                plim_profile_case *profile_case) {
  if (is_too_late(profiling, group, profile_case)) {
    profile_case->dropped = 1;
    profile_case->left_out_ns = profiling->limit_ns;
    return PLIM_OK;
  }
  plim_status status = plim_measure_prepare(profiling->set, group, profile_case);
  return status == PLIM_OK ? PLIM_OK : plim_profile_drop_failed(profiling->set, group, profile_case, status);
}

/* Prepare the single-source kernel as the reference, even when its time is known. */
static plim_status prepare_reference(const profiling_state *profiling, const plim_profile_group *group) {
  plim_profile_set *set = profiling->set;
  const int32_t reference = plim_profile_reference_case(set, group);
  if (!profiling->reference || reference < 0) return PLIM_OK;
  plim_profile_case *profile_case = &set->cases[reference];
  if (profile_case->kernel || profile_case->dropped) return PLIM_OK;
  plim_status status = plim_measure_prepare(set, group, profile_case);
  return status == PLIM_OK ? PLIM_OK : plim_profile_drop_failed(set, group, profile_case, status);
}

/* Prepare the cases of the round whose time is not known; *n out: their number. */
static plim_status prepare_round(profiling_state *profiling, int32_t *n) {
  *n = 0;
  for (int32_t g = 0; g < profiling->set->n_groups; g++) {
    const plim_profile_group *group = &profiling->set->group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      plim_profile_case *profile_case = &profiling->set->cases[i];
      if (profile_case->round != profiling->round || !is_unknown(profile_case)) continue;
      PLIM_TRY(plim_measure_check_cancelled(profiling->set));
      PLIM_TRY(prepare_case(profiling, group, profile_case));
      if (profile_case->kernel) PLIM_TRY(prepare_reference(profiling, group));
      *n += profile_case->kernel != NULL;
    }
  }
  return PLIM_OK;
}

static plim_status run_passes(profiling_state *profiling) {
  plim_context *ctx = profiling->set->device->ctx;
  int64_t start = plim_now_ns();
  for (int32_t pass = 0; pass < profiling->n_passes; pass++) {
    plim_progress progress = {"profile", pass, profiling->n_passes, plim_now_ns() - start, PLIM_UNKNOWN, PLIM_UNKNOWN};
    plim_context_report(ctx, &progress);
    if (pass >= PASSES_MIN && profiling->has_own_limit && is_over(profiling)) break;
    PLIM_TRY(run_pass(profiling, pass));
  }
  set_medians(profiling);
  return PLIM_OK;
}

static plim_status run_rounds(profiling_state *profiling) {
  for (profiling->round = 0; profiling->round < PLIM_PROFILE_ROUNDS; profiling->round++) {
    int32_t n;
    PLIM_TRY(prepare_round(profiling, &n));
    if (n > 0) PLIM_TRY(run_passes(profiling));
  }
  return have_cases(profiling->set);
}

/* The memory for measuring the cases without a known time; 0 when there are none. */
static plim_measure_needs needs_of(const plim_profile_set *set) {
  plim_measure_needs most = {0};
  for (int32_t g = 0; g < set->n_groups; g++) {
    const plim_profile_group *group = &set->group[g];
    for (int32_t i = group->first; i < group->first + group->n; i++) {
      if (is_unknown(&set->cases[i])) plim_measure_need(group, &set->cases[i], &most);
    }
  }
  return most;
}

static int64_t limit_ns_of(const plim_profiler_options *options) {
  return options->limit_ns > 0 ? options->limit_ns : DEFAULT_SECONDS * (int64_t)1000000000;
}

static void count_left_out(const plim_profile_set *set, plim_profiler_report *report) {
  for (int32_t i = 0; i < set->n_cases && report; i++) {
    const plim_profile_case *profile_case = &set->cases[i];
    report->left_out += profile_case->left_out_ns > 0 && !profile_case->why[0] && profile_case->round >= 0;
  }
}

/* Measure every case whose time is not known, while there is time.
 *   limit_bytes  in   as in plim_measure_begin
 *   measured     out  0: there are no such cases; else 1 */
static plim_status measure(plim_profile_set *set, int32_t repeats, const plim_profiler_options *options,
                           int64_t limit_bytes, int32_t *measured) {
  plim_context *ctx = set->device->ctx;
  profiling_state profiling = {.set = set,
                               .n_passes = repeats + 1,
                               .begin_ns = options->begin_ns > 0 ? options->begin_ns : plim_now_ns(),
                               .limit_ns = limit_ns_of(options),
                               .has_own_limit = options->limit_ns > 0};
  const plim_measure_needs most = needs_of(set);
  int64_t samples = (int64_t)set->n_cases * profiling.n_passes;
  plim_status status = PLIM_OK;
  *measured = most.bytes > 0;
  if (!*measured) return have_cases(set); /* all times are known */
  PLIM_TRY_OR_DONE(plim_allocate(ctx, samples, sizeof *profiling.sample, &profiling.sample));
  if (set->device->api->kernels.recover) {
    PLIM_TRY_OR_DONE(plim_allocate(ctx, set->n_groups, sizeof *profiling.reference, &profiling.reference));
  }
  PLIM_TRY_OR_DONE(plim_measure_begin(set, &most, limit_bytes, &profiling.measurement));
  PLIM_TRY_OR_DONE(plim_busy_devices_open(set, &most, limit_bytes, &profiling.busy));
  status = run_rounds(&profiling);
done:
  plim_busy_devices_close(profiling.busy);
  plim_measure_end(&profiling.measurement);
  plim_release(ctx, profiling.reference, profiling.reference ? set->n_groups : 0, sizeof *profiling.reference);
  plim_release(ctx, profiling.sample, samples, sizeof *profiling.sample);
  return status;
}

static plim_status check_options(plim_context *ctx, const plim_profiler_options *options) {
  PLIM_TRY(plim_check_options(ctx, "plim_profiler_options", options->struct_bytes, sizeof *options));
  int64_t bytes = options->wanted_bytes < 0 ? options->wanted_bytes : options->arena_bytes;
  if (options->repeats < 0 || options->repeats > PASSES_MAX || bytes < 0) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d repeats in %lld bytes: repeats are 1 to %d (0: %d), bytes 0 or more",
                     (int)options->repeats, (long long)bytes, (int)PASSES_MAX, (int)DEFAULT_PASSES);
  }
  if (options->busy_devices < 0 || options->busy_devices > PLIM_BUSY_DEVICES_MAX) {
    return plim_fail(ctx, PLIM_EUSAGE, "%d devices are to be busy beside the measured one: 0 to %d are allowed",
                     (int)options->busy_devices, (int)PLIM_BUSY_DEVICES_MAX);
  }
  return PLIM_OK;
}

/* Can the device compute, with so many others busy? Those on queues are timed on the device itself, and alone. */
static plim_status check_device(const plim_device *device, int32_t busy_devices) {
  if (!device->api->computes) {
    return plim_fail(device->ctx, PLIM_EUNSUPPORTED, "%s computes nothing that could be measured: model the costs",
                     device->api->name);
  }
  if (busy_devices == 0 || (device->api->host_visible && !plim_device_has_queues(device))) return PLIM_OK;
  return plim_fail(device->ctx, PLIM_EUNSUPPORTED, "%s is measured alone: %d devices cannot be busy beside it",
                   device->api->name, (int)busy_devices);
}

plim_status plim_profile_remember(plim_device *device, const char *cache_dir) {
  plim_device_memo *memo = NULL;
  plim_profile_cache *variants = NULL;
  if (plim_device_memo_of(device).variants || !device->api->kernels.recall) return PLIM_OK;
  PLIM_TRY(plim_device_memo_attach(device, &memo));
  PLIM_TRY(plim_allocate(device->ctx, 1, sizeof *variants, &variants));
  plim_status status = plim_profile_cache_open(device->ctx, cache_dir, &device->machine, 0, variants);
  if (status == PLIM_OK) {
    memo->variants = variants;
  } else {
    plim_release(device->ctx, variants, 1, sizeof *variants);
  }
  return status;
}

plim_status plim_profile_measure(plim_device *device, const plim_graph *graph, const plim_profiler_options *options,
                                 plim_profile **out) {
  plim_profiler_options defaults = plim_profiler_options_default();
  plim_profile_set set;
  if (!options) options = &defaults;
  PLIM_TRY(check_options(device->ctx, options));
  PLIM_TRY(check_device(device, options->busy_devices));
  plim_profile_cache cache = {0};
  plim_status status;
  PLIM_TRY(plim_profile_remember(device, options->cache_dir));
  PLIM_TRY(plim_profile_set_make(device, graph, options->arena_bytes, &set));
  set.busy_devices = options->busy_devices;
  PLIM_TRY_OR_DONE(
      plim_profile_cache_open(device->ctx, options->cache_dir, &device->machine, options->busy_devices, &cache));
  PLIM_TRY_OR_DONE(plim_profile_cache_apply(&cache, limit_ns_of(options), &set));
  if (options->sample > 0) plim_profile_set_sample(&set, options->sample);
  const int32_t repeats = options->repeats > 0 ? options->repeats : DEFAULT_PASSES;
  const int64_t limit_bytes = options->wanted_bytes > 0 ? options->wanted_bytes : options->arena_bytes;
  int32_t measured = 0, parts = 0;
  PLIM_TRY_OR_DONE(measure(&set, repeats, options, limit_bytes, &measured));
  PLIM_TRY_OR_DONE(plim_profile_set_add_parts(&set, &parts)); /* of the fastest variants, so after their times */
  if (parts > 0) PLIM_TRY_OR_DONE(plim_profile_cache_apply(&cache, limit_ns_of(options), &set));
  if (parts > 0) PLIM_TRY_OR_DONE(plim_profile_set_measure_parts(&set, repeats, limit_bytes, &measured));
  if (measured > 0) PLIM_TRY_OR_DONE(plim_profile_cache_store(&cache, &set));
  count_left_out(&set, options->report);
  status = plim_profile_set_finish(&set, 1, out);
done:
  plim_profile_cache_close(&cache);
  plim_profile_set_free(&set);
  return status;
}
