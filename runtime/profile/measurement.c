/* Memory for measurements, and one run in it.
 *
 * In a step an op finds some operands in cache and others outside. A measurement reproduces this. Warm operands are in
 * a ring that fits into caches, and are written right before each run. Cold operands are in a larger ring, in addresses
 * that were not used for a while. */
#include "runtime/profile/measurement.h"

#include <string.h>

#include "runtime/base/integers.h"

/* WARM_RING_BYTES fit into the caches of a machine that also runs other programs. COLD_RING_BYTES are more than caches
 * hold, for a device that does not state the size of its cache. */
enum { WARM_RING_BYTES = 16 << 20, COLD_RING_BYTES = 64 << 20 };

/* The next address for so many bytes in the ring: after the last bytes, or at the start when they do not fit there. */
static char *next_place(plim_ring *ring, int64_t bytes) {
  if (ring->cursor + bytes > ring->bytes) ring->cursor = 0;
  char *place = ring->base + ring->cursor;
  ring->cursor += bytes;
  return place;
}

/* The places of both blocks of a run. In one ring they lie together: the second must not come over the first. */
static void next_places(plim_measurement *measurement, const int64_t *bytes, char **place) {
  if (measurement->ring_of[0] == measurement->ring_of[1]) {
    place[0] = next_place(measurement->ring_of[0], bytes[0] + bytes[1]);
    place[1] = place[0] + bytes[0];
    return;
  }
  for (int i = 0; i < 2; i++) place[i] = next_place(measurement->ring_of[i], bytes[i]);
}

enum { NORMALS_BYTES = PLIM_NORMALS * sizeof(float) };

static plim_status put_normals(const plim_measurement *measurement, void *to, int64_t bytes) {
  plim_device *device = measurement->set->device;
  if (device->api->host_visible) {
    plim_normals_fill(measurement->normal, to, bytes);
    return PLIM_OK;
  }
  for (int64_t at = 0; at < bytes; at += NORMALS_BYTES) {
    int64_t piece = bytes - at < NORMALS_BYTES ? bytes - at : NORMALS_BYTES;
    PLIM_TRY(device->api->queues.copy(device, 0, (char *)to + at, measurement->source, piece));
  }
  return PLIM_OK;
}

static plim_status put_special(const plim_measurement *measurement, const plim_op_desc *desc, int32_t k, void *to) {
  plim_device *device = measurement->set->device;
  int visible = device->api->host_visible;
  plim_operand_fill_special(desc, k, measurement->normal, visible ? to : measurement->host);
  if (visible) return PLIM_OK;
  PLIM_TRY(device->api->queues.copy(device, 0, to, measurement->host, plim_shape_bytes(plim_operand_shape(desc, k))));
  return device->api->queues.sync(device); /* the next operand is made in the same host memory */
}

/* Write the operands that must be in the caches, and those whose contents must be defined. */
static plim_status prepare_operands(const plim_measurement *measurement, const plim_profile_group *group) {
  const plim_op_desc *desc = &group->desc;
  void *const *operand = measurement->operand;
  for (int32_t k = desc->n_in; k < desc->n_in + desc->n_out; k++) {
    if (measurement->place[k].block != PLIM_CACHE_WARM) continue;
    PLIM_TRY(put_normals(measurement, operand[k], plim_shape_bytes(plim_operand_shape(desc, k))));
  }
  for (int32_t k = 0; k < desc->n_in; k++) {
    if (plim_operand_is_special(desc, k)) {
      PLIM_TRY(put_special(measurement, desc, k, operand[k]));
    } else if (measurement->place[k].block == PLIM_CACHE_WARM) {
      PLIM_TRY(put_normals(measurement, operand[k], plim_shape_bytes(plim_operand_shape(desc, k))));
    }
  }
  return measurement->set->device->api->queues.sync(measurement->set->device);
}

/* Write ordinary numbers where the run leaves others for the floats that come there next. Bytes of masks and of
 * integers are denormal floats or NaNs. What is updated again and again, from numbers that no step has, may become
 * anything. */
