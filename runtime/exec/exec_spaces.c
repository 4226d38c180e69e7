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

/* Find the bytes that the plans need of a page space, and its name. Bytes 0: no plan has the space. */
static plim_status need_of(const plim_exec *exec, const plim_plan *const *plan, int32_t space, int64_t *bytes,
                           const char **name) {
  *bytes = 0;
  *name = exec->spaces.name[space][0] ? exec->spaces.name[space] : NULL;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    if (space > plan[i]->n_page_spaces) continue;
    const plim_plan_space *page = &plan[i]->page[plim_page_index(space)];
    if (*name && strcmp(*name, page->name) != 0) {
      return plim_fail(exec->ctx, PLIM_EPLAN, "space %d is \"%s\" in one plan and \"%s\" in another", (int)space, *name,
                       page->name);
    }
    *name = page->name;
    if (page->arena_bytes > *bytes) *bytes = page->arena_bytes;
    if (*bytes < PLIM_ALIGN) *bytes = PLIM_ALIGN;
  }
  return PLIM_OK;
}

/* The device copies by itself between its memory and page-locked memory of the host. */
static plim_status grow_pinned(const plim_exec *exec, const char *name, int64_t bytes, plim_memory_region *region) {
  if (!plim_page_is_host(name)) {
    return plim_fail(exec->ctx, PLIM_EUNSUPPORTED, "device %s pages to host alone, and the plan has space \"%s\"",
                     exec->device->api->name, name);
  }
  return plim_streams_grow_page(exec, region, bytes);
}

static plim_status open_page(const plim_exec *exec, const char *name, int64_t bytes, plim_memory_region *region) {
  if (region->bytes > 0) return plim_memory_region_grow(exec->ctx, region, bytes);
  return plim_page_is_file(name) ? plim_memory_region_open_file(exec->ctx, exec->options.page_file, bytes, region)
                                 : plim_memory_region_open(exec->ctx, bytes, region);
}

static plim_status grow_page(plim_exec *exec, const plim_plan *const *plan, int32_t space) {
  plim_memory_region *region = &exec->spaces.memory[space];
  const int was_open = region->bytes > 0;
  const char *name;
  int64_t bytes;
  PLIM_TRY(need_of(exec, plan, space, &bytes, &name));
  if (!name || bytes <= region->bytes) return PLIM_OK;
  PLIM_TRY(plim_streams_has(exec) ? grow_pinned(exec, name, bytes, region) : open_page(exec, name, bytes, region));
  (void)snprintf(exec->spaces.name[space], sizeof exec->spaces.name[space], "%s", name);
  if (!was_open) exec->spaces.opened_since_queues = 1;
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

static void say_how(plim_exec *exec, int32_t space, int rings) {
  char how[sizeof exec->spaces.memory[space].how]; /* apart from where the text goes */
  if (exec->spaces.memory[space].fd < 0) return;
  memcpy(how, exec->spaces.memory[space].how, sizeof how);
  (void)snprintf(exec->spaces.how[space], sizeof exec->spaces.how[space], "%s, %s",
                 rings ? "io_uring" : "pread and pwrite", how);
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
  if (exec->queues.workers && n == exec->queues.n && !exec->spaces.opened_since_queues) return PLIM_OK;
  PLIM_TRY(
      plim_queues_open(exec->ctx, n, exec->spaces.memory, &exec->options, plim_exec_device_threads(exec), &queues));
  plim_queues_close(exec->queues.workers);
  exec->queues.workers = queues;
  exec->queues.n = n;
  exec->spaces.opened_since_queues = 0;
  for (int32_t space = 1; space < exec->spaces.n; space++) say_how(exec, space, plim_queues_have_rings(queues));
  return PLIM_OK;
}

/* ---- all of it ---- */

void plim_exec_begin_kernels(plim_exec *exec, const plim_plan *const *plan) {
  for (int32_t i = 0; i < exec->n_plans; i++) {
    for (int32_t space = 0; space <= plan[i]->n_page_spaces; space++) {
      plim_prepared *kernels = &exec->spaces.kernels[space];
      if (!plim_plan_computes(plan[i], space) || plim_prepared_has_begun(kernels)) continue;
      plim_prepared_begin(exec->ctx, exec->device, kernels);
    }
  }
}

plim_status plim_exec_grow_spaces(plim_exec *exec, const plim_plan *const *plan) {
  int32_t n = exec->spaces.n;
  for (int32_t i = 0; i < exec->n_plans; i++) {
    if (plan[i]->n_page_spaces + 1 > n) n = plan[i]->n_page_spaces + 1;
  }
  if (n == 1) return PLIM_OK;
  PLIM_TRY(check_can_page(exec));
  for (int32_t space = 1; space < n; space++) PLIM_TRY(grow_page(exec, plan, space));
  exec->spaces.n = n;
  return grow_queues(exec, plan);
}

void plim_exec_close_spaces(plim_exec *exec) {
  plim_queues_close(exec->queues.workers);
  for (int32_t space = 1; space < PLIM_PLAN_SPACES; space++) {
    if (plim_streams_has(exec)) {
      plim_streams_close_page(exec, &exec->spaces.memory[space]);
    } else {
      plim_memory_region_close(&exec->spaces.memory[space]);
    }
  }
}
