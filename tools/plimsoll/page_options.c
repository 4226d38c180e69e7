/* Plans that page or have several devices: their options, of which energy is one, and the rows of such plans. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "tools/plimsoll/page_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "runtime/program/paging_links.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/trace/trace_spaces.h"

static int pages(const plim_plan *plan) {
  return plan && plan->n_page_spaces > 0;
}

plim_status paging_check(const session *s) {
  return pages(s->program->plan[PLIM_PROGRAM_TRAIN]) ? option_rules_check_paging(s->ctx, s->o) : PLIM_OK;
}

static plim_status choose_bytes(const session *s, const char *space, const char *text, int64_t *out) {
  char sentence[PLIM_ERROR_BYTES];
  plim_size size;
  if (plim_size_parse(s->ctx, text, &size) != PLIM_OK) {
    (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
    return plim_fail(s->ctx, PLIM_EUSAGE, "--memory %s=%s: %s", space, text, sentence);
  }
  int64_t bytes = plim_size_bytes(&size, s->prep.keep_all->arena_bytes);
  if (bytes < 0) return plim_fail(s->ctx, PLIM_EUSAGE, "--memory %s=%s does not fit in 63 bits", space, text);
  *out = bytes;
  return PLIM_OK;
}

static plim_status choose_devices(session *s, const plim_link_place *place) {
  const options *o = s->o;
  int64_t bytes[PLIM_PAGE_DEVICES];
  char name[16];
  for (int i = 0; i < o->n_devices; i++) {
    (void)snprintf(name, sizeof name, "cpu:%d", i + 1);
    PLIM_TRY(choose_bytes(s, name, o->device_memory[i], &bytes[i]));
  }
  return plim_paging_add_devices(s->device, place, o->n_devices, bytes, &s->paging);
}

static plim_link_place place_of(const options *o) {
  return (plim_link_place){.page_file = o->page_file, .cache_dir = o->no_cache ? "" : NULL, .modelled = o->model_costs};
}

/* A plan from a file that pages, and is planned again in the run: with the same spaces. */
static plim_status choose_of_plan(session *s) {
  const plim_link_place place = place_of(s->o);
  plim_plan *plan = NULL;
  if (!s->o->plan || (s->o->retime <= 0 && s->o->memory_at.count == 0)) return PLIM_OK;
  if (plim_plan_load(s->ctx, s->o->plan, &plan) != PLIM_OK) return PLIM_OK; /* refused where it is used */
  plim_status status = plim_paging_of_plan(s->device, &place, plan, &s->paging);
  if (pages(plan)) s->planning.paging = &s->paging;
  plim_plan_free(plan);
  return status;
}

plim_status paging_choose(session *s) {
  const options *o = s->o;
  const plim_link_place place = place_of(o);
  int recompute = !o->recompute || strcmp(o->recompute, "off") != 0;
  int64_t bytes = 0;
  if (!o->page_space && o->n_devices == 0 && recompute) return choose_of_plan(s);
  s->paging = plim_paging_default();
  s->paging.recompute = recompute;
  s->planning.paging = &s->paging;
  if (o->n_devices > 0) PLIM_TRY(choose_devices(s, &place));
  if (!o->page_space) return PLIM_OK;                              /* nothing can be paged */
  if (o->page_file) PLIM_TRY(plim_file_try(s->ctx, o->page_file)); /* a plan may not page, and then not open it */
  PLIM_TRY(choose_bytes(s, o->page_space, o->page_memory, &bytes));
  return plim_paging_add_space(s->device, &place, o->page_space, bytes, &s->paging);
}

/* ---- least energy ---- */

int energy_wanted(const options *o) {
  return o->objective && strcmp(o->objective, "energy") == 0;
}

static plim_status choose_deadline(session *s) {
  const char *text = s->o->deadline;
  double x, seconds = 0;
  char *end;
  if (!text) return PLIM_OK;
  errno = 0;
  x = strtod(text, &end);
  if (errno == 0 && end != text && x > 0 && isfinite(x) && strcmp(end, "x") == 0) {
    seconds = x * (double)s->prep.keep_all->time_ns * 1e-9;
  } else if (end == text || *end == 0 || !options_time(text, &seconds)) {
    seconds = 0;
  }
  if (!(seconds >= 1e-9 && seconds < 1e9)) {
    return plim_fail(s->ctx, PLIM_EUSAGE,
                     "--deadline %.80s is neither a factor of keep-all as in 1.5x nor a time as in 3s or 20ms", text);
  }
  s->paging.deadline_ns = llround(seconds * 1e9);
  return PLIM_OK;
}

