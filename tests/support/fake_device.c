/* The fake device: kernels are small records of (description, variant). */
#include "tests/support/fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/guarded.h"
#include "runtime/profile/profile_operands.h"

typedef struct fake_kernel {
  plim_op_desc desc;
  int variant;
} fake_kernel;

static const char *const names[2] = {"plain", "roomy"};

static plim_status fake_alloc(plim_device *device, int64_t bytes, void **out) {
  fake_device *fake = device->state;
  PLIM_TRY(plim_guarded_alloc(device->ctx, bytes, 0, out));
  fake->arena = *out;
  fake->arena_bytes = bytes;
  if (bytes > fake->allocated_most) fake->allocated_most = bytes;
  return PLIM_OK;
}

static void fake_release(plim_device *device, void *ptr, int64_t bytes) {
  fake_device *fake = device->state;
  fake->arena = NULL;
  plim_guarded_free(ptr, bytes);
}

static int fake_variants(plim_device *device, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  const fake_device *fake = device->state;
  (void)op;
  for (int v = 0; v < 2 && v < capacity; v++) {
    info[v] = (plim_kernel_info){.workspace_bytes = fake->workspace_bytes[v]};
    (void)snprintf(info[v].name, sizeof info[v].name, "%s", names[v]);
    (void)snprintf(info[v].numerics_key, sizeof info[v].numerics_key, "%s", names[v]);
  }
  return 2;
}

static plim_status fake_prepare(plim_device *device, const plim_op_desc *op, const char *variant, void **kernel) {
  fake_kernel *made = NULL;
  PLIM_TRY(plim_allocate(device->ctx, 1, sizeof *made, &made));
  *made = (fake_kernel){*op, strcmp(variant, names[1]) == 0};
  *kernel = made;
  return PLIM_OK;
}

static int64_t fake_workspace(plim_device *device, const void *kernel) {
  const fake_device *fake = device->state;
  return fake->workspace_bytes[((const fake_kernel *)kernel)->variant];
}

static void fake_unprepare(plim_device *device, void *kernel) {
  plim_release(device->ctx, kernel, 1, sizeof(fake_kernel));
}

enum { FAKE_OPERANDS = PLIM_OP_MAX_IN + PLIM_OP_MAX_OUT + PLIM_OP_MAX_UPD + 1 };

/* What one run reads and writes. */
typedef struct places {
  int32_t n;
  int64_t begin[FAKE_OPERANDS], end[FAKE_OPERANDS];
} places;

/* Operands may share all of their bytes, as in place, or none. */
static void look_at(fake_device *fake, places *p, const void *operand, int64_t bytes) {
  const int64_t begin = (const unsigned char *)operand - fake->arena, end = begin + bytes;
  if ((uintptr_t)operand % PLIM_ALIGN != 0 || begin < 0 || end > fake->arena_bytes) fake->faults++;
  for (int32_t i = 0; i < p->n; i++) fake->faults += begin != p->begin[i] && begin < p->end[i] && p->begin[i] < end;
  p->begin[p->n] = begin;
  p->end[p->n++] = end;
}

static void scribble(const plim_op_desc *desc, const plim_kernel_args *args) {
  for (int32_t i = 0; i < desc->n_out; i++) {
    if (desc->out[i].dtype == PLIM_F32) continue;
    memset(args->out[i], 0xff, (size_t)plim_shape_bytes(&desc->out[i]));
  }
  for (int32_t i = 0; i < desc->n_upd; i++) memset(args->upd[i], 0xff, (size_t)plim_shape_bytes(&desc->upd[i]));
}

static plim_status fake_run(plim_device *device, int32_t queue, void *kernel, const plim_kernel_args *args) {
  fake_device *fake = device->state;
  const fake_kernel *k = kernel;
  (void)queue;
  if (++fake->runs == fake->fail_at) return plim_fail(device->ctx, PLIM_EDEVICE, "the fake failed");
  if (fake->runs == fake->cancel_at) plim_context_cancel(device->ctx);
  places p = {.n = 0};
  for (int32_t i = 0; i < k->desc.n_in; i++) look_at(fake, &p, args->in[i], plim_shape_bytes(&k->desc.in[i]));
  for (int32_t i = 0; i < k->desc.n_out; i++) look_at(fake, &p, args->out[i], plim_shape_bytes(&k->desc.out[i]));
  for (int32_t i = 0; i < k->desc.n_upd; i++) look_at(fake, &p, args->upd[i], plim_shape_bytes(&k->desc.upd[i]));
  if (fake->workspace_bytes[k->variant] > 0) look_at(fake, &p, args->workspace, fake->workspace_bytes[k->variant]);
  if (fake->scribbles) scribble(&k->desc, args);
  fake->clock_ns += fake->cost_ns[k->variant][fake->runs_of[k->variant]++ % fake->n_costs];
  return PLIM_OK;
}

static plim_status fake_sync(plim_device *device) {
  (void)device;
  return PLIM_OK;
}

static int64_t fake_clock(plim_device *device) {
  return ((const fake_device *)device->state)->clock_ns;
}

static const plim_device_api fake_api = {
    .name = "fake",
    .host_visible = 1,
    .computes = 1,
    .memory = {.alloc = fake_alloc, .release = fake_release},
    .kernels = {.variants = fake_variants,
                .prepare = fake_prepare,
                .workspace = fake_workspace,
                .unprepare = fake_unprepare,
                .run = fake_run},
    .queues = {.sync = fake_sync, .clock = fake_clock},
};

void fake_device_make(fake_device *fake, plim_context *ctx, const char *cpu) {
  memset(fake, 0, sizeof *fake);
  fake->device.api = &fake_api;
  fake->device.ctx = ctx;
  fake->device.state = fake;
  fake->device.machine.threads = 1;
  (void)snprintf(fake->device.machine.device, sizeof fake->device.machine.device, "fake");
  (void)snprintf(fake->device.machine.cpu, sizeof fake->device.machine.cpu, "%s", cpu);
  fake->n_costs = 1;
  fake->cost_ns[0][0] = 100;
  fake->cost_ns[1][0] = 70;
  fake->workspace_bytes[1] = 3000;
}
