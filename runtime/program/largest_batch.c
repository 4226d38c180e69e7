/* Finds the largest batch by guesses. They count images of a micro-batch, whose number stays. The smallest budget grows
 * nearly linearly with the batch, from the persistent bytes on. Guesses begin a little below that line, because
 * planning is much faster for a batch that fits than for one that does not. Then they approach the line. Costs are
 * modelled, since sizes, not times, decide which batch fits. */
#include "runtime/program/program_source.h"

enum { GUESSES = 4 };

/* Is there a plan for that micro-batch? A micro-batch for which no net can be made does not fit. */
static plim_status fits(plim_device *device, const plim_batch_search *search, int32_t batch,
                        const plim_plan_options *planning, int *yes) {
  plim_program_source source = *search->source;
  plim_program *program = NULL;
  *yes = 0;
  source.net.batch = batch * source.net.accumulate;
  source.profiler = NULL;
  plim_status status = plim_program_make(device, &source, &program);
  if (status == PLIM_EUSAGE) return PLIM_OK;
  if (status == PLIM_OK) status = plim_program_fits(program, planning, yes);
  plim_program_free(program);
  return status;
}

/* The batch of the guess, which may be infinite; half-way where it is not between the ends. */
static int32_t between(int32_t fitting, int32_t failing, double guess) {
  if (!(guess >= fitting + 1.0 && guess < failing)) return fitting + (failing - fitting) / 2;
  return (int32_t)guess;
}

plim_status plim_program_largest_batch(plim_device *device, const plim_batch_search *search,
                                       const plim_plan_options *options, int32_t *out) {
  plim_plan_options planning = *options;
  if (planning.numerics == PLIM_NUMERICS_GIVEN) {
    planning.numerics = PLIM_NUMERICS_AUTO; /* keys are of the other batch */
  }
  planning.numerics_key = NULL;
  planning.front_folder = NULL; /* no one will ask for the plans of these batches again */
  int64_t image_bytes = options->budget_bytes - search->fixed_bytes;
  const int32_t micro_batches = search->source->net.accumulate;
  int32_t fitting = 0, failing = search->source->net.batch / micro_batches;
  double an_image = (double)(search->failing_bytes - search->fixed_bytes) / (double)failing, shrink = 0.05;
  double guess = image_bytes > 0 ? 0.97 * (double)image_bytes / an_image : 1;
  for (int i = 0; i < (fitting ? GUESSES : PLIM_BATCH_GUESSES) && failing - fitting > 1; i++) {
    const int32_t batch = between(fitting, failing, guess);
    int yes;
    PLIM_TRY(fits(device, search, batch, &planning, &yes));
    if (yes) {
      fitting = batch;
      guess = batch * 1.02 + 1;
    } else {
      failing = batch;
      guess = batch * (1 - shrink);
      if (fitting == 0 && shrink < 0.5) shrink *= 2;
    }
  }
  *out = fitting * micro_batches;
  return PLIM_OK;
}
