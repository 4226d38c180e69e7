/* A copy that fills a buffer waits for what the list has before it, so that it continues beside compute only where it
 * stands early in the list and its bytes are there so early. Copies are taken from the last to the first: each ends
 * before its reader and before the next copy of its link begin, and moves up by its own time. What a copy reads ends
 * with the copy, not before: it is held for as long as the runs after it take less than the copy. */
#include "planner/spaces/space_arrange.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/effort.h"

enum { WORK = 500 }; /* ns that a copy takes, about */

typedef struct arranging {
  plim_space_sequence *s;
  const plim_space_problem *p;
  const int64_t *budget;
  int64_t *begin_ns; /* [n + 1] time of the runs before an item */
  int64_t *link_ns;  /* [n_links] forward: free from; backward: busy from */
  int32_t *key;      /* [n] position before which the item is to stand */
  int32_t *end;      /* [n] item after which its buffer is dropped */
  int32_t *order;    /* [n + 1] heads of lists of buffers by end */
  int32_t *follower; /* [n] */
  int32_t *touch;    /* [n] the first touch of the item's buffer after it; the item itself: none */
  int32_t room;
} arranging;

static void set_times(arranging *a) {
  a->begin_ns[0] = 0;
  for (int32_t e = 0; e < a->s->n; e++) {
    const plim_space_event *v = &a->s->item[e];
    int64_t ns = v->kind == PLIM_SPACE_RUN ? plim_space_run_ns(a->p, v->node, v->at) : 0;
    a->begin_ns[e + 1] = a->begin_ns[e] + ns;
  }
}

/* Links that share a queue have one clock: that of the first. */
static int32_t clock_of(const arranging *a, int32_t l) {
  return plim_platform_queue_link(a->p->platform, l);
}

static void find_touches(arranging *a) {
  const plim_space_sequence *s = a->s;
  for (int32_t e = 0; e < s->n; e++) a->touch[e] = e;
  for (int32_t u = s->n - 1; u >= 0; u--) {
    for (int32_t i = s->first_read[u]; i < s->first_read[u + 1]; i++) a->touch[s->read[i]] = u;
  }
}

static void move_up(arranging *a, int32_t e) {
  const plim_space_sequence *s = a->s;
  const plim_space_event *v = &s->item[e];
  int32_t space = a->p->platform->link[v->at].to, source = s->read[s->first_read[e]], q = e;
  int64_t *busy = &a->link_ns[clock_of(a, v->at)], ns = plim_space_copy_ns(a->p, v->node, v->at);
  int64_t by = a->begin_ns[a->touch[e]], bytes = a->p->node[v->node].bytes;
  int32_t least = source;
  if (s->before[e] >= 0 && s->last[s->before[e]] > least) least = s->last[s->before[e]];
  if (*busy < by) by = *busy;
  const int64_t *live = plim_space_live(s, space);
  while (q - 1 > least && a->begin_ns[q] > by - ns) {
    if (a->budget[space] < INT64_MAX && live[q - 1] > a->budget[space] - bytes) break;
    q--;
  }
  *busy = a->begin_ns[q] < by - ns ? a->begin_ns[q] : by - ns;
  plim_space_sequence_add(a->s, space, q, e, bytes);
  a->key[e] = q;
}

static int by_key(const void *x, const void *y) {
  const int64_t *a = x, *b = y;
  return (*a > *b) - (*a < *b);
}

/* Copies before the items at whose positions they are to stand. */
static plim_status move_copies(arranging *a) {
  plim_space_sequence *s = a->s;
  int64_t *sorted = NULL, n = s->n;
  plim_space_event *items = NULL;
  plim_status status;
  find_touches(a);
  for (int32_t l = 0; l < a->p->platform->n_links; l++) a->link_ns[l] = INT64_MAX;
  for (int32_t e = s->n - 1; e >= 0; e--) {
    a->key[e] = e;
    if (s->item[e].kind == PLIM_SPACE_COPY && !plim_effort_over(a->p->ctx, WORK)) move_up(a, e);
  }
  PLIM_CHECK(plim_allocate(a->p->ctx, n, sizeof *sorted, &sorted));
  PLIM_CHECK(plim_allocate(a->p->ctx, n, sizeof *items, &items));
  for (int32_t e = 0; e < s->n; e++) {
    int moved = a->key[e] < e;
    sorted[e] = (2 * (int64_t)a->key[e] + !moved) * (INT64_C(1) << 30) + e;
  }
  qsort(sorted, (size_t)n, sizeof *sorted, by_key);
  for (int32_t e = 0; e < s->n; e++) items[e] = s->item[sorted[e] % (INT64_C(1) << 30)];
  memcpy(s->item, items, (size_t)n * sizeof *items);
  status = plim_space_sequence_analyse(s);
done:
  plim_release(a->p->ctx, sorted, n, sizeof *sorted);
  plim_release(a->p->ctx, items, n, sizeof *items);
  return status;
}