static plim_status restore_operands(const plim_measurement *measurement, const plim_op_desc *desc) {
  for (int32_t k = 0; k < plim_operands_count(desc); k++) {
    const plim_shape *shape = plim_operand_shape(desc, k);
    const int floats = shape->dtype == PLIM_F32 || shape->dtype == PLIM_BF16;
    if (floats && k < desc->n_in + desc->n_out) continue;
    PLIM_TRY(put_normals(measurement, measurement->operand[k], plim_shape_bytes(shape)));
  }
  return PLIM_OK;
}

/* Arguments of a kernel whose operands and workspace have their addresses. */
static plim_kernel_args args_of(const plim_measurement *measurement, const plim_profile_group *group,
                                const plim_profile_case *profile_case) {
  void *const *operand = measurement->operand;
  void *workspace = profile_case->variant.workspace_bytes > 0 ? operand[plim_operands_count(&group->desc)] : NULL;
  return (plim_kernel_args){.in = operand,
                            .out = operand + group->desc.n_in,
                            .upd = operand + group->desc.n_in + group->desc.n_out,
                            .workspace = workspace,
                            .seed = 1,
                            .step = 1,
                            .op = group->op};
}

/* Give the case's operands their places, in the rings from their cursors on.
 *   block  [2]  out  where the warm and the cold ones begin, and how many bytes they have */
static void place_operands(plim_measurement *measurement, const plim_profile_group *group,
                           const plim_profile_case *profile_case, char *block[2], int64_t bytes[2]) {
  plim_operands_place(&group->desc, &group->cache_states, profile_case->variant.workspace_bytes, measurement->place,
                      bytes);
  next_places(measurement, bytes, block);
  for (int32_t k = 0; k <= plim_operands_count(&group->desc); k++) {
    measurement->operand[k] = block[measurement->place[k].block] + measurement->place[k].at;
  }
}

plim_status plim_measure_run(plim_measurement *measurement, const plim_profile_group *group,
                             const plim_profile_case *profile_case, int64_t *time_ns) {
  char *block[2];
  int64_t bytes[2];
  place_operands(measurement, group, profile_case, block, bytes);
  PLIM_TRY(prepare_operands(measurement, group));
  const plim_kernel_args args = args_of(measurement, group, profile_case);
  PLIM_TRY(plim_device_time(measurement->set->device, profile_case->kernel, &args, time_ns));
  return restore_operands(measurement, &group->desc);
}

/* Outputs and workspace hold NaNs before the run, so that a result that the kernel does not write is found. */
plim_status plim_measure_result(plim_measurement *measurement, const plim_profile_group *group,
                                const plim_profile_case *profile_case, int64_t *time_ns, const void **out) {
  const plim_op_desc *desc = &group->desc;
  char *block[2];
  int64_t bytes[2];
  for (int i = 0; i < 2; i++) measurement->ring[i].cursor = 0;
  place_operands(measurement, group, profile_case, block, bytes);
  for (int i = 0; i < 2; i++) memset(block[i], 0xff, (size_t)bytes[i]);
  for (int32_t k = 0; k < desc->n_in; k++) {
    plim_operand_fill_random(plim_operand_shape(desc, k), (uint64_t)k + 1, measurement->operand[k]);
  }
  const plim_kernel_args args = args_of(measurement, group, profile_case);
  *out = measurement->operand[desc->n_in];
  return plim_device_time(measurement->set->device, profile_case->kernel, &args, time_ns);
}

/* Write normal numbers that repeat after a prime number of floats, so that no two rows or images of an operand are
 * equal. */
