/* Functions that profiles, plans and their readers share: checks of a machine and a variant, a profile from its rows.
 * profile.c has the checks and rows, profile_text.c the text. Functions run on the thread of the context. */
#ifndef PLIM_RUNTIME_GRAPH_PROFILE_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_PROFILE_INTERNAL_H

#include "runtime/base/text.h"
#include "runtime/graph/printable.h"
#include "runtime/graph/profile.h"

/* Check the texts and numbers of a machine, or of a variant. PLIM_EDATA. */
PLIM_MUST_USE plim_status plim_machine_check(plim_context *ctx, const plim_machine *machine);
PLIM_MUST_USE plim_status plim_variant_check(plim_context *ctx, const plim_variant *variant);

/* plim_profile_make with the graph's fingerprint and number of ops instead of the graph. */
PLIM_MUST_USE plim_status plim_profile_from_rows(plim_context *ctx, const char *fingerprint, int32_t n_ops,
                                                 const plim_machine *machine, int measured, const int32_t *first,
                                                 const plim_variant *variant, plim_profile **out);

/* Append the canonical text of a profile. Make a profile from such a text; `file` names it in sentences. PLIM_EDATA. */
void plim_profile_write(plim_text *text, const plim_profile *profile);
PLIM_MUST_USE plim_status plim_profile_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                             plim_profile **out);

#endif
