/* The cut model at work: a proven lower bound on time, and plans that often attain it. */
#ifndef PLIM_PLANNER_BOUND_CUT_H
#define PLIM_PLANNER_BOUND_CUT_H

#include "planner/core/incumbent.h"

/* The models of one problem, and what solvers keep of them from budget to budget. */
typedef struct plim_bound_cache plim_bound_cache;

/* Models are made on first use. The problem is borrowed. */
PLIM_MUST_USE plim_status plim_bound_cache_new(const plim_problem *problem, plim_bound_cache **out);
void plim_bound_cache_free(plim_bound_cache *bound_cache); /* NULL is legal */

/* Raise inc->bound_ns to what the cut model proves for the class of the problem (PLIM_TIME_INFINITE: no plan fits), and
 * submit the plans that its solutions for program order suggest.
 *   work         as in plim_cut_limits: a unit takes about a nanosecond
 *   deadline_ns  by plim_now_ns, PLIM_TIME_UNLIMITED: none
 *   start        the fastest of those plans that fits. When none fits: the one for the whole budget, whose time is the
 *                bound's and whose peak is too high. Left as it is when there is nothing to suggest.
 *
 * With a bound cache in inc->shared, made for the same problem, it continues from the state that another budget left;
 * else it starts from nothing.
 *
 * Deterministic without a deadline. Does nothing for graphs of more than PLIM_CUT_MAX_OPS ops. */
PLIM_MUST_USE plim_status plim_cut_suggest(plim_incumbent *inc, int64_t work, int64_t deadline_ns,
                                           plim_schedule *start);

/* Raise inc->bound_ns towards target_ns, a time that nothing is known to beat, with the work of the search's own
 * bound: the model stops where that much is proved. Does nothing for graphs of more than PLIM_CUT_MAX_OPS ops. */
PLIM_MUST_USE plim_status plim_cut_prove(plim_incumbent *inc, int64_t target_ns);

/* Work of the cut model for a search, as in plim_cut_limits. Without a time limit it is about a tenth of a second, and
 * more where a single look at all cuts takes as long. With one it is as many units as PLIM_CUT_PERCENT of the limit has
 * nanoseconds: the deadline ends it where the machine is slower. */
enum { PLIM_CUT_PERCENT = 25 };
int64_t plim_cut_search_work(const plim_incumbent *inc);

/* Raise inc->bound_ns by a tenth of a second of work. Does nothing for graphs of more than PLIM_CUT_MAX_OPS ops. */
PLIM_MUST_USE plim_status plim_cut_bound(plim_incumbent *inc);

#endif