static plim_status put_varied(const plim_measurement *measurement, char *to, int64_t bytes) {
  enum { PERIOD_BYTES = 16381 * sizeof(float) };
  _Static_assert((int)PERIOD_BYTES <= (int)NORMALS_BYTES, "there are as many");
  const plim_device_api *api = measurement->set->device->api;
  const void *from = measurement->source ? measurement->source : measurement->normal;
  for (int64_t at = 0; at < bytes; at += PERIOD_BYTES) {
    const int64_t piece = bytes - at < PERIOD_BYTES ? bytes - at : PERIOD_BYTES;
    PLIM_TRY(api->queues.copy(measurement->set->device, 0, to + at, from, piece));
  }
  return PLIM_OK;
}

plim_status plim_measure_line(plim_measurement *measurement, const plim_profile_group *group,
                              const plim_profile_case *profile_case, int64_t *time_ns, const void **result, int32_t n) {
  const plim_op_desc *desc = &group->desc;
  plim_device *device = measurement->set->device;
  const int32_t operands = plim_operands_count(desc);
  int64_t at = 0;
  for (int32_t k = 0; k < n; k++) result[k] = NULL;
  for (int32_t k = 0; k <= operands; k++) {
    const int64_t bytes =
        k < operands ? plim_shape_bytes(plim_operand_shape(desc, k)) : profile_case->variant.workspace_bytes;
    const int64_t taken = plim_align_up(bytes, PLIM_ALIGN);
    if (taken < 0 || taken > measurement->arena_bytes - at) return PLIM_OK;
    measurement->operand[k] = (char *)measurement->arena + at;
    at += taken;
  }
  for (int32_t k = 0; k < desc->n_in; k++) {
    if (plim_operand_is_special(desc, k)) {
      PLIM_TRY(put_special(measurement, desc, k, measurement->operand[k]));
    } else {
      PLIM_TRY(put_varied(measurement, measurement->operand[k], plim_shape_bytes(plim_operand_shape(desc, k))));
    }
  }
  for (int32_t k = desc->n_in; k < desc->n_in + desc->n_out; k++) {
    PLIM_TRY(device->api->queues.fill(device, 0, measurement->operand[k], 0xff,
                                      plim_shape_bytes(plim_operand_shape(desc, k))));
  }
  const plim_kernel_args args = args_of(measurement, group, profile_case);
  PLIM_TRY(plim_device_time(device, profile_case->kernel, &args, time_ns));
  for (int32_t k = 0; k < n && k < desc->n_out; k++) result[k] = measurement->operand[desc->n_in + k];
  return PLIM_OK;
}

void plim_measure_need(const plim_profile_group *group, const plim_profile_case *profile_case,
                       plim_measure_needs *most) {
  int64_t bytes[2];
  plim_operands_place(&group->desc, &group->cache_states, profile_case->variant.workspace_bytes, NULL, bytes);
  for (int k = 0; k < 2; k++) most->block[k] = plim_integers_larger(most->block[k], bytes[k]);
  most->bytes = plim_integers_larger(most->bytes, bytes[0] + bytes[1]);
}

plim_status plim_measure_check_cancelled(const plim_profile_set *set) {
  plim_context *ctx = set->device->ctx;
  return plim_context_cancelled(ctx) ? plim_fail(ctx, PLIM_ECANCEL, "cancelled while profiling") : PLIM_OK;
}

plim_status plim_measure_prepare(plim_profile_set *set, const plim_profile_group *group,
                                 plim_profile_case *profile_case) {
  return profile_case->kernel ? PLIM_OK
                              : set->device->api->kernels.prepare(set->device, &group->desc, profile_case->variant.name,
                                                                  &profile_case->kernel);
}

int64_t plim_measure_step_bytes(const plim_graph *graph) {
  int64_t all = 0;
  for (int32_t s = 0; s < graph->n_storages; s++) {
    all = plim_add_checked(all, plim_align_up(graph->storage[s].bytes, PLIM_ALIGN));
  }
  return all < 0 ? INT64_MAX / 4 : all;
}

/* Set the sizes of the rings, and which ring each block uses. Returns the bytes of both. A small step finds more of its
 * cold operands in cache, so its rings are small too. limit: as for plim_measure_begin. */
