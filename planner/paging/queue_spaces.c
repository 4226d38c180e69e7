/* The spaces of a plan with copies, their queues and links, and what no plan over them is faster than. */
#include "planner/paging/command_list.h"

#include <stdio.h>

static void set_link(plim_queue_spaces *spaces, int32_t from, int32_t to, int64_t latency_ns, double bytes_per_ns) {
  spaces->latency_ns[from][to] = latency_ns;
  spaces->bytes_per_ns[from][to] = bytes_per_ns;
}

static int32_t add_space(plim_queue_spaces *spaces, const char *name, int64_t budget_bytes, int computes,
                         int32_t delay_permille) {
  const int32_t space = spaces->n++;
  plim_plan_space *page = &spaces->page[plim_page_index(space)];
  spaces->budget_bytes[space] = budget_bytes;
  spaces->computes[space] = computes;
  *page = (plim_plan_space){.budget_bytes = budget_bytes, .computes = computes, .delay_permille = delay_permille};
  (void)snprintf(page->name, sizeof page->name, "%s", name);
  return space;
}

/* A queue for the runs of each device, and one for each link. Where these are too many the links to a space share one:
 * their copies write to the same memory. */
static void number_queues(plim_queue_spaces *spaces) {
  int32_t queue = 1, links = 0, devices = 0, into[PLIM_PLAN_SPACES] = {0};
  for (int32_t from = 0; from < spaces->n; from++) {
    devices += spaces->computes[from];
    for (int32_t to = 0; to < spaces->n; to++) links += spaces->bytes_per_ns[from][to] > 0;
  }
  const int32_t shared = devices + links > PLIM_PLAN_QUEUES;
  for (int32_t from = 0; from < spaces->n; from++) {
    if (from > 0 && spaces->computes[from]) spaces->run_queue[from] = queue++;
    for (int32_t to = 0; to < spaces->n; to++) {
      if (spaces->bytes_per_ns[from][to] <= 0) continue;
      if (!shared || into[to] == 0) into[to] = queue++;
      spaces->copy_queue[from][to] = into[to];
    }
  }
}

/* The link to a page space is the same for all devices. */
void plim_queue_spaces_make(const plim_plan_options *options, plim_queue_spaces *spaces) {
  const plim_paging *o = options->paging;
  *spaces = (plim_queue_spaces){.n = 1, .computes = {1}, .budget_bytes = {options->budget_bytes}};
  for (int32_t i = 0; i < o->n_devices; i++) {
    int32_t device = add_space(spaces, o->device[i].name, o->device[i].budget_bytes, 1, 0);
    for (int32_t d = 0; d < device; d++) {
      set_link(spaces, d, device, o->device_latency_ns, o->device_bytes_per_ns);
      set_link(spaces, device, d, o->device_latency_ns, o->device_bytes_per_ns);
    }
  }
  if (o->space && o->budget_bytes > 0) {
    int32_t page = add_space(spaces, o->space, o->budget_bytes, 0, plim_paging_delay_permille(o));
    for (int32_t d = 0; d < page; d++) {
      set_link(spaces, d, page, o->latency_ns[PLIM_LINK_OUT], o->bytes_per_ns[PLIM_LINK_OUT]);
      set_link(spaces, page, d, o->latency_ns[PLIM_LINK_IN], o->bytes_per_ns[PLIM_LINK_IN]);
    }
  }
  number_queues(spaces);
}

int64_t plim_queue_copy_ns(const plim_queue_spaces *spaces, int32_t from, int32_t to, int64_t bytes) {
  return plim_paging_copy_ns(spaces->latency_ns[from][to], spaces->bytes_per_ns[from][to], bytes);
}

/* The longest chain of ops that read each other's outputs, or an even share of all. */
plim_status plim_queue_bound(const plim_graph *g, const plim_profile *profile, const plim_paging *paging,
                             int64_t keep_all_ns, int64_t *bound_ns) {
  int64_t *end_ns = NULL, longest_ns = 0, sum_ns = 0;
  *bound_ns = keep_all_ns;
  if (paging->n_devices == 0) return PLIM_OK;
  PLIM_TRY(plim_allocate(g->ctx, g->n_storages, sizeof *end_ns, &end_ns));
  for (int32_t o = 0; o < g->n_ops; o++) {
    const plim_op *op = &g->op[o];
    const int32_t first = profile->first[o];
    const int64_t least = plim_variants_least_ns(&profile->variant[first], profile->first[o + 1] - first, NULL);
    int64_t begin_ns = 0;
    for (int32_t i = 0; i < op->n_reads; i++) {
      if (end_ns[op->reads[i]] > begin_ns) begin_ns = end_ns[op->reads[i]];
    }
    for (int32_t i = 0; i < op->n_writes; i++) end_ns[op->writes[i]] = begin_ns + least;
    if (begin_ns + least > longest_ns) longest_ns = begin_ns + least;
    sum_ns += least;
  }
  plim_release(g->ctx, end_ns, g->n_storages, sizeof *end_ns);
  const int64_t share_ns = (sum_ns + paging->n_devices) / (paging->n_devices + 1); /* rounded up */
  *bound_ns = longest_ns > share_ns ? longest_ns : share_ns;
  return PLIM_OK;
}