plim_status energy_choose(session *s) {
  if (!energy_wanted(s->o)) return PLIM_OK;
  if (!s->planning.paging) {
    return plim_fail(s->ctx, PLIM_EUSAGE,
                     "--objective energy requires --memory of several spaces, as in cpu=48MiB,host=1GiB: in one the "
                     "plan of least time takes least energy");
  }
  PLIM_TRY(choose_deadline(s));
  PLIM_TRY(plim_powers_load(s->ctx, s->o->platform, s->o->device, &s->paging, &s->powers));
  s->paging.powers = &s->powers;
  return PLIM_OK;
}

/* ---- the page file ---- */

/* Opening a link to a file that is not there makes that file. */
int paging_makes_file(const options *o) {
  struct stat about;
  return o->page_file && stat(o->page_file, &about) != 0;
}

/* A link stays: the user made it. */
void paging_remove_file(const session *s) {
  struct stat about;
  char *path = s->makes_page_file ? realpath(s->o->page_file, NULL) : NULL;
  if (path && lstat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0) (void)unlink(path);
  free(path);
}

/* ---- figures ---- */

/* The copies of one link in a step. */
static void note_link(figures *f, int column, const plim_graph *graph, const plim_plan *plan, int32_t from,
                      int32_t to) {
  char size[PLIM_SIZE_TEXT_BYTES];
  int64_t bytes = 0;
  int copies = 0;
  for (int32_t j = 0; j < plan->n_commands; j++) {
    const plim_command *c = &plan->command[j];
    if (c->kind != PLIM_COMMAND_COPY || c->from != from || c->to != to) continue;
    bytes += graph->storage[c->storage].bytes;
    copies++;
  }
  if (copies == 0) return;
  figures_note(f, column, "; %s>%s %d %s of %s", plim_paged_run_space_name(plan, from),
               plim_paged_run_space_name(plan, to), copies, copies == 1 ? "copy" : "copies",
               plim_size_print(bytes, size));
}

/* A row for each space, with the links to the spaces before it: so every link stands in one row. */
void paging_figures_plan(figures *f, int column, const plim_graph *graph, const plim_plan *plan) {
  char key[64], budget[PLIM_SIZE_TEXT_BYTES];
  for (int32_t space = 1; space <= plan->n_page_spaces; space++) {
    const plim_plan_space page = plim_plan_space_of(plan, space);
    const char *name = plim_paged_run_space_name(plan, space);
    const int limited = page.budget_bytes < PLIM_BYTES_UNLIMITED;
    (void)snprintf(key, sizeof key, "%s_arena_bytes", name);
    figures_bytes(f, column, key, name, page.arena_bytes);
    figures_note(f, column, "%s%s, planned", limited ? " of " : "",
                 limited ? plim_size_print(page.budget_bytes, budget) : "");
    for (int32_t other = 0; other < space; other++) {
      note_link(f, column, graph, plan, other, space);
      note_link(f, column, graph, plan, space, other);
    }
  }
}

void paging_figures_overhead(figures *f, int column, const plim_plan *plan) {
  plim_plan_space page[PLIM_PAGE_SPACES];
  plim_plan alone = *plan;
  int64_t *begin_ns = NULL, n = plan->n_commands, delays = 0;
  for (int32_t k = 0; k < plan->n_page_spaces; k++) {
    delays += plan->page[k].delay_permille;
    page[k] = plan->page[k];
    page[k].delay_permille = 0;
  }
  if (delays == 0 || plan->keep_all_ns <= 0) return;
  if (plim_allocate(plan->ctx, 2 * n, sizeof *begin_ns, &begin_ns) != PLIM_OK) return; /* no memory for a figure */
  alone.page = page;
  plim_plan_simulate(&alone, begin_ns, begin_ns + n, &alone.time_ns);
  plim_release(plan->ctx, begin_ns, 2 * n, sizeof *begin_ns);
  const double percent = 100 * (double)(plan->time_ns - alone.time_ns) / (double)plan->keep_all_ns;
  figures_real(f, column, "delayed_by_copies_percent", NULL, "%.3f", percent);
  figures_note(f, column, ", %.2f of it since copies delay the ops beside them", percent);
}

