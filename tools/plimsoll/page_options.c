/* A link is measured in some tenths of a second, each time. Where the runs have all CPUs, a copy beside them takes its
 * time from one of them, and so from all: they wait for each other after each op. */
#include "tools/plimsoll/page_options.h"

#include <string.h>

#include "runtime/base/size.h"
#include "runtime/device/threads.h"
#include "runtime/exec/page_link.h"

/* NULL, or an option that plans with copies do not have. */
static const char *option_without(const options *o) {
  if (strcmp(o->device, "cpu") != 0) return "--device";
  if (strcmp(o->addresses, "planned") != 0) return "--addresses";
  if (o->memory_at.count > 0) return "--memory-at";
  if (o->retime > 0) return "--retime";
  if (o->online) return "--online";
  if (o->last_batch) return "--last-batch";
  if (o->trace) return "--trace";
  return o->plan ? "--plan" : NULL;
}

static double charge_of(const session *s) {
  return s->device->machine.threads < plim_threads_default() ? 0.25 : 1;
}

plim_status paging_choose(session *s) {
  const options *o = s->o;
  int recompute = !o->recompute || strcmp(o->recompute, "off") != 0;
  plim_page_link link;
  plim_size size;
  if (!o->page_space && recompute) return PLIM_OK;
  if (option_without(o)) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "%s and plans that page do not go together: leave out one of them",
                     option_without(o));
  }
  s->paging = (plim_paging){.space = "host", .latency_ns = {1, 1}, .bytes_per_ns = {1, 1}, .recompute = recompute};
  s->planning.paging = &s->paging;
  if (!o->page_space) return PLIM_OK; /* nothing can be paged */
  s->paging.space = o->page_space;
  PLIM_TRY(plim_size_parse(s->ctx, o->page_memory, &size));
  s->paging.budget_bytes = plim_size_bytes(&size, s->prep.keep_all->arena_bytes);
  if (s->paging.budget_bytes < 0) {
    return plim_fail(s->ctx, PLIM_EUSAGE, "--memory %s=%s does not fit in 63 bits", o->page_space, o->page_memory);
  }
  PLIM_TRY(plim_page_link_measure(s->ctx, o->page_space, o->page_file, &link));
  memcpy(s->paging.latency_ns, link.latency_ns, sizeof link.latency_ns);
  memcpy(s->paging.bytes_per_ns, link.bytes_per_ns, sizeof link.bytes_per_ns);
  s->paging.charge = charge_of(s);
  return PLIM_OK;
}

/* ---- figures ---- */

static int64_t copied_bytes(const plim_plan *plan, int *copies) {
  int64_t bytes = 0;
  *copies = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const plim_plan_buffer *b = &plan->buffer[i];
    if (plan->step[b->begin].kind != PLIM_STEP_COPY || b->storage != plan->step[b->begin].storage) continue;
    bytes += b->bytes;
    ++*copies;
  }
  return bytes;
}

void paging_figures_plan(figures *f, int column, const plim_plan *plan) {
  char key[64];
  int copies;
  int64_t bytes = copied_bytes(plan, &copies);
  for (int32_t k = 0; k < plan->n_pages; k++) {
    const plim_page_space *page = &plan->page[k];
    (void)snprintf(key, sizeof key, "%s_arena_bytes", page->name);
    figures_bytes(f, column, key, page->name, page->arena_bytes);
    figures_note(f, column, " of %.1f MiB, planned; %d copies of %.1f MiB a step",
                 (double)page->budget_bytes / (1 << 20), copies, (double)bytes / (1 << 20));
  }
}

void paging_figures_measured(figures *f, int column, const plim_exec *exec) {
  const plim_plan *plan = plim_exec_plan_of(exec, PLIM_PROGRAM_TRAIN);
  plim_exec_use use = plim_exec_measured(exec, PLIM_PROGRAM_TRAIN);
  char key[64];
  for (int32_t k = 0; k < plan->n_pages; k++) {
    (void)snprintf(key, sizeof key, "%s_peak_measured_bytes", plan->page[k].name);
    figures_bytes(f, column, key, "", use.page[k].peak_bytes);
    figures_note(f, column, " measured peak in %s", plan->page[k].name);
  }
  plim_exec_copies copied = plim_exec_copied(exec, PLIM_PROGRAM_TRAIN);
  if (copied.n == 0) return;
  double hidden = copied.copy_ns > copied.waited_ns ? 1 - (double)copied.waited_ns / (double)copied.copy_ns : 0;
  figures_real(f, column, "copy_hidden_percent", "copy time hidden", "%.1f %%", hidden * 100);
  figures_note(f, column, " in the last step: copies took %.2f ms, %d runs waited %.2f ms",
               (double)copied.copy_ns / 1e6, (int)copied.late, (double)copied.waited_ns / 1e6);
  figures_count(f, column, "copies", NULL, copied.n);
  figures_real(f, column, "copy_ms", NULL, "%.3f", (double)copied.copy_ns / 1e6);
  figures_real(f, column, "copy_waited_ms", NULL, "%.3f", (double)copied.waited_ns / 1e6);
}
