/* The profile document: the costs of each variant of each op of one graph.
 *
 * Variants are in this document and not in the graph, because they depend on device, instruction set and library.
 * Variants of one op with equal numerics keys give equal bits. graph.h has the rules for every document.
 *
 * profile_text.c reads and writes the document, profile.c has the rest. */
#ifndef PLIM_RUNTIME_GRAPH_PROFILE_H
#define PLIM_RUNTIME_GRAPH_PROFILE_H

#include "runtime/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLIM_VARIANT_NAME_BYTES = 32 };

typedef struct plim_variant {
  char name[PLIM_VARIANT_NAME_BYTES];         /* "onednn-direct-jit", "single-source", ... unique in its op */
  char numerics_key[PLIM_VARIANT_NAME_BYTES]; /* name of its bits: equal keys of one op give equal bits */
  int64_t time_ns;                            /* median; >= 0 */
  int64_t workspace_bytes;                    /* not rounded; >= 0 */
} plim_variant;

/* A variant that the device lists and the profile leaves out, because it failed or its result was wrong. */
enum { PLIM_DROPPED_WHY_BYTES = 160 };
typedef struct plim_dropped {
  int32_t op; /* the first op with that description */
  char name[PLIM_VARIANT_NAME_BYTES];
  char why[PLIM_DROPPED_WHY_BYTES]; /* one sentence, which includes the device's message */
} plim_dropped;

/* Does a time count as equal to the least one? It does when it is at most 3 % above. Both are ns, >= 0. */
int plim_variant_ties(int64_t time_ns, int64_t fastest_ns);

/* The least time of variant [n] with this numerics key (NULL: any). PLIM_TIME_INFINITE when there is none. O(n). */
int64_t plim_variants_least_ns(const plim_variant *variant, int32_t n, const char *numerics_key);

/* Index of the variant that counts as fastest among variant [n] with this numerics key (NULL: any). Of those that tie
 * with the least time it has the least workspace, then the lower index. -1 when there is none. O(n). */
int32_t plim_variants_fastest(const plim_variant *variant, int32_t n, const char *numerics_key);

/* The fastest of variant [n] with this numerics key (NULL: any) and at most `limit` bytes of workspace; where there is
 * none, the one with the least workspace. Of equal ones the first. NULL when n is 0 or no variant has the key.
 *   first  in  a variant that is considered before the others, whatever its key; NULL: none
 * O(n). */
const plim_variant *plim_variants_within(const plim_variant *variant, int32_t n, const char *numerics_key,
                                         int64_t limit, const plim_variant *first);

/* The machine on which the figures were measured, a part of the numerics. Unknown strings are "". */
typedef struct plim_machine {
  char device[32];  /* "cpu", "sim", ... */
  char cpu[96];     /* model name */
  char isa[32];     /* "x86-64-v4", ... */
  char library[96]; /* "onednn 2.6.3" */
  char build[32];   /* version of our kernels */
  int32_t threads;
} plim_machine;

/* What is asked when two machines are compared.
 *   same   are figures of one figures of the other? Every field must be equal
 *   holds  does what was made for `made_for` hold on `here`? A field that `made_for` does not know is not compared
 *   bits   do kernels give the same bits on both? The model of the CPU is not compared */
typedef enum plim_machine_question { PLIM_MACHINE_SAME, PLIM_MACHINE_HOLDS, PLIM_MACHINE_BITS } plim_machine_question;

/* The first field in which two machines differ. The texts are borrowed from the machines; "": not known, or threads. */
typedef struct plim_machine_difference {
  const char *field; /* for a sentence: "the instruction set" */
  const char *made_for, *here;
} plim_machine_difference;

/* Compare two machines. Returns 1 when they differ.
 *   first  out  may be NULL; untouched when they do not differ */
int plim_machine_differs(const plim_machine *made_for, const plim_machine *here, plim_machine_question question,
                         plim_machine_difference *first);

/* PLIM_EDATA when they differ, with a sentence that begins with `what`, as "plan 0", and names the first field. */
PLIM_MUST_USE plim_status plim_machine_match(plim_context *ctx, const char *what, const plim_machine *made_for,
                                             const plim_machine *here, plim_machine_question question);

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

/* Make a profile from rows, which are copied. Free it with plim_profile_free.
 *   measured  in                  1: measured, 0: modelled or imported
 *   first     [n_ops + 1] in      ascending, from 0; at least one variant an op
 *   variant   [first[n_ops]] in   names unique in an op, times and workspaces >= 0
 * PLIM_EDATA: a count, name or figure is not allowed. O(rows). */
PLIM_MUST_USE plim_status plim_profile_make(const plim_graph *graph, const plim_machine *machine, int measured,
                                            const int32_t *first, const plim_variant *variant, plim_profile **out);

/* Replace the notes about variants that were left out.
 *   profile       in/out  freed and replaced by a new profile; kept on failure
 *   dropped  [n]  in      copied
 * PLIM_EDATA: a note is not allowed. */
PLIM_MUST_USE plim_status plim_profile_note_dropped(plim_profile **profile, int32_t n, const plim_dropped *dropped);

/* Make a profile with one variant "given" for each op. Time and workspace are the graph's: plim_op.time_ns, or 1 ns
 * when there is none; the workspace of plim_graph.costs, or 0. O(ops). */
PLIM_MUST_USE plim_status plim_profile_from_graph(const plim_graph *graph, plim_profile **out);

/* Make a profile with one variant "model" for each op by a roofline (Williams et al., CACM 2009):
 *   time = ceil(max(FLOPs / flops_per_ns, traffic / bytes_per_ns)) + launch_ns, in ns, at most 2^53.
 * The workspace is as in plim_profile_from_graph. PLIM_EUSAGE: a rate is not positive, or launch_ns is negative.
 * O(ops). */
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
