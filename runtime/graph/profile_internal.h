/* What profiles, plans and their readers share: checks of a machine and a variant, a profile from its rows. */
#ifndef PLIM_RUNTIME_GRAPH_PROFILE_INTERNAL_H
#define PLIM_RUNTIME_GRAPH_PROFILE_INTERNAL_H

#include "runtime/base/text.h"
#include "runtime/graph/names.h"
#include "runtime/graph/profile.h"

PLIM_MUST_USE plim_status plim_machine_check(plim_context *ctx, const plim_machine *machine);
PLIM_MUST_USE plim_status plim_variant_check(plim_context *ctx, const plim_variant *variant);

/* plim_profile_make without the graph at hand: its fingerprint and number of ops instead. */
PLIM_MUST_USE plim_status plim_profile_from_rows(plim_context *ctx, const char *fingerprint, int32_t n_ops,
                                                 const plim_machine *machine, int measured, const int32_t *first,
                                                 const plim_variant *variant, plim_profile **out);

/* The canonical text, and a profile from it; `file` names it in sentences. */
void plim_profile_write(plim_text *text, const plim_profile *profile);
PLIM_MUST_USE plim_status plim_profile_parse(plim_context *ctx, const char *file, const char *text, int64_t bytes,
                                             plim_profile **out);

#endif
