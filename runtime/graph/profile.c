/* Makes profiles from rows, from a graph's own costs, and from a roofline. */
#include "runtime/graph/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/array.h"
#include "runtime/base/integers.h"
#include "runtime/graph/profile_internal.h"

typedef struct own_profile {
  plim_profile profile; /* first: what callers hold */
  int64_t block_bytes;
  int32_t *first;
  plim_variant *variant;
  plim_dropped *dropped;
} own_profile;

/* Give each array of `own` its address in the block. Returns the address of the whole. */
static own_profile *carve(int32_t n_ops, int32_t n_variants, int32_t n_dropped, plim_block *block, own_profile *own) {
  own_profile *place = plim_block_take(block, 1, sizeof *own);
  own->first = plim_block_take(block, (int64_t)n_ops + 1, sizeof *own->first);
  own->variant = plim_block_take(block, n_variants, sizeof *own->variant);
  own->dropped = plim_block_take(block, n_dropped, sizeof *own->dropped);
  return place;
}

plim_status plim_machine_check(plim_context *ctx, const plim_machine *m) {
  PLIM_TRY(plim_printable_text(ctx, "device", m->device, sizeof m->device));
  PLIM_TRY(plim_printable_text(ctx, "cpu", m->cpu, sizeof m->cpu));
  PLIM_TRY(plim_printable_text(ctx, "isa", m->isa, sizeof m->isa));
  PLIM_TRY(plim_printable_text(ctx, "library", m->library, sizeof m->library));
  PLIM_TRY(plim_printable_text(ctx, "build", m->build, sizeof m->build));
  if (m->threads < 0) return plim_fail(ctx, PLIM_EDATA, "threads: %d is negative", m->threads);
  return PLIM_OK;
}

int plim_machine_differs(const plim_machine *made_for, const plim_machine *here, plim_machine_question question,
                         plim_machine_difference *first) {
  const plim_machine_difference text[] = {{"the device", made_for->device, here->device},
                                          {"the CPU", made_for->cpu, here->cpu},
                                          {"the instruction set", made_for->isa, here->isa},
                                          {"the library", made_for->library, here->library},
                                          {"the build", made_for->build, here->build}};
  enum { CPU = 1, N_TEXTS = sizeof text / sizeof *text };
  const int known_alone = question == PLIM_MACHINE_HOLDS;
  for (int i = 0; i < N_TEXTS; i++) {
    if (strcmp(text[i].made_for, text[i].here) == 0 || (known_alone && !text[i].made_for[0])) continue;
    if (i == CPU && question == PLIM_MACHINE_BITS) continue;
    if (first) *first = text[i];
    return 1;
  }
  if (made_for->threads == here->threads || (known_alone && made_for->threads == 0)) return 0;
  if (first) *first = (plim_machine_difference){"threads", "", ""};
  return 1;
}

plim_status plim_machine_match(plim_context *ctx, const char *what, const plim_machine *made_for,
                               const plim_machine *here, plim_machine_question question) {
  plim_machine_difference first;
  if (!plim_machine_differs(made_for, here, question, &first)) return PLIM_OK;
  if (strcmp(first.field, "threads") == 0) {
    return plim_fail(ctx, PLIM_EDATA, "%s was made for %d threads and this device has %d", what, made_for->threads,
                     here->threads);
  }
  return plim_fail(ctx, PLIM_EDATA, "%s was made for %s \"%s\" and this device has \"%s\": plan again here", what,
                   first.field, first.made_for, first.here);
}

plim_status plim_variant_check(plim_context *ctx, const plim_variant *variant) {
  PLIM_TRY(plim_printable_text(ctx, "a variant's name", variant->name, sizeof variant->name));
  PLIM_TRY(plim_printable_text(ctx, "a variant's numerics key", variant->numerics_key, sizeof variant->numerics_key));
  if (!variant->name[0] || !variant->numerics_key[0]) {
    return plim_fail(ctx, PLIM_EDATA, "a variant's name or numerics key is empty");
  }
  if (variant->time_ns < 0) {
    return plim_fail(ctx, PLIM_EDATA, "variant '%s': time_ns %lld is negative", variant->name,
                     (long long)variant->time_ns);
  }
  if (variant->workspace_bytes < 0 || variant->workspace_bytes > INT64_MAX - PLIM_ALIGN) {
    return plim_fail(ctx, PLIM_EDATA, "variant '%s': workspace_bytes %lld is not a size", variant->name,
                     (long long)variant->workspace_bytes);
  }
  return PLIM_OK;
}