/* Hold what copy e reads, and nothing reads after it, while the copy takes its time. */
static void hold(arranging *a, int32_t e) {
  const plim_space_sequence *s = a->s;
  const plim_space_event *v = &s->item[e];
  int32_t source = s->read[s->first_read[e]], space = a->p->platform->link[v->at].from, h = e;
  int64_t *free_ns = &a->link_ns[clock_of(a, v->at)], bytes = a->p->node[v->node].bytes;
  int64_t begin = *free_ns > a->begin_ns[e] ? *free_ns : a->begin_ns[e];
  const int64_t *live = plim_space_live(s, space);
  *free_ns = begin + plim_space_copy_ns(a->p, v->node, v->at);
  if (s->last[source] != e) return;
  int32_t most = a->follower[source] >= 0 ? a->follower[source] - 1 : s->n - 1;
  while (h < most && a->begin_ns[h + 1] < *free_ns) {
    if (a->budget[space] < INT64_MAX && live[h + 1] > a->budget[space] - bytes) break;
    h++;
  }
  plim_space_sequence_add(a->s, space, e + 1, h + 1, bytes);
  a->end[source] = h;
}

static void hold_sources(arranging *a) {
  const plim_space_sequence *s = a->s;
  memset(a->link_ns, 0, (size_t)a->p->platform->n_links * sizeof *a->link_ns);
  for (int32_t e = 0; e < s->n; e++) a->follower[e] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    if (s->before[e] >= 0) a->follower[s->before[e]] = e;
  }
  for (int32_t e = 0; e < s->n; e++) {
    if (s->item[e].kind == PLIM_SPACE_COPY && !plim_effort_over(a->p->ctx, WORK)) hold(a, e);
  }
}

static void emit(arranging *a, plim_space_events *out) {
  const plim_space_sequence *s = a->s;
  for (int32_t e = 0; e <= s->n; e++) a->order[e] = -1;
  for (int32_t e = 0; e < s->n; e++) {
    a->follower[e] = a->order[a->end[e]];
    a->order[a->end[e]] = e;
  }
  for (int32_t e = 0; e < s->n; e++) {
    plim_space_events_add(out, s->item[e].kind, s->item[e].node, s->item[e].at);
    for (int32_t b = a->order[e]; b >= 0; b = a->follower[b]) {
      plim_space_events_add(out, PLIM_SPACE_DROP, s->item[b].node, plim_space_item_space(a->p, &s->item[b]));
    }
  }
}

plim_status plim_space_arrange(plim_space_sequence *s, const int64_t *budget, int spread, plim_space_events *out) {
  plim_context *ctx = s->problem->ctx;
  arranging a = {.s = s, .p = s->problem, .budget = budget, .room = s->n};
  int64_t n = s->n, links = s->problem->platform->n_links;
  plim_status status;
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *a.begin_ns, &a.begin_ns));
  PLIM_CHECK(plim_allocate(ctx, links, sizeof *a.link_ns, &a.link_ns));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *a.key, &a.key));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *a.end, &a.end));
  PLIM_CHECK(plim_allocate(ctx, n + 1, sizeof *a.order, &a.order));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *a.follower, &a.follower));
  PLIM_CHECK(plim_allocate(ctx, n, sizeof *a.touch, &a.touch));
  set_times(&a);
  if (spread) PLIM_CHECK(move_copies(&a));
  set_times(&a);
  memcpy(a.end, s->last, (size_t)s->n * sizeof *a.end);
  if (spread) hold_sources(&a);
  emit(&a, out);
  status = out->status;
done:
  plim_release(ctx, a.begin_ns, n + 1, sizeof *a.begin_ns);
  plim_release(ctx, a.link_ns, links, sizeof *a.link_ns);
  plim_release(ctx, a.key, n, sizeof *a.key);
  plim_release(ctx, a.end, n, sizeof *a.end);
  plim_release(ctx, a.order, n + 1, sizeof *a.order);
  plim_release(ctx, a.follower, n, sizeof *a.follower);
  plim_release(ctx, a.touch, n, sizeof *a.touch);
  return status;
}
