/* Each node v has retention intervals [start, end), one a copy, over events: stage t has t + 1 of them, event(t, k) is
 * the turn of node k in stage t. The first copy starts at event(v, v), further ones are optional and start at
 * event(t, v), t > v. Intervals of all nodes fit under the limit at every event; a copy of v needs, while it is made, a
 * copy of each u that it reads: a reservoir for each such pair, which copies of u fill from the event after their
 * start, and the run of v takes one from. Source: Bartan et al., ICML 2023, without the coarsening of lengths: the
 * model is exact. */
#include "planner/exact/moccasin.h"

typedef struct copy {
  int32_t start, end; /* variables; start -1: fixed */
  int64_t fixed_start;
  int32_t present; /* literal; the one that is always true for first copies */
  int32_t size;    /* variable of optional copies */
} copy;

typedef struct builder {
  const plim_moccasin_query *q;
  const plim_dag *d;
  plim_cpsat_model model;
  copy *copy;       /* [n][copies]; start < 0 and present < 0: not there */
  int64_t *scratch; /* several arrays of room_scratch */
  int64_t room_scratch;
  int32_t always;    /* a literal that is true */
  int32_t footprint; /* variable, -1: the limit holds */
} builder;

static int64_t event(int32_t stage, int32_t node) {
  return (int64_t)stage * (stage + 1) / 2 + node;
}

static int64_t horizon(const builder *b) {
  return event(b->d->n - 1, b->d->n - 1) + 1;
}

static copy *copy_of(const builder *b, int32_t v, int32_t i) {
  return &b->copy[(int64_t)v * b->q->copies + i];
}

static int32_t copies_of(const builder *b, int32_t v) {
  int32_t stages = b->d->node[v].last_stage - v;
  return 1 + (stages < b->q->copies - 1 ? stages : b->q->copies - 1);
}

static plim_cpsat_expression constant(int64_t value) {
  return (plim_cpsat_expression){.variable = -1, .offset = value};
}

static plim_cpsat_expression start_of(const copy *c, int64_t offset) {
  return c->start < 0 ? constant(c->fixed_start + offset) : (plim_cpsat_expression){c->start, offset};
}

/* ---- variables ---- */

static void add_copies(builder *b) {
  for (int32_t v = 0; v < b->d->n; v++) {
    copy *first = copy_of(b, v, 0);
    *first = (copy){.start = -1, .fixed_start = event(v, v), .present = b->always, .size = -1};
    first->end = plim_cpsat_range(&b->model, event(v, v) + 1, horizon(b));
    for (int32_t i = 1; i < copies_of(b, v); i++) {
      copy *c = copy_of(b, v, i);
      int32_t n = 0;
      for (int32_t t = v + i; t <= b->d->node[v].last_stage; t++) {
        b->scratch[n++] = event(t, v);
        b->scratch[n++] = event(t, v);
      }
      c->start = plim_cpsat_variable(&b->model, n, b->scratch);
      c->end = plim_cpsat_range(&b->model, event(v + i, v) + 1, horizon(b));
      c->present = plim_cpsat_range(&b->model, 0, 1);
      c->size = plim_cpsat_range(&b->model, 1, horizon(b));
    }
  }
}

/* ---- constraints ---- */

/* a - b >= least when the literals hold. */
static void at_least_apart(builder *b, int32_t a, int32_t other, int64_t least, int32_t n_if, const int64_t *literal) {
  const int64_t variable[2] = {a, other}, coefficient[2] = {1, -1};
  plim_cpsat_linear(&b->model, 2, variable, coefficient, least, horizon(b), n_if, literal);
}

