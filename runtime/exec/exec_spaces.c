/* Page spaces and queues of an executor: opened for its plans, and enlarged for the plans that replace them.
 *
 * A page space has the most that a plan needs of it, and one name in all plans. It never shrinks: what persists may be
 * at home in it. */
#include <stdio.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"

static plim_status check_can_page(const plim_exec *exec) {
  if (exec->options.addresses != PLIM_ADDRESSES_EACH && !(exec->device && exec->device->api->watch)) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EUNSUPPORTED,
                   "a plan has copies: it needs addresses in one arena, and the cpu device, which this is not");
}

/* Bytes that the plans need of page space k, and its name; 0: none has it. */
static plim_status need_of(const plim_exec *exec, const plim_plan *const *plan, int32_t k, int64_t *bytes,
                           const char **name) {
  *bytes = 0;
  *name = exec->page_name[k][0] ? exec->page_name[k] : NULL;
  for (int32_t i = 0; i < exec->n; i++) {
    if (k >= plan[i]->n_pages) continue;
    const plim_page_space *page = &plan[i]->page[k];
    if (*name && strcmp(*name, page->name) != 0) {
      return plim_fail(exec->ctx, PLIM_EPLAN, "space %d is \"%s\" in one plan and \"%s\" in another", (int)k + 1, *name,
                       page->name);
    }
    *name = page->name;
    if (page->arena_bytes > *bytes) *bytes = page->arena_bytes;
    if (*bytes < PLIM_ALIGN) *bytes = PLIM_ALIGN;
  }
  return PLIM_OK;
}

static plim_status fit_page(plim_exec *exec, const plim_plan *const *plan, int32_t k) {
  const char *name;
  int64_t bytes;
  PLIM_TRY(need_of(exec, plan, k, &bytes, &name));
  plim_page_memory *page = &exec->page[k];
  if (!name || bytes <= page->bytes) return PLIM_OK;
  if (page->bytes > 0) return plim_page_memory_grow(exec->ctx, page, bytes);
  PLIM_TRY(strcmp(name, "disk") == 0 ? plim_page_file_open(exec->ctx, exec->options.page_file, bytes, page)
                                     : plim_page_memory_open(exec->ctx, bytes, page));
  (void)snprintf(exec->page_name[k], sizeof exec->page_name[k], "%s", name);
  return PLIM_OK;
}

/* ---- queues ---- */

static int32_t queues_of(const plim_exec *exec, const plim_plan *const *plan) {
  int32_t n = exec->n_queues > 1 ? exec->n_queues : 1;
  for (int32_t i = 0; i < exec->n; i++) {
    for (int32_t j = 0; j < plan[i]->n_commands; j++) {
      if (plan[i]->command[j].queue >= n) n = plan[i]->command[j].queue + 1;
    }
  }
  return n;
}

static void say_how(plim_exec *exec, int32_t k, int rings) {
  char how[sizeof exec->page_how[k]];
  if (exec->page[k].fd < 0) return;
  (void)snprintf(how, sizeof how, "%s, %s", rings ? "io_uring" : "pread and pwrite", exec->page[k].how);
  memcpy(exec->page_how[k], how, sizeof how);
}

/* Threads are started anew where there are more queues, or a page file for which they have no ring. */
static plim_status fit_queues(plim_exec *exec, const plim_plan *const *plan, int opened) {
  int32_t n = queues_of(exec, plan);
  plim_copy_queues *queues = NULL;
  if (exec->queues && n == exec->n_queues && !opened) return PLIM_OK;
  const int32_t threads = exec->device ? exec->device->machine.threads : 1;
  PLIM_TRY(plim_copy_queues_open(exec->ctx, n, exec->page, &exec->options, threads, &queues));
  plim_copy_queues_close(exec->queues);
  exec->queues = queues;
  exec->n_queues = n;
  for (int32_t k = 0; k < exec->n_pages; k++) say_how(exec, k, plim_copy_queues_have_rings(queues));
  return PLIM_OK;
}

/* ---- all of it ---- */

plim_status plim_exec_fit_kernels(plim_exec *exec, const plim_plan *const *plan) {
  for (int32_t i = 0; i < exec->n; i++) {
    for (int32_t k = 0; k < plan[i]->n_pages; k++) {
      if (!plan[i]->page[k].computes || exec->placed[k].ctx) continue;
      PLIM_TRY(plim_prepared_new(exec->ctx, exec->device, plan[i]->n_variants, &exec->placed[k]));
    }
  }
  return PLIM_OK;
}

plim_status plim_exec_fit_spaces(plim_exec *exec, const plim_plan *const *plan) {
  int32_t n_pages = exec->n_pages;
  int opened = 0;
  for (int32_t i = 0; i < exec->n; i++) {
    if (plan[i]->n_pages > n_pages) n_pages = plan[i]->n_pages;
  }
  if (n_pages == 0) return PLIM_OK;
  PLIM_TRY(check_can_page(exec));
  for (int32_t k = 0; k < n_pages; k++) {
    const int was_open = exec->page[k].bytes > 0;
    PLIM_TRY(fit_page(exec, plan, k));
    opened |= !was_open;
  }
  exec->n_pages = n_pages;
  return fit_queues(exec, plan, opened);
}
