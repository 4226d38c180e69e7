/* Verification: the same steps under a program's plans and under keep-all with the same numerics, compared bit for bit.
 *
 * The other run is the reference. It pages nothing, and its arenas have any size. Each op runs once, one after another,
 * in program order, on the device and with the variant of its first run in the program's plan. Copies bring what it
 * uses to its device; no two commands run at once. So equal bits show that recomputation, copies, homes in other
 * spaces, queues, order and addresses change nothing. Not compared are the loss, activations and gradients, and
 * evaluation steps do not run. A kernel that is wrong in both runs is not found. Where other plans take over in the
 * run, the reference stays with the variants and devices of the program's plan: their numerics keys are equal. */
#ifndef PLIM_RUNTIME_TRAIN_VERIFICATION_H
#define PLIM_RUNTIME_TRAIN_VERIFICATION_H

#include "runtime/program/program_source.h"
#include "runtime/train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a comparison. */
typedef struct plim_state_difference {
  int64_t values, bytes; /* number of values and bytes that were compared */
  int64_t different;     /* number of values with a byte that differs */
  const char *name;      /* name of the first such value in graph order, borrowed from a's graph; NULL: none */
  int64_t first_byte;    /* index of the first byte that differs in that value */
} plim_state_difference;

/* Compare the states of two trainers bit for bit, between two steps of each. Values are matched by name.
 *   out  [1]  out  a difference in bits is no failure: out->different counts it
 * PLIM_EDATA: a value of one trainer is missing in the other, or has another size there. PLIM_EDEVICE: a value cannot
 * be copied from its device. PLIM_EIO: nor from a page file. PLIM_ENOMEM. O(bytes of the state + values^2), and memory
 * for two copies of the largest value. On the thread of both trainers. */
PLIM_MUST_USE plim_status plim_state_compare(const plim_trainer *a, const plim_trainer *b, plim_state_difference *out);

/* Make the unlimited program to compare with: of the same source, planned as keep-all with the numerics keys of
 * `program`. It has one space and one device.
 *   program  in   planned; the last batch is included when it has a plan
 *   source   in   from which `program` was made
 *   out      out  free with plim_program_free
 * The program is rehearsed: a variant that the device refuses leaves its profiles, and another with the same numerics
 * key takes its place. PLIM_EUSAGE when there is no other. Otherwise the errors and the cost of planning. */
PLIM_MUST_USE plim_status plim_verify_make_unlimited(const plim_program *program, plim_device *device,
                                                     const plim_program_source *source, plim_program **out);

/* Make the reference: the same, but in program order, and each op on the device and with the variant that its first run
 * has in the plan. It takes more bytes. PLIM_EDEVICE: the device refuses such a variant. */
PLIM_MUST_USE plim_status plim_verify_make_reference(const plim_program *program, plim_device *device,
                                                     const plim_program_source *source, plim_program **out);

/* Number of steps of two programs, a step of each in turn, that fit into a time by their predictions, beside as many
 * test batches of both. It is a multiple of ten, and at least 150: fewer show no difference of a few percent.
 *   program, unlimited  in  planned, of equal batches
 *   test_batches        in  of one test; both take the time of the unlimited program's evaluation step
 *   time_ns             in  may be negative
 * Thread-safe. */
int64_t plim_verify_steps_within(const plim_program *program, const plim_program *unlimited, double test_batches,
                                 double time_ns);

/* Called before each step, when `done` of `steps` steps are done. */
typedef void plim_on_verify(void *user, int64_t done, int64_t steps);

/* Run the trainer's first `steps` steps and the same steps of an unlimited program with equal training options,
 * alternately. Then compare parameters, running statistics and optimizer state, each from its home.
 *   trainer    in/out  that has run no step (PLIM_EUSAGE); its data set and device are used for both
 *   unlimited  in      of plim_verify_make_reference, or _unlimited; must outlive the call
 *   on_step    in      may be NULL
 *   out        out     the names in it are borrowed from the trainer's program
 * A difference in bits is not a failure. PLIM_ENOFIT: there is no room for the unlimited run. Otherwise the errors of
 * plim_trainer_open, plim_trainer_run and plim_state_compare. */
PLIM_MUST_USE plim_status plim_verify(plim_trainer *trainer, plim_program *unlimited, int64_t steps,
                                      plim_on_verify *on_step, void *user, plim_state_difference *out);

#ifdef __cplusplus
}
#endif
#endif
