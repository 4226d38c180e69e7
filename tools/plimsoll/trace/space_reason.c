/* Why a plan over spaces pages or recomputes a storage: facts of the plan as sentences. */
#include "tools/plimsoll/trace/space_reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/plimsoll/figures.h"

int space_has_own_times(const plim_graph *g, const plim_space_plan *p) {
  for (int32_t d = 0; g->costs && d < p->n_devices; d++) {
    if (plim_costs_find_device(g->costs, p->device[d].name) >= 0) return 1;
  }
  return 0;
}

const char *space_time_words(const plim_graph *g, const plim_space_plan *p, int64_t time, char *text) {
  return space_has_own_times(g, p) ? human_count(time, text) : human_time(time, text);
}

const char *space_storage_words(const plim_graph *g, int32_t storage, char *text) {
  const int32_t op = storage >= 0 ? g->storage[storage].producer : -1;
  const char *name = plim_graph_storage_name(g, storage, NULL);
  if (op >= 0 && (g->op[op].n_writes == 1 || !name)) name = g->op[op].name;
  if (name) {
    (void)snprintf(text, SPACE_WORDS, "%s", name);
  } else if (storage == PLIM_WORKSPACE) {
    (void)snprintf(text, SPACE_WORDS, "workspace");
  } else {
    (void)snprintf(text, SPACE_WORDS, "storage %d", (int)storage);
  }
  return text;
}

const char *space_command_words(const plim_graph *g, const plim_space_plan *p, int32_t c, char *text) {
  const plim_space_command *m = &p->command[c];
  char name[SPACE_WORDS];
  if (m->kind == PLIM_SPACE_COMMAND_RUN) {
    (void)snprintf(text, SPACE_WORDS, "run %.400s", g->op[m->op].name);
  } else if (m->n_storages == 1) {
    (void)snprintf(text, SPACE_WORDS, "copy %.400s", space_storage_words(g, m->storage[0], name));
  } else {
    (void)snprintf(text, SPACE_WORDS, "copy %.400s and %d more", space_storage_words(g, m->storage[0], name),
                   (int)m->n_storages - 1);
  }
  return text;
}

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text + used, SPACE_WORDS - used, format, arguments);
  va_end(arguments);
}

static const char *time_words(const plim_space_inspect *in, int64_t time, char *text) {
  return space_time_words(in->graph, in->plan, time, text);
}

static void add_recompute(const plim_space_inspect *in, const plim_space_gap *gap, const plim_space_why *w,
                          char *text) {
  char time[HUMAN_BYTES], runs[HUMAN_BYTES];
  int64_t other = w->recompute_ns - w->copy_ns;
  if (!gap->paged) {
    add(text, "; recomputed by %s in %s", human_items(w->recompute_runs > 0 ? w->recompute_runs : 1, "run", runs),
        time_words(in, in->plan->command[gap->until].time_ns, time));
    return;
  }
  add(text, "; paged: copies take %s", time_words(in, w->copy_ns, time));
  if (!w->can_recompute) {
    add(text, ", and no recompute is possible");
    return;
  }
  add(text, ", a recompute %s in %s", time_words(in, w->recompute_ns, time),
      human_items(w->recompute_runs, "run", runs));
  if (w->recompute_copies == 1) add(text, " and 1 copy of what it reads");
  if (w->recompute_copies > 1) add(text, " and %d copies of what they read", (int)w->recompute_copies);
  if (in->plan->has_energy) add(text, " and %.4g J", w->recompute_joule);
  if (other <= 0) add(text, ", on the device instead of the link");
}

const char *space_reason_words(const plim_space_inspect *in, const plim_space_gap *gap, const plim_space_why *w,
                               char *text) {
  const plim_space_plan *p = in->plan;
  char bytes[HUMAN_BYTES], words[SPACE_WORDS], budget[HUMAN_BYTES];
  text[0] = 0;
  if (w->worst >= 0) {
    int64_t most = p->space[gap->space].budget_bytes;
    int above = w->with_it_bytes > most;
    add(text, "with it command %d (%.60s) would have %s bytes in %s", (int)w->worst,
        space_command_words(in->graph, p, w->worst, words), human_count(w->with_it_bytes, bytes),
        p->space[gap->space].name);
    if (above) add(text, ", more than the budget of %s", human_count(most, budget));
    if (!above) add(text, ", which would fit: it costs no more this way");
  } else {
    add(text, "it is never away: it returns as it ends");
  }
  add_recompute(in, gap, w, text);
  if (w->link_free_ns >= 0) {
    add(text, "; %s had %s of %s free", p->queue[p->command[gap->until].queue].name,
        time_words(in, w->link_free_ns, bytes), time_words(in, w->window_ns, budget));
  }
  if (w->next_use >= 0) {
    add(text, "; next use at command %d (%.60s)", (int)w->next_use,
        space_command_words(in->graph, p, w->next_use, words));
  }
  return text;
}
