/* What the files of planner/spaces share. One call, plim_space_plan_make (space_make.c), uses them in this order:
 *
 *   kept plans     plans of earlier calls are read from the user's folder, and this call's is written there
 *   request        what is asked for, checked and in numbers
 *   first plans    of large graphs, by a planner of one arena
 *   portfolio      the searches, from known and first plans on (search/)
 *   program        for planners that have one: their integer program, which begins with what was found (program/)
 *   refusals       where nothing fits: what programs say of larger budgets; what the search says is in search/ */
#ifndef PLIM_PLANNER_SPACES_SPACE_MAKE_INTERNAL_H
#define PLIM_PLANNER_SPACES_SPACE_MAKE_INTERNAL_H

#include "planner/spaces/program/space_model.h"
#include "planner/spaces/search/space_search.h"
#include "planner/spaces/space_make.h"
#include "runtime/base/cache.h"
#include "runtime/base/text.h"

/* ==== kept plans (space_kept.c) ==== */

/* Plans over spaces that are kept between calls. */

enum { PLIM_SPACE_KEPT = 32 /* plans that a call reads, at most: those used last */ };

typedef struct plim_space_kept {
  plim_context *ctx;
  char path[PLIM_FILE_PATH_BYTES]; /* of the plan of this call; "": nothing is kept */
  int32_t n, n_known, known_capacity;
  plim_space_plan *plan[PLIM_SPACE_KEPT]; /* [n] read, and proved by the checker */
  const plim_space_plan **known;          /* [n_known] those of the options, then those read */
} plim_space_kept;

/* Read the plans of the graph for devices, spaces and links of the same names. Their rates may be others, and so may
 * budgets, deadline and objective. A file that cannot be read, or is wrong in any way, is left out. Read of `options`:
 * folder, known, and what the plan depends on. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_space_kept_open(const plim_graph *graph, const plim_platform *platform,
                                               const plim_space_options *options, plim_space_kept *out);

/* Keep the plan in place of the last one for the same rates, budgets, deadline and switches. A folder that cannot be
 * written is no failure. PLIM_ENOMEM. */
PLIM_MUST_USE plim_status plim_space_kept_save(const plim_space_kept *kept, const plim_space_plan *plan);

void plim_space_kept_close(plim_space_kept *kept); /* {0} is legal */

/* ==== request (space_request.c) ==== */

/* What a call of a planner over spaces asks for, checked and in numbers, and what follows from it alone. */

typedef struct plim_space_planner {
  const char *name, *source;
  plim_space_plan_class plan_class;
  plim_space_class model_class;
  unsigned objectives; /* bits by plim_objective */
  plim_objective own;
  int32_t recompute_alone; /* 1: cannot page */
  int32_t searches;        /* 1: without a program */
  int32_t joins;           /* 1: a copy may carry several storages; 0: no copy of its class does */
} plim_space_planner;

typedef struct plim_space_request {
  plim_context *ctx;
  const plim_space_options *options;
  const plim_space_planner *planner;
  plim_space_problem *problem;
  int64_t *budget;                /* [n_spaces] */
  plim_space_model_options model; /* with that budget */
  int64_t started_ns;
} plim_space_request;

/* Check what is asked. Free it also after a failure. PLIM_EUSAGE and PLIM_EDATA as plim_space_plan_make. */
PLIM_MUST_USE plim_status plim_space_request_make(plim_context *ctx, const plim_graph *graph,
                                                  const plim_platform *platform, const plim_space_options *options,
                                                  plim_space_request *out);
void plim_space_request_free(plim_space_request *request);

/* Seconds that a solver may take from now on: what is left of the call's time limit. Where there is none, a limit of
 * spaces_tuning.program.unlimited_ns from the begin of the call holds, as nothing else ends a solver's first node.
 * Below 0: no time is left, and the solver is not called. */
double plim_space_seconds_left(const plim_space_request *request);

/* The effort for a program that is solved now, with no cutoff. */
plim_solve_options plim_space_effort(const plim_space_request *request);

/* ---- in units of the objective, ns or joule ---- */

/* What idle devices draw in so many nanoseconds. */
double plim_space_idle_joule(const plim_space_problem *problem, int64_t ns);
/* Every op once on one device; where none runs them all, each where it is fastest. */
double plim_space_keep_all(const plim_space_request *request);
/* No plan is better: every op once where it is cheapest. */
double plim_space_least(const plim_space_request *request);

/* ---- plans ---- */

/* May a command copy several storages? */
int plim_space_joins(const plim_space_request *request);
/* Does a program's bound hold for plans of its class? */
int plim_space_proves(const plim_space_request *request);