static void order_copies(builder *b) {
  for (int32_t v = 0; v < b->d->n; v++) {
    for (int32_t i = 1; i < copies_of(b, v); i++) {
      const copy *c = copy_of(b, v, i), *before = copy_of(b, v, i - 1);
      int64_t literal = c->present, without[2] = {before->present, -literal - 1};
      at_least_apart(b, c->start, before->end, 0, 1, &literal);
      const int64_t pair[2] = {before->present, c->present}, coefficient[2] = {1, -1};
      if (i > 1) plim_cpsat_linear(&b->model, 2, pair, coefficient, 0, 1, 0, NULL);
      const int64_t ends = before->end, one = 1;
      if (b->d->node[v].kept) plim_cpsat_linear(&b->model, 1, &ends, &one, horizon(b), horizon(b), 2, without);
    }
    const copy *last = copy_of(b, v, copies_of(b, v) - 1);
    const int64_t ends = last->end, one = 1, literal = last->present;
    if (b->d->node[v].kept) plim_cpsat_linear(&b->model, 1, &ends, &one, horizon(b), horizon(b), 1, &literal);
  }
}

static int32_t add_interval(builder *b, const copy *c) {
  const int64_t literal = c->present;
  if (c->start < 0) {
    return plim_cpsat_interval(&b->model, start_of(c, 0), (plim_cpsat_expression){c->end, -c->fixed_start},
                               (plim_cpsat_expression){c->end, 0}, 0, NULL);
  }
  return plim_cpsat_interval(&b->model, start_of(c, 0), (plim_cpsat_expression){c->size, 0},
                             (plim_cpsat_expression){c->end, 0}, 1, &literal);
}

static void limit_bytes(builder *b) {
  const plim_dag *d = b->d;
  int64_t *interval = b->scratch, *demand = b->scratch + b->room_scratch / 2;
  int32_t n = 0;
  for (int32_t v = 0; v < d->n; v++) {
    for (int32_t i = 0; i < copies_of(b, v); i++) {
      const copy *c = copy_of(b, v, i);
      const int64_t literal = c->present;
      interval[n] = add_interval(b, c);
      demand[n++] = d->node[v].bytes / d->bytes_unit;
      if (d->node[v].workspace_bytes == 0) continue;
      interval[n] = plim_cpsat_interval(&b->model, start_of(c, 0), constant(1), start_of(c, 1), 1, &literal);
      demand[n++] = d->node[v].workspace_bytes / d->bytes_unit;
    }
  }
  int64_t capacity = (b->q->limit_bytes - d->base_bytes) / d->bytes_unit;
  plim_cpsat_expression most = b->footprint < 0 ? constant(capacity) : (plim_cpsat_expression){b->footprint, 0};
  plim_cpsat_cumulative(&b->model, most, n, interval, demand);
}

static void add_reservoirs(builder *b, plim_cpsat_event *list) {
  for (int32_t v = 0; v < b->d->n; v++) {
    const plim_list *preds = &b->d->node[v].preds;
    for (int32_t k = 0; k < preds->n * copies_of(b, v); k++) {
      const copy *reader = copy_of(b, v, k / preds->n);
      int32_t u = preds->at[k % preds->n], n = 0;
      for (int32_t j = 0; j < copies_of(b, u); j++) {
        const copy *c = copy_of(b, u, j);
        list[n++] = (plim_cpsat_event){start_of(c, 1), 1, c->present};
        list[n++] = (plim_cpsat_event){{c->end, 0}, -1, c->present};
      }
      list[n++] = (plim_cpsat_event){start_of(reader, 0), -1, reader->present};
      list[n++] = (plim_cpsat_event){start_of(reader, 1), 1, reader->present};
      plim_cpsat_reservoir(&b->model, b->q->copies + 1, n, list);
    }
  }
}

/* Time of repeats, in units; or the footprint. */
static void set_objective(builder *b) {
  int64_t *variable = b->scratch, *cost = b->scratch + b->room_scratch / 2;
  int32_t n = 0;
  if (b->footprint >= 0) {
    const int64_t footprint = b->footprint, one = 1;
    plim_cpsat_minimise(&b->model, 1, &footprint, &one);
    return;
  }
  for (int32_t v = 0; v < b->d->n; v++) {
    for (int32_t i = 1; i < copies_of(b, v); i++) {
      variable[n] = copy_of(b, v, i)->present;
      cost[n++] = b->d->node[v].time_ns / b->d->time_unit;
    }
  }
  plim_cpsat_minimise(&b->model, n, variable, cost);
}