void paging_figures_trial(figures *f, const plim_trial *trial) {
  if (trial->paged_ns == 0) return;
  figures_real(f, 0, "trial_paged_ms", "trial", "%.2f ms a step with paging", (double)trial->paged_ns / 1e6);
  figures_note(f, 0, ", %.2f without: %s", (double)trial->unpaged_ns / 1e6,
               trial->unpaged_ns < trial->paged_ns ? "no paging" : "paging");
  figures_real(f, 0, "trial_unpaged_ms", NULL, "%.3f", (double)trial->unpaged_ns / 1e6);
}

json_t *paging_transfers_json(const plim_graph *graph, const plim_plan *plan, const plim_transfer *transfer,
                              int32_t n) {
  json_t *list = json_array();
  char words[SPACE_WORDS];
  for (int32_t i = 0; i < n; i++) {
    const plim_transfer *x = &transfer[i];
    json_t *o =
        json_pack("{s:i, s:s, s:s, s:s, s:I}", "command", (int)x->command, "storage",
                  space_storage_words(graph, x->storage, words), "from", plim_paged_run_space_name(plan, x->from), "to",
                  plim_paged_run_space_name(plan, x->to), "bytes", (json_int_t)x->bytes);
    (void)json_object_set_new(o, "planned_begin_ns", json_integer(x->planned_begin_ns));
    (void)json_object_set_new(o, "planned_end_ns", json_integer(x->planned_end_ns));
    (void)json_object_set_new(o, "begin_ns", json_integer(x->begin_ns));
    (void)json_object_set_new(o, "end_ns", json_integer(x->end_ns));
    (void)json_object_set_new(o, "late_ns", json_integer(x->end_ns - x->planned_end_ns));
    (void)json_object_set_new(o, "waiter", x->waiter >= 0 ? json_integer(x->waiter) : json_null());
    (void)json_object_set_new(o, "waited_ns", json_integer(x->waited_ns));
    (void)json_array_append_new(list, o);
  }
  return list;
}

/* How late the transfers of the last step were. */
static void add_lateness(figures *f, int column, const plim_graph *graph, const plim_plan *plan,
                         const plim_exec *exec) {
  plim_exec_timeline line = plim_exec_last_timeline(exec, PLIM_PROGRAM_TRAIN);
  plim_transfer *transfer = NULL;
  char words[SPACE_WORDS];
  int32_t n = 0, late = 0, waited = 0, worst = 0;
  if (plim_paged_run_transfers(graph, plan, line.begin_ns, line.time_ns, line.waited_ns, &transfer, &n) != PLIM_OK) {
    return; /* no memory for a figure */
  }
  for (int32_t i = 0; i < n; i++) {
    int64_t late_ns = transfer[i].end_ns - transfer[i].planned_end_ns;
    late += late_ns > 0;
    waited += transfer[i].waiter >= 0;
    if (late_ns > transfer[worst].end_ns - transfer[worst].planned_end_ns) worst = i;
  }
  const plim_transfer *w = &transfer[worst];
  figures_count(f, column, "transfers_late", "transfers late", late);
  figures_note(f, column, " of %d; runs waited for %d", (int)n, (int)waited);
  if (late > 0) {
    figures_note(f, column, "; %.40s %s %s %.2f ms after its plan", space_storage_words(graph, w->storage, words),
                 w->to > 0 ? "to" : "from", plim_paged_run_space_name(plan, w->to > 0 ? w->to : w->from),
                 (double)(w->end_ns - w->planned_end_ns) / 1e6);
  }
  json_t *list = paging_transfers_json(graph, plan, transfer, n);
  json_t *of = f->columns == 1 ? f->object : NULL;
  if (of) (void)json_object_set(of, "transfers", list);
  json_decref(list);
  plim_release(plan->ctx, transfer, n, sizeof *transfer);
}

int64_t paging_resident_bytes(const plim_exec *exec) {
  int64_t bytes = 0;
  for (int32_t space = 1; space < PLIM_PLAN_SPACES; space++) {
    if (!plim_page_is_file(plim_exec_page_name(exec, space))) bytes += plim_exec_page_bytes(exec, space);
  }
  return bytes;
}

