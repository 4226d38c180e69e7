/* Before training begins, every kernel that a library may refuse runs once. This finds variants that the device refuses
 * although the profile has their times: a time may come from the cache or from a model. */
#include "runtime/train/rehearsal.h"

#include "runtime/device/desc.h"
#include "runtime/profile/profile_cache.h"
#include "runtime/profile/profile_drop.h"

plim_status plim_rehearsal_run(const plim_program *program, plim_device *device, plim_refused_list *refused) {
  const plim_graph *graph[PLIM_PROGRAM_GRAPHS];
  const plim_plan *plan[PLIM_PROGRAM_GRAPHS];
  plim_exec_options options = plim_exec_options_default();
  plim_exec *exec = NULL;
  int32_t n = 0;
  refused->n = 0;
  if (!device->api->kernels.rehearse) return PLIM_OK;
  for (int32_t i = 0; i < PLIM_PROGRAM_GRAPHS; i++) {
    if (!program->plan[i]) continue;
    graph[n] = program->graph[i];
    plan[n++] = program->plan[i];
  }
  options.refused = refused;
  plim_status status = plim_exec_open(program->ctx, device, &options, n, graph, plan, &exec);
  plim_exec_close(exec);
  return status;
}

plim_status plim_rehearsal_for_plans(const plim_program *program, plim_device *device, plim_refused_list *refused,
                                     int *again) {
  plim_status status = plim_rehearsal_run(program, device, refused);
  *again = refused->n > 0;
  return *again || status == PLIM_ENOFIT ? PLIM_OK : status;
}

static plim_status drop(plim_program *program, plim_device *device, const plim_refused_variant *failure) {
  plim_op_desc desc;
  plim_desc_of(failure->graph, failure->op, &desc);
  for (int32_t i = 0; i < program->n_graphs; i++) {
    PLIM_TRY(plim_profile_drop_variant(program->graph[i], &program->profile[i], &desc, failure->variant, failure->why));
  }
  return plim_profile_cache_drop(device, &desc, failure->variant, failure->why);
}

plim_status plim_rehearsal_drop(plim_program *program, plim_device *device, const plim_refused_list *refused) {
  for (int32_t i = 0; i < refused->n; i++) PLIM_TRY(drop(program, device, &refused->row[i]));
  return PLIM_OK;
}
