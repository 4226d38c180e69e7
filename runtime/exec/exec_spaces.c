/* Page spaces and queues of an executor: opened for its plans, and enlarged for the plans that replace them.
 *
 * A page space has as many bytes as the plan that needs most of it, and the same name in all plans. It never shrinks,
 * because persistent storages may have their home in it. */
#include <stdio.h>
#include <string.h>

#include "runtime/exec/exec_device.h"
#include "runtime/exec/streams.h"

static plim_status check_can_page(const plim_exec *exec) {
  const int watched = plim_exec_device_watch(exec) && !plim_streams_has(exec);
  if (!plim_exec_allocates_each(exec) && !watched) return PLIM_OK;
  return plim_fail(exec->ctx, PLIM_EUNSUPPORTED,
                   "a plan has copies: it needs addresses in one arena, and the device cpu or cuda, which this is not");
}

/* Find the bytes that the plans need of page space k, and its name. Bytes 0: no plan has the space. */
static plim_status need_of(const plim_exec *exec, const plim_plan *const *plan, int32_t k, int64_t *bytes,
                           const char **name) {
  *bytes = 0;
  *name = exec->pages.name[k][0] ? exec->pages.name[k] : NULL;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    if (k >= plan[i]->n_page_spaces) continue;
    const plim_page_space *page = &plan[i]->page[k];
    if (*name && strcmp(*name, page->name) != 0) {
      return plim_fail(exec->ctx, PLIM_EPLAN, "space %d is \"%s\" in one plan and \"%s\" in another",
                       (int)plim_page_space_at(k), *name, page->name);
    }
    *name = page->name;
    if (page->arena_bytes > *bytes) *bytes = page->arena_bytes;
    if (*bytes < PLIM_ALIGN) *bytes = PLIM_ALIGN;
  }
  return PLIM_OK;
}

/* The device copies by itself between its memory and page-locked memory of the host. */
static plim_status grow_pinned(const plim_exec *exec, const char *name, int64_t bytes, plim_page_memory *page) {
  if (!plim_page_is_host(name)) {
    return plim_fail(exec->ctx, PLIM_EUNSUPPORTED, "device %s pages to host alone, and the plan has space \"%s\"",
                     exec->device->api->name, name);
  }
  return plim_streams_grow_page(exec, page, bytes);
}

static plim_status open_page(const plim_exec *exec, const char *name, int64_t bytes, plim_page_memory *page) {
  if (page->bytes > 0) return plim_page_memory_grow(exec->ctx, page, bytes);
  return plim_page_is_file(name) ? plim_page_file_open(exec->ctx, exec->options.page_file, bytes, page)
                                 : plim_page_memory_open(exec->ctx, bytes, page);
}

static plim_status grow_page(plim_exec *exec, const plim_plan *const *plan, int32_t k) {
  const char *name;
  int64_t bytes;
  PLIM_TRY(need_of(exec, plan, k, &bytes, &name));
  plim_page_memory *page = &exec->pages.memory[k];
  if (!name || bytes <= page->bytes) return PLIM_OK;
  PLIM_TRY(plim_streams_has(exec) ? grow_pinned(exec, name, bytes, page) : open_page(exec, name, bytes, page));
  (void)snprintf(exec->pages.name[k], sizeof exec->pages.name[k], "%s", name);
  return PLIM_OK;
}

/* ---- queues ---- */

static int32_t queues_of(const plim_exec *exec, const plim_plan *const *plan) {
  int32_t n = exec->queues.n > 1 ? exec->queues.n : 1;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    for (int32_t j = 0; j < plan[i]->n_commands; j++) {
      if (plan[i]->command[j].queue >= n) n = plan[i]->command[j].queue + 1;
    }
  }
  return n;
}

static void say_how(plim_exec *exec, int32_t k, int rings) {
  char how[sizeof exec->pages.how[k]];
  if (exec->pages.memory[k].fd < 0) return;
  (void)snprintf(how, sizeof how, "%s, %s", rings ? "io_uring" : "pread and pwrite", exec->pages.memory[k].how);
  memcpy(exec->pages.how[k], how, sizeof how);
}

static plim_status fail_streams(const plim_exec *exec, int32_t n) {
  return plim_fail(exec->ctx, PLIM_EUNSUPPORTED, "a plan has %d queues, and device %s has %d", (int)n,
                   exec->device->api->name, (int)plim_exec_device_queues(exec));
}

/* Start new threads when the plans need more queues, or when a page space was opened for which there are no rings. */
static plim_status grow_queues(plim_exec *exec, const plim_plan *const *plan) {
  int32_t n = queues_of(exec, plan);
  plim_queues *queues = NULL;
  if (plim_streams_has(exec)) {
    if (n > plim_exec_device_queues(exec)) return fail_streams(exec, n);
    exec->queues.n = n;
    return PLIM_OK;
  }
  if (exec->queues.threads && n == exec->queues.n && !exec->pages.without_queues) return PLIM_OK;
  PLIM_TRY(plim_queues_open(exec->ctx, n, exec->pages.memory, &exec->options, plim_exec_device_threads(exec), &queues));
  plim_queues_close(exec->queues.threads);
  exec->queues.threads = queues;
  exec->queues.n = n;
  exec->pages.without_queues = 0;
  for (int32_t k = 0; k < exec->pages.n; k++) say_how(exec, k, plim_queues_have_rings(queues));
  return PLIM_OK;
}

/* ---- all of it ---- */

void plim_exec_grow_kernels(plim_exec *exec, const plim_plan *const *plan) {
  for (int32_t i = 0; i < exec->n_plans; i++) {
    for (int32_t k = 0; k < plan[i]->n_page_spaces; k++) {
      plim_prepared *kernels = &exec->kernels[plim_page_space_at(k)];
      if (!plan[i]->page[k].computes || plim_prepared_has_begun(kernels)) continue;
      plim_prepared_begin(exec->ctx, exec->device, kernels);
    }
  }
}

plim_status plim_exec_grow_spaces(plim_exec *exec, const plim_plan *const *plan) {
  int32_t n_page_spaces = exec->pages.n;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    if (plan[i]->n_page_spaces > n_page_spaces) n_page_spaces = plan[i]->n_page_spaces;
  }
  if (n_page_spaces == 0) return PLIM_OK;
  PLIM_TRY(check_can_page(exec));
  for (int32_t k = 0; k < n_page_spaces; k++) {
    const int was_open = exec->pages.memory[k].bytes > 0;
    PLIM_TRY(grow_page(exec, plan, k));
    if (!was_open) exec->pages.without_queues = 1;
  }
  exec->pages.n = n_page_spaces;
  return grow_queues(exec, plan);
}

void plim_exec_close_spaces(plim_exec *exec) {
  plim_queues_close(exec->queues.threads);
  for (int32_t k = 0; k < PLIM_PAGE_SPACES; k++) {
    if (plim_streams_has(exec)) {
      plim_streams_close_page(exec, &exec->pages.memory[k]);
    } else {
      plim_page_memory_close(&exec->pages.memory[k]);
    }
  }
}