static plim_status check_op(plim_context *ctx, int32_t op, const plim_variant *variant, int32_t n) {
  if (n < 1) return plim_fail(ctx, PLIM_EDATA, "op %d has no variant", op);
  for (int32_t i = 0; i < n; i++) {
    PLIM_TRY(plim_variant_check(ctx, &variant[i]));
    for (int32_t j = 0; j < i; j++) {
      if (strcmp(variant[i].name, variant[j].name) == 0) {
        return plim_fail(ctx, PLIM_EDATA, "op %d has two variants '%s'", op, variant[i].name);
      }
    }
  }
  return PLIM_OK;
}

/* Make a profile with memory of its own from one with borrowed arrays. */
static plim_status copy(const plim_profile *from, plim_profile **out) {
  const int32_t n_ops = from->n_ops, n_variants = from->first[n_ops];
  own_profile own = {.block_bytes = 0};
  plim_block block = {NULL, 0};
  (void)carve(n_ops, n_variants, from->n_dropped, &block, &own);
  PLIM_TRY(plim_block_allocate(from->ctx, &block));
  own_profile *place = carve(n_ops, n_variants, from->n_dropped, &block, &own);
  own.block_bytes = block.bytes;
  memcpy(own.first, from->first, ((size_t)n_ops + 1) * sizeof *own.first);
  memcpy(own.variant, from->variant, (size_t)n_variants * sizeof *own.variant);
  if (from->n_dropped > 0) memcpy(own.dropped, from->dropped, (size_t)from->n_dropped * sizeof *own.dropped);
  own.profile = *from;
  own.profile.first = own.first;
  own.profile.variant = own.variant;
  own.profile.dropped = own.dropped;
  *place = own;
  *out = &place->profile;
  return PLIM_OK;
}

plim_status plim_profile_from_rows(plim_context *ctx, const char *fingerprint, int32_t n_ops,
                                   const plim_machine *machine, int measured, const int32_t *first,
                                   const plim_variant *variant, plim_profile **out) {
  PLIM_TRY(plim_machine_check(ctx, machine));
  if (first[0] != 0) return plim_fail(ctx, PLIM_EDATA, "the first op's variants begin at %d, not 0", first[0]);
  for (int32_t o = 0; o < n_ops; o++) {
    int32_t count = first[o + 1] < first[o] ? 0 : first[o + 1] - first[o];
    PLIM_TRY(check_op(ctx, o, variant + first[o], count));
  }
  plim_profile rows = {
      .ctx = ctx, .machine = *machine, .measured = measured != 0, .n_ops = n_ops, .first = first, .variant = variant};
  memcpy(rows.fingerprint, fingerprint, PLIM_FINGERPRINT_BYTES);
  return copy(&rows, out);
}

static plim_status check_dropped(plim_context *ctx, int32_t n_ops, const plim_dropped *d) {
  if (d->op < 0 || d->op >= n_ops) {
    return plim_fail(ctx, PLIM_EDATA, "a variant of op %d of %d is dropped", d->op, n_ops);
  }
  PLIM_TRY(plim_printable_text(ctx, "a dropped variant's name", d->name, sizeof d->name));
  return plim_printable_text(ctx, "why a variant is dropped", d->why, sizeof d->why);
}

plim_status plim_profile_note_dropped(plim_profile **profile, int32_t n, const plim_dropped *dropped) {
  plim_profile rows = **profile, *made = NULL;
  for (int32_t i = 0; i < n; i++) PLIM_TRY(check_dropped(rows.ctx, rows.n_ops, &dropped[i]));
  rows.n_dropped = n;
  rows.dropped = dropped;
  PLIM_TRY(copy(&rows, &made));
  plim_profile_free(*profile);
  *profile = made;
  return PLIM_OK;
}

void plim_profile_free(plim_profile *profile) {
  if (!profile) return;
  own_profile *own = (own_profile *)profile; /* the profile is its first member */
  plim_release(profile->ctx, own, own->block_bytes, 1);
}

plim_status plim_profile_make(const plim_graph *graph, const plim_machine *machine, int measured, const int32_t *first,
                              const plim_variant *variant, plim_profile **out) {
  return plim_profile_from_rows(graph->ctx, graph->fingerprint, graph->n_ops, machine, measured, first, variant, out);
}

/* ---- the fastest variant ---- */

int plim_variant_ties(int64_t time_ns, int64_t fastest_ns) {
  return time_ns - fastest_ns <= fastest_ns / 100 * 3 + fastest_ns % 100 * 3 / 100;
}