static int64_t choose_rings(plim_measurement *measurement, const plim_measure_needs *most, int64_t limit) {
  int64_t all = plim_measure_step_bytes(measurement->set->graph);
  int64_t cold = plim_integers_larger(COLD_RING_BYTES, 2 * measurement->set->device->cache_bytes);
  int64_t warm = plim_integers_smaller(WARM_RING_BYTES, all), total = warm + plim_integers_smaller(cold, all + warm);
  if (limit > 0) total = plim_integers_smaller(total, limit);
  total = plim_integers_larger(total, most->bytes);
  warm = plim_integers_smaller(plim_integers_larger(warm, most->block[PLIM_CACHE_WARM]),
                               total - most->block[PLIM_CACHE_COLD]);
  int two = warm >= most->block[PLIM_CACHE_WARM];
  measurement->ring[PLIM_CACHE_WARM].bytes = two ? warm : total;
  measurement->ring[PLIM_CACHE_COLD].bytes = total - measurement->ring[PLIM_CACHE_WARM].bytes;
  measurement->ring_of[PLIM_CACHE_WARM] = &measurement->ring[PLIM_CACHE_WARM];
  measurement->ring_of[PLIM_CACHE_COLD] = &measurement->ring[two ? PLIM_CACHE_COLD : PLIM_CACHE_WARM];
  return total;
}

plim_status plim_measure_begin(plim_profile_set *set, const plim_measure_needs *most, int64_t limit,
                               plim_measurement *measurement) {
  plim_device *device = set->device;
  plim_context *ctx = device->ctx;
  *measurement = (plim_measurement){.set = set};
  measurement->arena_bytes = choose_rings(measurement, most, limit);
  for (int32_t g = 0; g < set->n_groups; g++) {
    const int32_t n = plim_operands_count(&set->group[g].desc) + 1;
    if (measurement->capacity < n) measurement->capacity = n;
  }
  PLIM_TRY(plim_allocate(ctx, measurement->capacity, sizeof *measurement->place, &measurement->place));
  PLIM_TRY(plim_allocate(ctx, measurement->capacity, sizeof *measurement->operand, &measurement->operand));
  PLIM_TRY(plim_allocate(ctx, PLIM_NORMALS, sizeof *measurement->normal, &measurement->normal));
  int64_t host_bytes = device->api->host_visible ? 0 : measurement->arena_bytes;
  PLIM_TRY(plim_allocate(ctx, host_bytes, 1, &measurement->host));
  measurement->host_bytes = host_bytes;
  PLIM_TRY(device->api->memory.alloc(device, measurement->arena_bytes, &measurement->arena));
  if (!device->api->host_visible) PLIM_TRY(device->api->memory.alloc(device, NORMALS_BYTES, &measurement->source));
  measurement->ring[PLIM_CACHE_WARM].base = measurement->arena;
  measurement->ring[PLIM_CACHE_COLD].base = (char *)measurement->arena + measurement->ring[PLIM_CACHE_WARM].bytes;
  plim_normals_make(measurement->normal);
  if (measurement->source) {
    PLIM_TRY(device->api->queues.copy(device, 0, measurement->source, measurement->normal, NORMALS_BYTES));
  }
  return put_normals(measurement, measurement->arena, measurement->arena_bytes);
}

void plim_measure_end(plim_measurement *measurement) {
  if (!measurement->set) return;
  plim_device *device = measurement->set->device;
  if (measurement->source) device->api->memory.release(device, measurement->source, NORMALS_BYTES);
  if (measurement->arena) device->api->memory.release(device, measurement->arena, measurement->arena_bytes);
  plim_release(device->ctx, measurement->host, measurement->host_bytes, 1);
  plim_release(device->ctx, measurement->normal, PLIM_NORMALS, sizeof *measurement->normal);
  plim_release(device->ctx, measurement->operand, measurement->capacity, sizeof *measurement->operand);
  plim_release(device->ctx, measurement->place, measurement->capacity, sizeof *measurement->place);
  *measurement = (plim_measurement){0};
}
