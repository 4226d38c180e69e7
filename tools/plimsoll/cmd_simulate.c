/* plimsoll simulate: what an online policy or a plan would make of a graph within a budget. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/size.h"
#include "runtime/graph/sibling.h"
#include "runtime/simulate/simulation.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/process.h"
#include "tools/plimsoll/run_train.h"
#include "tools/plimsoll/session.h"

static plim_simulation_addresses addresses_of(const options *o) {
  if (!o->placing) return o->online ? PLIM_SIMULATE_ARENA : PLIM_SIMULATE_PLANNED;
  if (strcmp(o->placing, "none") == 0) return PLIM_SIMULATE_BYTES;
  return strcmp(o->placing, "arena") == 0 ? PLIM_SIMULATE_ARENA : PLIM_SIMULATE_PLANNED;
}

static const char *asked_for(const options *o) {
  return o->online ? o->online : o->planner ? o->planner : "search";
}

static plim_plan_options planning(const options *o) {
  plim_plan_options p = plim_plan_options_default();
  p.planner = asked_for(o);
  p.seed = (uint64_t)o->seed;
  p.iterations = o->iterations;
  p.time_limit_ns = (int64_t)(o->time_limit * 1e9);
  p.front_folder = o->no_cache ? NULL : ""; /* more bytes are never slower, from command to command */
  p.copies = (int32_t)o->copies;
  return p;
}

static void print_result(const session *s, const plim_simulation *sim, const plim_simulated *r, int64_t whole,
                         double seconds) {
  figures f;
  figures_begin(&f, 1, NULL, NULL);
  figures_text(&f, 0, "graph", "graph", sim->graph->name);
  figures_note(&f, 0, ", %d ops", sim->graph->n_ops);
  figures_text(&f, 0, s->o->online ? "policy" : "planner", "by", asked_for(s->o));
  run_figures_effort(&f, 0, s->o);
  figures_text(&f, 0, "way", s->o->online && strcmp(r->by, s->o->online) != 0 ? "in the manner of" : NULL, r->by);
  figures_bytes(&f, 0, "budget_bytes", "budget", r->budget_bytes);
  figures_note(&f, 0, " (%.1f %% of %s, %lld bytes)", 100 * (double)r->budget_bytes / (double)whole,
               plim_simulation_whole_name(sim, addresses_of(s->o)), (long long)whole);
  figures_count(&f, 0, "whole_bytes", NULL, whole);
  if (r->arena_bytes >= 0) figures_bytes(&f, 0, "arena_bytes", "arena", r->arena_bytes);
  figures_text(&f, 0, "status", "status", plim_online_end_name(r->end));
  if (r->end == PLIM_ONLINE_OK) {
    figures_real(&f, 0, "overhead_percent", "overhead", "%.4f %%", r->overhead_percent);
  } else {
    figures_null(&f, 0, "overhead_percent");
  }
  figures_count(&f, 0, "evictions", "evictions", r->evictions);
  figures_count(&f, 0, "recomputes", "recomputations", r->recomputes);
  figures_count(&f, 0, "depth", "longest chain", r->depth);
  figures_count(&f, 0, "scanned", "scores and blocks looked at", r->scanned);
  figures_real(&f, 0, "fragmentation_percent", "free when room was made", "%.2f %% of the arena",
               r->fragmentation_percent);
  figures_bytes(&f, 0, "small_area_bytes", "area for small requests", r->small_area_bytes);
  figures_count(&f, 0, "spills", "that found it full", r->spills);
  figures_real(&f, 0, "search_seconds", "search for room", "%.4f s", (double)r->search_ns / 1e9);
  refusal_figures(&f, 0, &s->refusal);
  figures_real(&f, 0, "seconds", "simulated in", "%.3f s", seconds);
  figures_print(&f, s->o->json);
  figures_end(&f);
}

/* A budget that no plan fits into gets the sentence of `plan`: where a plan was asked for, and where one op alone needs
 * more than a policy or a plan's replay has. Returns PLIM_ENOFIT with a sentence for any other end, too. */
static plim_status explain(session *s, const plim_simulation *sim, const plim_simulated *r) {
  plim_simulation_addresses addresses = addresses_of(s->o);
  plim_plan_options wanted = planning(s->o);
  plim_plan_floor floor;
  char budget[PLIM_SIZE_TEXT_BYTES];
  (void)plim_size_print(r->budget_bytes, budget);
  if (r->end == PLIM_ONLINE_THRASH) {
    return plim_fail(s->ctx, PLIM_ENOFIT,
                     "within %s (%lld bytes) %s computes again for more than %g times the step's time", budget,
                     (long long)r->budget_bytes, r->by, s->o->thrash);
  }
  if (s->o->online) wanted.planner = NULL;
  wanted.budget_bytes = r->budget_bytes;
  wanted.unpacked = addresses == PLIM_SIMULATE_BYTES;
  PLIM_TRY(plim_plan_bound(s->ctx, sim->graph, sim->profile, &wanted, &floor));
  int of_plans = !s->o->online && addresses != PLIM_SIMULATE_ARENA;
  if (of_plans || r->budget_bytes < floor.bound_bytes) {
    return refusal_explain_graph(s, sim->graph, sim->profile, &wanted, NULL);
  }
  return plim_fail(s->ctx, PLIM_ENOFIT, "%s does not fit into %s (%lld bytes), after %lld evictions", r->by, budget,
                   (long long)r->budget_bytes, (long long)r->evictions);
}