int64_t plim_variants_least_ns(const plim_variant *variant, int32_t n, const char *numerics_key) {
  int64_t least_ns = PLIM_TIME_INFINITE;
  for (int32_t i = 0; i < n; i++) {
    if ((!numerics_key || strcmp(variant[i].numerics_key, numerics_key) == 0) && variant[i].time_ns < least_ns) {
      least_ns = variant[i].time_ns;
    }
  }
  return least_ns;
}

int32_t plim_variants_fastest(const plim_variant *variant, int32_t n, const char *numerics_key) {
  const int64_t least_ns = plim_variants_least_ns(variant, n, numerics_key);
  int32_t best = PLIM_NONE;
  for (int32_t i = 0; i < n; i++) {
    if ((numerics_key && strcmp(variant[i].numerics_key, numerics_key) != 0) ||
        !plim_variant_ties(variant[i].time_ns, least_ns)) {
      continue;
    }
    if (best < 0 || variant[i].workspace_bytes < variant[best].workspace_bytes) best = i;
  }
  return best;
}

/* Is the variant a better choice than another within a limit on workspace? */
static int is_better_within(const plim_variant *variant, const plim_variant *other, int64_t limit) {
  const int fits = variant->workspace_bytes <= limit, other_fits = other->workspace_bytes <= limit;
  if (fits != other_fits) return fits;
  return fits ? variant->time_ns < other->time_ns : variant->workspace_bytes < other->workspace_bytes;
}

const plim_variant *plim_variants_within(const plim_variant *variant, int32_t n, const char *numerics_key,
                                         int64_t limit, const plim_variant *first) {
  const plim_variant *best = first;
  for (int32_t i = 0; i < n; i++) {
    if (numerics_key && strcmp(variant[i].numerics_key, numerics_key) != 0) continue;
    if (!best || is_better_within(&variant[i], best, limit)) best = &variant[i];
  }
  return best;
}

/* ---- one variant for each op, with its time from a function ---- */

typedef int64_t time_of(const plim_graph *graph, int32_t op, const plim_roofline *roofline);

static plim_status make_single(const plim_graph *graph, const char *name, time_of *of, const plim_roofline *roofline,
                               plim_profile **out) {
  plim_context *ctx = graph->ctx;
  int64_t n = graph->n_ops;
  int32_t *first = NULL;
  plim_variant *variant = NULL;
  plim_machine machine = {.threads = 0};
  plim_status status;
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n + 1, sizeof *first, &first));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, n, sizeof *variant, &variant));
  for (int32_t o = 0; o < n; o++) {
    first[o + 1] = o + 1;
    (void)snprintf(variant[o].name, sizeof variant[o].name, "%s", name);
    (void)snprintf(variant[o].numerics_key, sizeof variant[o].numerics_key, "%s", name);
    variant[o].time_ns = of(graph, o, roofline);
    variant[o].workspace_bytes = graph->costs ? graph->costs->workspace[o] : 0;
  }
  PLIM_TRY_OR_DONE(plim_profile_make(graph, &machine, 0, first, variant, out));
done:
  plim_release(ctx, variant, n, sizeof *variant);
  plim_release(ctx, first, n + 1, sizeof *first);
  return status;
}

static int64_t given_time(const plim_graph *graph, int32_t op, const plim_roofline *roofline) {
  (void)roofline;
  return graph->op[op].time_ns < 0 ? 1 : graph->op[op].time_ns;
}

plim_status plim_profile_from_graph(const plim_graph *graph, plim_profile **out) {
  return make_single(graph, "given", given_time, NULL, out);
}

static int64_t roofline_time(const plim_graph *graph, int32_t op, const plim_roofline *roofline) {
  plim_op_desc desc;
  plim_graph_describe(graph, op, &desc);
  double compute = (double)plim_op_flops(&desc) / roofline->flops_per_ns;
  double memory = (double)plim_op_traffic(&desc) / roofline->bytes_per_ns;
  double time = ceil(fmax(compute, memory)) + (double)roofline->launch_ns;
  return plim_integers_from_real(time);
}

plim_status plim_profile_model(const plim_graph *graph, const plim_roofline *roofline, plim_profile **out) {
  if (!(roofline->flops_per_ns > 0) || !(roofline->bytes_per_ns > 0) || roofline->launch_ns < 0) {
    return plim_fail(graph->ctx, PLIM_EUSAGE,
                     "a roofline needs positive rates and no negative launch time: %g, %g, %lld",
                     roofline->flops_per_ns, roofline->bytes_per_ns, (long long)roofline->launch_ns);
  }
  return make_single(graph, "model", roofline_time, roofline, out);
}