/* ---- hint and answer ---- */

static void hint(builder *b, const plim_staged *s) {
  int64_t *variable = b->scratch, *value = b->scratch + b->room_scratch / 2;
  int32_t n = 0;
  for (int32_t v = 0; v < b->d->n; v++) {
    int32_t j = s->first[v];
    for (int32_t i = 0; i < copies_of(b, v); i++) {
      const copy *c = copy_of(b, v, i);
      int64_t end = j < 0 ? 0 : event(s->stage[s->last[j]], s->node[s->last[j]]) + 1;
      if (j >= 0 && b->d->node[v].kept && s->next[j] < 0) end = horizon(b);
      if (c->start >= 0) {
        variable[n] = c->present;
        value[n++] = j >= 0;
      }
      if (j < 0) continue;
      variable[n] = c->end;
      value[n++] = end;
      if (c->start >= 0) {
        variable[n] = c->start;
        value[n++] = event(s->stage[j], v);
        variable[n] = c->size;
        value[n++] = end - event(s->stage[j], v);
      }
      j = s->next[j];
    }
  }
  plim_cpsat_hint(&b->model, n, variable, value);
}

static plim_status read_repeats(const builder *b, const int64_t *value, plim_repeats *out) {
  out->n = 0;
  for (int32_t v = 0; v < b->d->n; v++) {
    for (int32_t i = 1; i < copies_of(b, v); i++) {
      const copy *c = copy_of(b, v, i);
      int32_t stage = v;
      if (!value[c->present]) continue;
      while (event(stage, v) < value[c->start]) stage++;
      PLIM_TRY(plim_repeats_add(out, (plim_repeat){stage, v}));
    }
  }
  return PLIM_OK;
}

/* ---- solving ---- */

static plim_status build(builder *b, int lower) {
  const plim_dag *d = b->d;
  plim_context *ctx = d->ctx;
  plim_cpsat_event *list = NULL;
  b->room_scratch = 8 * (int64_t)d->n * b->q->copies + 16;
  PLIM_TRY(plim_allocate(ctx, (int64_t)d->n * b->q->copies, sizeof *b->copy, &b->copy));
  PLIM_TRY(plim_allocate(ctx, b->room_scratch, sizeof *b->scratch, &b->scratch));
  PLIM_TRY(plim_allocate(ctx, 2 * b->q->copies + 2, sizeof *list, &list));
  b->model = plim_cpsat_model_begin(ctx);
  b->always = plim_cpsat_range(&b->model, 1, 1);
  b->footprint = -1;
  if (lower) {
    int64_t all = 0, least = (b->q->limit_bytes - d->base_bytes) / d->bytes_unit;
    for (int32_t v = 0; v < d->n; v++) all += (d->node[v].bytes + d->node[v].workspace_bytes) / d->bytes_unit;
    b->footprint = plim_cpsat_range(&b->model, least, all > least ? all : least);
  }
  add_copies(b);
  order_copies(b);
  limit_bytes(b);
  add_reservoirs(b, list);
  set_objective(b);
  plim_release(ctx, list, 2 * b->q->copies + 2, sizeof *list);
  return PLIM_OK;
}

static void unbuild(builder *b) {
  plim_context *ctx = b->d->ctx;
  plim_release(ctx, b->copy, (int64_t)b->d->n * b->q->copies, sizeof *b->copy);
  plim_release(ctx, b->scratch, b->room_scratch, sizeof *b->scratch);
  plim_cpsat_model_free(&b->model);
}