/* The sentence, and into how much the policy does fit. */
static plim_status refuse(session *s, const plim_simulation *sim, const plim_policy *policy, const plim_simulated *r) {
  plim_status status = explain(s, sim, r);
  char sentence[PLIM_ERROR_BYTES];
  if (status != PLIM_ENOFIT || !policy) return status;
  (void)snprintf(sentence, sizeof sentence, "%s", plim_context_error(s->ctx));
  PLIM_TRY(plim_simulation_enough(sim, policy, addresses_of(s->o), r->budget_bytes, &s->refusal.online_bytes));
  (void)plim_fail(s->ctx, PLIM_ENOFIT, "%s", sentence);
  return refusal_add_policy(s);
}

/* A run that did not end has its figures on standard output all the same; the sentence goes beside them. */
static plim_status simulate_graph(session *s, const plim_simulation *sim) {
  const plim_policy *policy = s->o->online ? plim_policy_find(s->o->online) : NULL;
  plim_simulation_addresses addresses = addresses_of(s->o);
  plim_simulated r = {.plan = NULL};
  plim_simulate_options wanted = plim_simulate_options_default();
  wanted.addresses = addresses;
  wanted.policy = policy;
  wanted.planning = planning(s->o);
  if (s->o->time_limit > 0) wanted.planning.time_limit_ns = session_left_ns(s);
  int64_t whole, begin_ns = plim_now_ns();
  plim_status status = PLIM_OK;
  double seconds;
  PLIM_TRY(plim_simulation_whole(sim, addresses, &whole));
  PLIM_TRY(plim_simulation_budget(sim, s->o->memory, addresses, &wanted.budget_bytes));
  PLIM_TRY(plim_simulate(sim, &wanted, &r));
  progress_clear(&s->bar);
  if (s->o->output && r.plan && r.end == PLIM_ONLINE_OK)
    PLIM_TRY_OR_DONE(plim_sibling_save(sim->graph, r.plan, s->o->output));
  seconds = (double)(plim_now_ns() - begin_ns) / 1e9;
  if (r.end != PLIM_ONLINE_OK) status = refuse(s, sim, policy, &r);
  progress_clear(&s->bar);
  print_result(s, sim, &r, whole, seconds);
  s->answered = 1;
done:
  plim_simulated_free(&r);
  return status;
}

static plim_status simulate(session *s) {
  plim_graph *graph = NULL;
  plim_simulation sim;
  interrupt_at_once(1); /* a policy's run keeps nothing, a planner its best plan */
  PLIM_TRY(plim_graph_load(s->ctx, s->o->graph, &graph));
  interrupt_at_once(s->o->online != NULL);
  plim_status status = plim_simulation_open(s->ctx, graph, s->o->thrash, &sim);
  if (status == PLIM_OK) {
    status = simulate_graph(s, &sim);
    plim_simulation_close(&sim);
  }
  plim_graph_free(graph);
  return status;
}

static int run_simulate(const options *o) {
  return session_run(o, simulate);
}

const command command_simulate = {
    .name = "simulate",
    .mask = COMMAND_SIMULATE,
    .summary = "simulate a graph within a budget: an online policy, or a plan",
    .about =
        "Simulate a training step within a budget without computing it. --online: no plan; what finds no room evicts "
        "what the policy thinks cheapest, and what was evicted is recomputed when it is read. Policies: best (tries "
        "several ways and keeps the cheapest), coop, dtr, dtr-eq, dtr-local, dte, lru, size, msps. --planner: a plan "
        "within the same budget. --addresses none: the program's views and handles in memory that is a sum of bytes, "
        "as the DTR simulator has it; arena (default of --online): blocks of one arena; planned (default of "
        "--planner): the plan's addresses. Percentages of --memory are of keep-all bytes; for a log, whose program "
        "frees what it likes, those are the program's own peak (for addresses rounded to 512 bytes, with constants "
        "that stay).",
    .after =
        "EXAMPLES\n"
        "  plimsoll import dtr resnet32.log.gz -o g.json\n"
        "  plimsoll simulate --graph g.json --online coop --memory 40%\n"
        "  plimsoll simulate --graph g.json --online dtr --addresses none --memory 40%\n"
        "  plimsoll simulate --graph g.json --planner search --memory 40%\n\n"
        "STATUS\n"
        "  ok; oom: nothing is left to evict; thrash: recomputing takes longer than\n"
        "  --max-recompute times the step. The last two end with exit status 4, and a\n"
        "  sentence that names the smallest budget found, by halving, into which the\n"
        "  policy fits. Smaller ones may do, too, and some larger ones may not.\n\n"
        "FILES\n"
        "  With -o plan.json the graph is written to plan.graph.json beside it.\n",
    .run = run_simulate,
};
