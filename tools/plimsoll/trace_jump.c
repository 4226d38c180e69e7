/* A row each; what happens at a step is asked step by step. */
#include "tools/plimsoll/trace_jump.h"

#include <stdio.h>
#include <string.h>

static plim_status always(const traced *t, int32_t step, int *yes) {
  (void)t, (void)step;
  *yes = 1;
  return PLIM_OK;
}

static plim_status runs_again(const traced *t, int32_t step, int *yes) {
  *yes = plim_inspect_is_repeat(t->inspect, step);
  return PLIM_OK;
}

static plim_status fails(const traced *t, int32_t step, int *yes) {
  *yes = traced_fails_at(t, step);
  return PLIM_OK;
}

static plim_status ends_buffer(const traced *t, int32_t step, int *yes) {
  *yes = 0;
  for (int32_t i = 0; i < t->plan->n_buffers && !*yes; i++) {
    *yes = t->plan->buffer[i].storage >= 0 && t->plan->buffer[i].end == step + 1;
  }
  return PLIM_OK;
}

/* Online: room is made before the step. Planned: what ends after the step is recomputed later. */
static plim_status evicts(const traced *t, int32_t step, int *yes) {
  const plim_decision *choice;
  int32_t first;
  *yes = traced_choices(t, step, &choice, &first) > 0;
  if (t->decisions) return PLIM_OK;
  for (int32_t i = 0; i < t->plan->n_buffers && !*yes; i++) {
    const plim_plan_buffer *buffer = &t->plan->buffer[i];
    plim_absence a;
    if (buffer->storage < 0 || buffer->end != step + 1 || buffer->end >= t->plan->n_steps) continue;
    PLIM_TRY(plim_inspect_absence(t->inspect, buffer->storage, buffer->end, &a));
    *yes = a.kind == PLIM_ABSENT_DROPPED;
  }
  return PLIM_OK;
}

static const trace_jump jumps[] = {
    {'n', "next step", "step", 1, always},
    {'p', "previous step", "step", -1, always},
    {'r', "next step that runs an op again", "op run again", 1, runs_again},
    {'R', "previous such step", "op run again", -1, runs_again},
    {'d', "next step with an eviction, or a drop of what is needed again", "eviction or drop", 1, evicts},
    {'D', "previous such step", "eviction or drop", -1, evicts},
    {'e', "next step at which a lifetime ends", "end of a buffer", 1, ends_buffer},
    {'E', "previous such step", "end of a buffer", -1, ends_buffer},
    {'o', "the step that runs out of memory, or is given up", "request without room", 1, fails},
};
enum { JUMPS = sizeof jumps / sizeof *jumps };

const trace_jump *trace_jump_at(int32_t i) {
  return i >= 0 && i < JUMPS ? &jumps[i] : NULL;
}

const trace_jump *trace_jump_find(char key) {
  for (int i = 0; i < JUMPS; i++) {
    if (jumps[i].key == key) return &jumps[i];
  }
  return NULL;
}

plim_status trace_jump_to(const trace_jump *jump, const traced *t, int32_t from, int32_t *step) {
  *step = -1;
  for (int32_t j = from + jump->direction; j >= 0 && j < t->plan->n_steps && *step < 0; j += jump->direction) {
    int yes;
    PLIM_TRY(jump->happens(t, j, &yes));
    if (yes) *step = j;
  }
  return PLIM_OK;
}

/* ---- two runs ---- */

static int same_run(const traced *a, const traced *b, int32_t j) {
  const plim_step *x = &a->plan->step[j], *y = &b->plan->step[j];
  if (x->kind != y->kind || x->op != y->op) return 0;
  return strcmp(a->plan->variant[x->variant].variant.name, b->plan->variant[y->variant].variant.name) == 0;
}

/* The first step at which a lifetime begins, ends or lies elsewhere in the other plan. Buffers are sorted by begin. */
static int32_t first_other_buffer(const plim_plan *a, const plim_plan *b, int32_t n_steps) {
  int32_t least = n_steps;
  for (int32_t i = 0; i < a->n_buffers && i < b->n_buffers; i++) {
    const plim_plan_buffer *x = &a->buffer[i], *y = &b->buffer[i];
    int32_t begin = x->begin < y->begin ? x->begin : y->begin, end = x->end < y->end ? x->end : y->end;
    if (begin >= least) return least;
    if (x->storage != y->storage || x->begin != y->begin || x->offset != y->offset) return begin;
    if (x->end != y->end && end < least) least = end;
  }
  return least;
}

plim_status trace_divergence(const traced *a, const traced *b, trace_parting *out) {
  if (strcmp(a->graph->fingerprint, b->graph->fingerprint) != 0) {
    return plim_fail(a->ctx, PLIM_EDATA, "these are runs of different graphs: %s, %.12s, and %s, %.12s", a->graph->name,
                     a->graph->fingerprint, b->graph->name, b->graph->fingerprint);
  }
  int32_t n = a->plan->n_steps < b->plan->n_steps ? a->plan->n_steps : b->plan->n_steps, run = n, place = n;
  for (int32_t j = 0; j < n && run == n; j++) {
    if (!same_run(a, b, j)) run = j;
  }
  if (a->plan->packed && b->plan->packed) place = first_other_buffer(a->plan, b->plan, n);
  int equal_length = a->plan->n_steps == b->plan->n_steps;
  *out = (trace_parting){run == n && equal_length ? -1 : run, place == n && equal_length ? -1 : place};
  return PLIM_OK;
}

int32_t trace_parting_step(const traced *a, const trace_parting *parting) {
  int32_t step = parting->run >= 0 ? parting->run : parting->place;
  return step < a->plan->n_steps ? step : -1;
}

void trace_parting_say(const traced *a, const traced *b, const trace_parting *parting, char *text, size_t size) {
  int32_t run = parting->run, place = parting->place;
  if (run < 0 && place < 0) {
    (void)snprintf(text, size, "the two runs are equal");
  } else if (run < 0) {
    (void)snprintf(text, size,
                   "the same steps; the other run has something elsewhere, or for another time, from here on");
  } else {
    const char *op = run < b->plan->n_steps ? traced_op_name(b, run) : "its end";
    int n = snprintf(
        text, size,
        run < a->plan->n_steps ? "the other run has %s here" : "equal as far as this run goes; the other has %s then",
        op);
    int also = place >= 0 && place < run && n > 0 && (size_t)n < size;
    if (also) (void)snprintf(text + n, size - (size_t)n, "; places differ from step %d on", (int)place);
  }
}