/* One phase, begun from `start`: of fewest bytes above the limit (`lower`), or of least time. `out` stays as it is when
 * nothing is found. */
static plim_status solve_phase(plim_cpsat *cpsat, const plim_moccasin_query *q, int lower, const plim_staged *start,
                               plim_cpsat_answer *answer, plim_repeats *out) {
  builder b = {.q = q, .d = q->dag};
  plim_context *ctx = q->dag->ctx;
  int64_t *value = NULL;
  int32_t n_values = 0;
  plim_status status;
  PLIM_CHECK(build(&b, lower));
  hint(&b, start);
  n_values = b.model.n_variables;
  PLIM_CHECK(plim_allocate(ctx, n_values, sizeof *value, &value));
  PLIM_CHECK(plim_cpsat_solve(cpsat, &b.model, &q->options, answer, value));
  if (answer->end == PLIM_CPSAT_FEASIBLE || answer->end == PLIM_CPSAT_OPTIMAL) {
    PLIM_CHECK(read_repeats(&b, value, out));
  }
done:
  plim_release(ctx, value, n_values, sizeof *value);
  unbuild(&b);
  return status;
}

/* What the answer proves, rounded up to whole units; a hair below is taken for equal. */
static int64_t proved_ns(const plim_dag *d, const plim_cpsat_answer *answer) {
  if (answer->end == PLIM_CPSAT_INFEASIBLE) return INT64_MAX;
  if (answer->end == PLIM_CPSAT_UNKNOWN || !(answer->bound > 0)) return d->time_ns;
  int64_t units = (int64_t)(answer->bound - 1e-6);
  if ((double)units < answer->bound - 1e-6) units++;
  return d->time_ns + units * d->time_unit;
}

/* Bring the peak of `staged` down to the limit, as a first phase with half of the effort; what is left of it is for the
 * second. */
static plim_status bring_down(plim_cpsat *cpsat, plim_moccasin_query *q, plim_staged *staged, plim_repeats *repeats) {
  plim_cpsat_options all = q->options;
  plim_cpsat_answer answer;
  int64_t begin_ns = plim_now_ns();
  q->options.seconds /= 2;
  q->options.deterministic /= 2;
  PLIM_TRY(solve_phase(cpsat, q, 1, staged, &answer, repeats));
  if (answer.end == PLIM_CPSAT_FEASIBLE || answer.end == PLIM_CPSAT_OPTIMAL) {
    PLIM_TRY(plim_staged_evaluate(staged, repeats));
  }
  if (all.seconds > 0) q->options.seconds = all.seconds - (double)(plim_now_ns() - begin_ns) / 1e9;
  if (all.seconds > 0 && q->options.seconds < 0.001) q->options.seconds = 0.001;
  return PLIM_OK;
}

plim_status plim_moccasin_solve(plim_cpsat *cpsat, const plim_moccasin_query *query, const plim_repeats *start,
                                plim_moccasin_answer *out) {
  plim_moccasin_query q = *query;
  plim_staged staged = {0};
  plim_cpsat_answer answer;
  plim_status status;
  out->found = 0;
  out->bound_ns = q.dag->time_ns;
  PLIM_CHECK(plim_staged_make(q.dag, &staged));
  PLIM_CHECK(plim_staged_evaluate(&staged, start));
  PLIM_CHECK(plim_repeats_copy(&out->repeats, start));
  if (staged.peak_bytes > q.limit_bytes) PLIM_CHECK(bring_down(cpsat, &q, &staged, &out->repeats));
  if (!plim_context_cancelled(q.dag->ctx)) {
    PLIM_CHECK(solve_phase(cpsat, &q, 0, &staged, &answer, &out->repeats));
    out->bound_ns = proved_ns(q.dag, &answer);
  }
  PLIM_CHECK(plim_staged_evaluate(&staged, &out->repeats));
  out->found = staged.peak_bytes <= q.limit_bytes;
done:
  plim_staged_free(&staged);
  return status;
}
