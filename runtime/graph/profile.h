/* The profile document: what each op of one graph costs, by variant.
 *
 * Variants are here and not in the graph, because they depend on device, instruction set and library. Variants of
 * one op with equal numerics keys give equal bits. graph.h says what holds for every document. */
#ifndef PLIM_RUNTIME_GRAPH_PROFILE_H
#define PLIM_RUNTIME_GRAPH_PROFILE_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_VARIANT_NAME_BYTES = 32 };

typedef struct plim_variant {
  char name[PLIM_VARIANT_NAME_BYTES];  /* "onednn-direct-jit", "single-source", ... unique in its op */
  char label[PLIM_VARIANT_NAME_BYTES]; /* numerics key */
  int64_t time_ns;                     /* median; >= 0 */
  int64_t workspace_bytes;             /* not rounded; >= 0 */
} plim_variant;

/* A variant that the device listed and that the profile leaves out: it failed, or its result was wrong. */
enum { PLIM_DROPPED_WHY_BYTES = 160 };
typedef struct plim_dropped {
  int32_t op; /* the first op with that description */
  char name[PLIM_VARIANT_NAME_BYTES];
  char why[PLIM_DROPPED_WHY_BYTES]; /* one sentence, the device's own words included */
} plim_dropped;

/* 1 when a time counts as equal to the least one: it is at most 3 % above it. ns, both >= 0. */
int plim_variant_ties(int64_t time_ns, int64_t fastest_ns);

/* Index of the variant that counts as fastest among v [n] with the numerics key `label` (NULL: any). Of those that tie
 * with the least time it has the least workspace, then the lower index. -1 when there is none. O(n). */
int32_t plim_variants_fastest(const plim_variant *v, int32_t n, const char *label);

/* Where the figures come from; part of the numerics. Unknown strings are "". */
typedef struct plim_machine {
  char device[32];  /* "cpu", "sim", ... */
  char cpu[96];     /* model name */
  char isa[32];     /* "x86-64-v4", ... */
  char library[96]; /* "onednn 2.6.3" */
  char build[32];   /* version of our kernels */
  int32_t threads;
} plim_machine;

typedef struct plim_profile {
  plim_context *ctx;
  char fingerprint[PLIM_FINGERPRINT_BYTES]; /* of the graph */
  plim_machine machine;
  int32_t measured; /* 1 measured, 0 modelled or imported */
  int32_t n_ops;
  const int32_t *first; /* [n_ops + 1]; variants of op o are variant[first[o] .. first[o + 1]), at least one */
  const plim_variant *variant;
  int32_t n_dropped;
  const plim_dropped *dropped; /* [n_dropped] */
} plim_profile;

/* A profile from rows, which are copied.
 *   measured  in                  1: measured, 0: modelled or imported
 *   first     [n_ops + 1] in      ascending, from 0; at least one variant an op
 *   variant   [first[n_ops]] in   names unique in an op, times and workspaces >= 0
 * PLIM_EDATA when counts, names or figures are not allowed. O(rows). */
PLIM_MUST_USE plim_status plim_profile_make(const plim_graph *graph, const plim_machine *machine, int measured,
                                            const int32_t *first, const plim_variant *variant, plim_profile **out);

/* Set the notes of the variants that were left out: dropped [n] in, copied, in place of former notes. *profile in, out:
 * freed and replaced by a new one; kept on failure. PLIM_EDATA: a note that is not allowed. */
PLIM_MUST_USE plim_status plim_profile_note_dropped(plim_profile **profile, int32_t n, const plim_dropped *dropped);

/* One variant "given" an op, with the time that the graph has (plim_op.time_ns; none: 1 ns) and no workspace. O(ops).
 */
PLIM_MUST_USE plim_status plim_profile_from_graph(const plim_graph *graph, plim_profile **out);

/* Roofline (Williams et al., CACM 2009), one variant "model" an op, without workspace:
 *   time = ceil(max(FLOPs / flops_per_ns, traffic / bytes_per_ns)) + launch_ns, in ns, at most 2^53.
 * PLIM_EUSAGE: a rate that is not positive, or a negative launch_ns. O(ops). */
typedef struct plim_roofline {
  double flops_per_ns, bytes_per_ns;
  int64_t launch_ns;
} plim_roofline;
PLIM_MUST_USE plim_status plim_profile_model(const plim_graph *graph, const plim_roofline *roofline,
                                             plim_profile **out);

void plim_profile_free(plim_profile *profile); /* NULL is legal */

/* Write and read canonical JSON, with the errors of plim_graph_save and plim_graph_load. */
PLIM_MUST_USE plim_status plim_profile_save(const plim_profile *profile, const char *path);
PLIM_MUST_USE plim_status plim_profile_load(plim_context *ctx, const char *path, plim_profile **out);

#ifdef __cplusplus
}
#endif
#endif
