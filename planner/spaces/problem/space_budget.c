/* Reads and writes budgets of spaces, and tells whether a node has room within them. A text is read one part after
 * another, each a name, '=' and a size. */
#include "planner/spaces/problem/space_problem.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/size.h"

enum { PART_BYTES = 96 };

static plim_status refuse_space(const plim_platform *p, const char *name) {
  char names[256] = "";
  size_t used = 0;
  for (int32_t s = 0; s < p->n_spaces && used < sizeof names - PLIM_COSTS_NAME_BYTES - 2; s++) {
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", s > 0 ? ", " : "", p->space[s].name);
  }
  return plim_fail(p->ctx, PLIM_EUSAGE, "platform %s has no space '%s'; it has %s", p->name, name, names);
}

static plim_status read_part(const plim_platform *p, const char *part, int64_t whole, int alone, uint8_t *named,
                             int64_t *budget) {
  const char *equals = strchr(part, '=');
  char name[PART_BYTES];
  int32_t s = p->device[0].space;
  plim_size size;
  if (!equals && !alone) {
    return plim_fail(p->ctx, PLIM_EUSAGE, "'%s' names no space: of several budgets each is SPACE=SIZE", part);
  }
  if (equals) {
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - part), part);
    s = plim_platform_find_space(p, name);
    if (s < 0) return refuse_space(p, name);
  }
  PLIM_TRY(plim_size_parse(p->ctx, equals ? equals + 1 : part, &size));
  int64_t bytes = plim_size_bytes(&size, whole);
  if (bytes < 0) return plim_fail(p->ctx, PLIM_EUSAGE, "%s does not fit in 63 bits", part);
  if (named[s]) return plim_fail(p->ctx, PLIM_EUSAGE, "space %s has two budgets", p->space[s].name);
  named[s] = 1;
  budget[s] = bytes;
  return PLIM_OK;
}

plim_status plim_space_budget_parse(const plim_platform *p, const char *text, int64_t whole, int64_t *budget) {
  uint8_t named[PLIM_PLATFORM_SPACES] = {0};
  char part[PART_BYTES];
  int alone = strchr(text, ',') == NULL;
  for (const char *at = text; at;) {
    const char *comma = strchr(at, ',');
    size_t n = comma ? (size_t)(comma - at) : strlen(at);
    if (n >= sizeof part) return plim_fail(p->ctx, PLIM_EUSAGE, "'%.80s' is too long for SPACE=SIZE", at);
    memcpy(part, at, n);
    part[n] = '\0';
    PLIM_TRY(read_part(p, part, whole, alone, named, budget));
    at = comma ? comma + 1 : NULL;
  }
  return PLIM_OK;
}

void plim_space_name_budgets(plim_text *text, const plim_platform *platform, const int64_t *budget) {
  for (int32_t s = 0, named = 0; s < platform->n_spaces; s++) {
    if (budget[s] == INT64_MAX) continue;
    plim_text_format(text, "%s%s=%lld", named++ ? "," : "", platform->space[s].name, (long long)budget[s]);
  }
  if (text->length == 0) plim_text_add(text, "unlimited memory");
}

int plim_space_has_room(const plim_space_problem *p, const int64_t *budget, int32_t node, int32_t d) {
  const plim_space_node *v = &p->node[node];
  int64_t left = budget[p->platform->device[d].space] - v->bytes - v->workspace;
  for (int32_t i = 0; i < v->n_preds; i++) left -= p->node[v->pred[i]].bytes;
  return plim_space_run_ns(p, node, d) >= 0 && left >= 0;
}