void paging_figures_resident(figures *f, const plim_exec *exec, int64_t arena_bytes, int64_t outside_bytes) {
  const plim_plan *plan = plim_exec_plan_of(exec, PLIM_PROGRAM_TRAIN);
  char size[PLIM_SIZE_TEXT_BYTES];
  int32_t pages = 0;
  for (int32_t space = 1; space < PLIM_PLAN_SPACES; space++) pages += plim_exec_page_bytes(exec, space) > 0;
  if (pages == 0) return;
  figures_bytes(f, 0, "resident_peak_bytes", "resident, most",
                arena_bytes + paging_resident_bytes(exec) + outside_bytes);
  figures_note(f, 0, ": %s %s", plim_paged_run_space_name(plan, 0), plim_size_print(arena_bytes, size));
  for (int32_t space = 1; space < PLIM_PLAN_SPACES; space++) {
    const char *name = plim_exec_page_name(exec, space);
    const int64_t bytes = plim_exec_page_bytes(exec, space);
    if (bytes == 0) continue;
    figures_note(f, 0, ", %s %s%s", name, plim_size_print(bytes, size), plim_page_is_file(name) ? " in a file" : "");
  }
  figures_note(f, 0, ", rest %s", plim_size_print(outside_bytes, size));
}

void paging_figures_measured(figures *f, int column, const plim_graph *graph, const plim_exec *exec) {
  const plim_plan *plan = plim_exec_plan_of(exec, PLIM_PROGRAM_TRAIN);
  plim_exec_use use = plim_exec_measured(exec, PLIM_PROGRAM_TRAIN);
  char key[64], size[PLIM_SIZE_TEXT_BYTES];
  for (int32_t space = 1; space <= plan->n_page_spaces; space++) {
    const char *name = plim_paged_run_space_name(plan, space);
    (void)snprintf(key, sizeof key, "%s_peak_measured_bytes", name);
    figures_bytes(f, column, key, NULL, use.space[space].peak_bytes);
    figures_select(f, name);
    figures_note(f, column, "; peak, measured %s", plim_size_print(use.space[space].peak_bytes, size));
    const char *how = plim_exec_space_how(exec, space);
    if (how[0]) figures_text(f, column, "page_file", "page file", how);
  }
  plim_exec_copies copied = plim_exec_copied(exec, PLIM_PROGRAM_TRAIN);
  figures_count(f, column, "copies", NULL, copied.n);
  if (copied.copy_ns == 0) return; /* there are none, or the device does not time them */
  const plim_exec_timeline line = plim_exec_last_timeline(exec, PLIM_PROGRAM_TRAIN);
  const int64_t exposed_ns = plim_paged_run_exposed(plan, line.begin_ns, line.time_ns, line.waited_ns);
  double hidden = copied.copy_ns > exposed_ns ? 1 - (double)exposed_ns / (double)copied.copy_ns : 0;
  figures_real(f, column, "copy_hidden_percent", "copy time hidden", "%.1f %%", hidden * 100);
  figures_note(f, column, " in the last step: copies took %.2f ms, %d runs waited %.2f ms, %.2f of it for copies",
               (double)copied.copy_ns / 1e6, (int)copied.late, (double)copied.waited_ns / 1e6,
               (double)exposed_ns / 1e6);
  figures_real(f, column, "copy_exposed_ms", NULL, "%.3f", (double)exposed_ns / 1e6);
  figures_real(f, column, "copy_ms", NULL, "%.3f", (double)copied.copy_ns / 1e6);
  figures_real(f, column, "copy_waited_ms", NULL, "%.3f", (double)copied.waited_ns / 1e6);
  add_lateness(f, column, graph, plan, exec);
}

void energy_figures(figures *f, int column, const session *s, const plim_plan *plan) {
  if (!s->paging.powers || s->planning.paging != &s->paging) return;
  const double whole = plim_plan_energy(s->prep.keep_all, s->paging.powers);
  figures_real(f, column, "energy_joule", "energy, predicted", "%.6g J", plim_plan_energy(plan, s->paging.powers));
  figures_real(f, column, "keep_all_joule", NULL, "%.6g", whole);
  figures_note(f, column, ", keep-all %.6g J", whole);
  if (s->paging.deadline_ns <= 0) return;
  figures_count(f, column, "deadline_ns", NULL, s->paging.deadline_ns);
  figures_real(f, column, NULL, "deadline", "%.3f ms", (double)s->paging.deadline_ns * 1e-6);
  figures_note(f, column, ", the plan takes %.3f ms", (double)plan->time_ns * 1e-6);
}