/* The plan of a sequence.
 *   events  in, out  copies that follow each other become one, where they may
 *   bound   in       no plan of its class is better
 *   proved  in       1: the sequence is known to have none that is better */
PLIM_MUST_USE plim_status plim_space_plan_of(const plim_space_request *request, plim_space_events *events, double bound,
                                             int proved, plim_space_plan **out);

/* ==== first plans (space_first.c) ==== */

/* First plans of large graphs from a planner of one arena. */

/* The runs of a plan of one arena for the only device that may be used. Without recompute, with several devices, and
 * for graphs of fewer than spaces_tuning.search.large_nodes nodes none is made. Read of `asked`: objective, recompute,
 * place, budget.
 *   options  in   one_arena and threads
 *   percent  in   of the time that the context has left, for the call; where pages are allowed (asked->page), of what
 *                 is above spaces_tuning.first.reserve_ns_a_node for each node, and none is made where less is left
 *   out           its list is empty; and stays so where nothing was found */
PLIM_MUST_USE plim_status plim_space_first(const plim_space_problem *problem, const plim_space_search_options *asked,
                                           const plim_space_options *options, int32_t percent, plim_space_events *out);

/* ==== portfolio (space_portfolio.c) ==== */

/* Searches that may do less than what is asked for, and the one that may do all of it. */

enum { PLIM_SPACE_SEARCHES = 3 /* recompute alone, paging alone, all that is allowed */ };

typedef struct plim_space_portfolio {
  plim_space_found best; /* of them all */
  plim_space_found found[PLIM_SPACE_SEARCHES];
  plim_space_events events[PLIM_SPACE_SEARCHES]; /* those found */
} plim_space_portfolio;

/* Search with recompute alone and with paging alone, each as a call that allows nothing else does, and then with all
 * that `options` allow, from what the two found. So no call that allows more has a worse plan, where no time limit ends
 * a search. Of graphs of spaces_tuning.search.large_nodes nodes, and where one of the two is not
 * allowed, the last alone.
 *   least  in  what no plan is below, whatever is allowed; options->bound is that of all that they allow
 *   out    in  events are empty lists of the context
 * Deterministic where no deadline of the context is. */
PLIM_MUST_USE plim_status plim_space_portfolio_search(const plim_space_problem *problem,
                                                      const plim_space_search_options *options, double least,
                                                      plim_space_portfolio *out);

void plim_space_portfolio_free(plim_space_portfolio *portfolio);

/* ==== programs (space_program.c) ==== */

/* Planners by integer programming: a program of their class is built, solved with a gap of zero, read as a sequence and
 * lowered to commands. A solver's tolerances may let a point pass above a budget: then the program is solved again for
 * as much less; the bound is the first one's. */

typedef struct plim_space_program {
  const plim_space_request *request;
  plim_solver *solver;
  plim_space_model_options model; /* of the next program: its budgets and its deadline may be lower than those asked */
  int64_t *limit;                 /* [n_spaces] those budgets */
  double least;                   /* no plan is better, whatever its class */
  double bound;                   /* of the first program; -INFINITY: none */
  int32_t had_point;              /* 1: the first program had a point */
  int32_t ended;                  /* 1: the last program has no point below its cutoff */
  plim_space_outcome outcome;     /* of the first program that had a point, or of the first one */
  plim_space_plan *plan;          /* within the budgets and the deadline; NULL: none */
} plim_space_program;

/* A program for what is asked, not yet solved.
 *   least  in  no plan is better, whatever its class
 * Free it also after a failure. PLIM_EUNSUPPORTED: there is no solver. */
PLIM_MUST_USE plim_status plim_space_program_open(const plim_space_request *request, double least,
                                                  plim_space_program *out);
void plim_space_program_free(plim_space_program *program); /* one of zeros is legal */

/* Solve it, again while the plan is above budgets or deadline.
 *   best  in  the objective of a plan that is known, or INFINITY: points that are not below it are of no interest */
PLIM_MUST_USE plim_status plim_space_program_solve(plim_space_program *program, double best);

/* What no plan of the planner's class is below. */
double plim_space_program_bound(const plim_space_program *program);
/* Does the first program prove that no plan of its class is below that objective? */
int plim_space_program_proves(const plim_space_program *program, double value);

/* ==== refusals (space_refusal.c) ==== */

/* What integer programs say of budgets that have no plan. */

/* PLIM_ENOFIT with the smallest common factor on all budgets that has a plan, and for each space the smallest budget
 * with the others as they are; or the failure of that.
 * The program of the request has no point. The call's time limit holds for all programs solved here together. */
PLIM_MUST_USE plim_status plim_space_refuse(const plim_space_request *request, plim_solver *solver);

#endif
