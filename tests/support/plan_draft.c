/* Copies of a plan's arrays. */
#include "tests/support/plan_draft.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/plan_internal.h"

static void *copy(const void *from, int32_t count, size_t size) {
  void *to = calloc((size_t)count + 1, size);
  cr_assert_not_null(to);
  memcpy(to, from, (size_t)count * size);
  return to;
}

plan_draft plan_draft_make(const plim_plan *plan) {
  plan_draft draft = {.plan = *plan};
  draft.plan.command = draft.command = copy(plan->command, plan->n_commands, sizeof *plan->command);
  draft.plan.buffer = draft.buffer = copy(plan->buffer, plan->n_buffers, sizeof *plan->buffer);
  draft.plan.variant = draft.variant = copy(plan->variant, plan->n_variants, sizeof *plan->variant);
  return draft;
}

static int by_order(const void *a, const void *b) {
  return plim_plan_buffer_compare(a, b);
}

void plan_draft_sort(plan_draft *draft) {
  if (draft->plan.n_buffers > 1) {
    qsort(draft->buffer, (size_t)draft->plan.n_buffers, sizeof *draft->buffer, by_order);
  }
}

void plan_draft_free(plan_draft *draft) {
  free(draft->command);
  free(draft->buffer);
  free(draft->variant);
}
