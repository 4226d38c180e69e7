/* Programs from a net that can be made for other batches: in the layout that is fastest, for the last batch of an
 * epoch, and the largest batch that fits. Files: source.c, largest_batch.c. */
#ifndef PLIM_RUNTIME_PROGRAM_PROGRAM_SOURCE_H
#define PLIM_RUNTIME_PROGRAM_PROGRAM_SOURCE_H

#include "runtime/base/size.h"
#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The source of a run's programs: a function that makes its net, and how ops are measured. */
typedef struct plim_program_source {
  size_t struct_bytes; /* sizeof(plim_program_source) */
  /* Make the net that `net` describes. PLIM_EUSAGE: there is none for that batch. */
  plim_status (*make)(void *user, const plim_net_options *net, plim_net **out);
  void *user;
  plim_net_options net;                  /* of the run; only batch, staging_batch and layout differ from call to call */
  const plim_profiler_options *profiler; /* wanted_bytes is not read; NULL: modelled costs, and nothing runs */
  plim_size budget;                      /* of the run's arena, and of the memory that measuring takes; 100 %: none */
  int pages;                             /* 1: plans may have a page space or other devices beside the budget */
  int64_t vram_bytes;                    /* budget for all memory of the run on a GPU; 0: none */
} plim_program_source;

/* No function, default net options, modelled costs, no budget. */
plim_program_source plim_program_source_default(void);

/* plim_program_begin with the source's net. Measuring takes at most the budget, or the keep-all bytes of modelled costs
 * in program order. So the budget changes the addresses of operands, but not which ops are measured. Where it is proven
 * that no plan fits into the budget, nothing is measured, and the program has modelled costs: planning refuses it. */
PLIM_MUST_USE plim_status plim_program_make(plim_device *device, const plim_program_source *source, plim_program **out);

/* plim_program_make in the layout in which the training step takes the least time, when every op runs once with its
 * fastest variant. Differences under 3 % are ties, which the earlier layout wins. A layout in which no plan fits the
 * budget is chosen only where none fits in any.
 *   source  [1]  in/out  net.layout becomes the chosen layout
 *   layout  [n]  in      to choose from; NULL: the layouts for which the device has kernels
 * Every layout is profiled; the profile cache makes this free the second time. When a library builds the kernels of
 * convolutions, which takes most of the time, only the heaviest convolutions are measured in every layout. All ops are
 * then measured in the chosen layout. Deterministic for equal profiles. */
PLIM_MUST_USE plim_status plim_program_choose_layout(plim_device *device, plim_program_source *source, int32_t n,
                                                     const plim_layout *layout, plim_program **out);

/* plim_program_add_last for a last batch of `images` images. */
PLIM_MUST_USE plim_status plim_program_make_last(plim_program *program, plim_device *device,
                                                 const plim_program_source *source, int32_t images);

/* A batch that does not fit: that of source->net. */
typedef struct plim_batch_search {
  const plim_program_source *source; /* its profiler is not read */
  int64_t failing_bytes;             /* the smallest budget that has a plan for this batch */
  int64_t fixed_bytes;               /* the persistent bytes, which do not depend on the batch */
} plim_batch_search;

/* Find the largest batch, below that of the source, that has a plan within options->budget_bytes.
 *   out  [1]  out  0: none was found
 * Tries a few batches with plim_program_fits, at most PLIM_BATCH_GUESSES until one fits, each within
 * options->time_limit_ns. Costs are modelled. Numerics keys in the options are not read. Deterministic without a time
 * limit. Errors as those of source->make, except its PLIM_EUSAGE, which stands for a batch that does not
 * fit, and as those of plim_program_fits. */
enum { PLIM_BATCH_GUESSES = 6 };
PLIM_MUST_USE plim_status plim_program_largest_batch(plim_device *device, const plim_batch_search *search,
                                                     const plim_plan_options *options, int32_t *out);

#ifdef __cplusplus
}
#endif
#endif
