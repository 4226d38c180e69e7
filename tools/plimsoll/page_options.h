/* Plans of models over several spaces, as the options say: --memory cpu=SIZE,host=SIZE or disk=SIZE, --recompute,
 * --page-file; and of least energy: --objective energy, --deadline, and the powers of --platform. */
#ifndef PLIM_TOOLS_PLIMSOLL_PAGE_OPTIONS_H
#define PLIM_TOOLS_PLIMSOLL_PAGE_OPTIONS_H

#include "runtime/inspect/paged_run.h"
#include "tools/plimsoll/figures.h"
#include "tools/plimsoll/session.h"

/* Set s->planning.paging, with the link measured, where the options ask for it; after the budget. PLIM_EUSAGE: a size
 * that cannot be read, or is too large. */
plim_status paging_choose(session *s);

/* After planning, also by --plan: PLIM_EUSAGE where the plan pages and an option is given that such plans do not have.
 */
plim_status paging_check(const session *s);

/* Is the objective energy? */
int energy_wanted(const options *o);

/* Set powers and deadline of s->paging, where the options ask for it; after its spaces. PLIM_EUSAGE: no spaces to
 * choose between, or a deadline that is none. PLIM_EDATA: the platform has no power for a device or link of this run.
 */
plim_status energy_choose(session *s);

/* Will the run make the file of --page-file? To be asked before anything is measured. */
int paging_makes_file(const options *o);
/* Remove the file that the run made, once its page spaces are closed. */
void paging_remove_file(const session *s);

/* Rows of the page spaces of a plan, and of what the executor measured in its last step. None for plans without. */
void paging_figures_plan(figures *f, int column, const plim_graph *graph, const plim_plan *plan);
void paging_figures_measured(figures *f, int column, const plim_graph *graph, const plim_exec *exec);

/* How much of the overhead of a plan its copies cause by delaying ops: a note to the row before. */
void paging_figures_overhead(figures *f, int column, const plim_plan *plan);

/* What the trial of a plan that pages found; no row where there was none. */
void paging_figures_trial(figures *f, const plim_trial *trial);

/* What the process holds at its most, beside the budgets of the spaces of all plans that ran; no row without page
 * spaces.
 *   outside_bytes  in  of outside_measure */
void paging_figures_resident(figures *f, const plim_exec *exec, int64_t arena_bytes, int64_t outside_bytes);
/* Bytes of page spaces that are memory. */
int64_t paging_resident_bytes(const plim_exec *exec);

/* Transfers as a list of objects; the caller owns the reference. */
json_t *paging_transfers_json(const plim_graph *graph, const plim_plan *plan, const plim_transfer *transfer, int32_t n);

/* Energy of the plan and of keep-all, and the deadline. No row where the objective is time. */
void energy_figures(figures *f, int column, const session *s, const plim_plan *plan);

#endif
