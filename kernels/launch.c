/* Shared by the launch functions: phases, views. */
#include "kernels/launch.h"

#include <assert.h>

/* What one thread does in a few microseconds, which is what it costs to wake another. */
enum { SERIAL_ELEMENTS = 16384 };

void k_launch_add_phase(k_launch *launch, k_kernel kernel, int64_t tiles, double elements) {
  assert(launch->phases < K_PHASES_MAX);
  launch->phase[launch->phases++] = (k_phase){.kernel = kernel, .tiles = tiles, .serial = elements <= SERIAL_ELEMENTS};
}

/* Positions summed into one partial result: enough that partial results are a small part of the traffic, few enough
 * that a channel vector stays in the first-level cache for a second pass over it. They lie in one image:
 * memory is read in order, which in the blocked layouts goes through all groups of an image before the next. */
static void cut_positions(k_call *call, k_kernel partial) {
  const int64_t tile = k_tile(partial) / call->x.block, most = tile < K_POSITIONS ? K_POSITIONS : tile;
  k_cut *cut = &call->cut;
  cut->size = k_divide_up(call->x.spatial, k_divide_up(call->x.spatial, most));
  cut->of_image = k_divide_up(call->x.spatial, cut->size);
  cut->all = call->x.n * cut->of_image;
}

void k_launch_reduction(k_launch *launch, k_kernel partial, k_kernel combine) {
  k_call *call = &launch->call;
  cut_positions(call, partial);
  launch->workspace_bytes = call->cut.all * 2 * call->x.channels * (int64_t)sizeof(float);
  k_launch_add_phase(launch, partial, call->cut.all * call->x.groups, k_view_elements(&call->x));
  k_launch_add_phase(launch, combine, k_tiles(call->x.channels, combine), 0);
}

/* A multiple of 16, so that tiles begin at a byte of a mask. */
int64_t k_launch_positions(k_call *call, k_kernel kernel) {
  const k_view *x = &call->x;
  int64_t positions = k_tile(kernel) / x->block / 16 * 16;
  call->cut.size = positions < 16 ? 16 : positions;
  return k_divide_up(x->n * x->groups * x->spatial, call->cut.size);
}

int64_t k_tile(k_kernel kernel) {
#define K_X(name, blocks, per_tile) (per_tile),
  static const int32_t tile[] = {K_KERNELS(K_X)};
#undef K_X
  return tile[kernel];
}

int64_t k_tiles(int64_t count, k_kernel kernel) {
  return k_divide_up(count, k_tile(kernel));
}

int64_t k_divide_up(int64_t count, int64_t part) {
  return count / part + (count % part != 0);
}

int k_view_make(const plim_shape *shape, k_view *view) {
  if (plim_shape_elements(shape) < 0 || (shape->rank != 4 && (shape->rank != 2 || shape->layout != PLIM_FLAT)))
    return 0;
  int64_t channels = shape->dim[1], spatial = shape->dim[2] * shape->dim[3];
  int64_t block = plim_layout_block(shape->layout);
  if (shape->layout == PLIM_NHWC || shape->rank == 2) block = channels;
  *view = (k_view){.n = shape->dim[0],
                   .channels = channels,
                   .groups = channels / block,
                   .spatial = spatial,
                   .block = block,
                   .height = shape->dim[2],
                   .width = shape->dim[3]};
  return 1;
}

int k_rows_make(const plim_shape *shape, k_rows *rows) {
  const int64_t elements = plim_shape_elements(shape);
  if (elements < 0 || shape->rank < 1 || shape->layout != PLIM_FLAT) return 0;
  rows->columns = shape->dim[shape->rank - 1];
  if (rows->columns > K_COLUMNS_MAX) return 0;
  rows->n = elements / rows->columns;
  return 1;
}

double k_rows_elements(const k_rows *rows) {
  return (double)rows->n * (double)rows->columns;
}

double k_view_elements(const k_view *view) {
  return (double)view->n * (double)view->channels * (double)view->spatial;
}

int k_view_merged(const plim_shape *shape, k_view *view) {
  if (!k_view_make(shape, view)) return 0;
  if (view->spatial == 1) { /* channels lie side by side in every layout */
    view->block = view->channels;
    view->groups = 1;
  }
  if (view->groups == 1) {
    view->spatial *= view->n;
    view->height = 1;
    view->width = view->spatial;
    view->n = 1;
  }
  return 1;
}

k_call k_launch_bind(const k_launch *launch, const plim_kernel_args *args, const uint64_t *now) {
  k_call call = launch->call;
  for (int i = 0; i < call.n_in; i++) call.in[i] = args->in[launch->first_in + i];
  for (int i = 0; i < call.n_out; i++) call.out[i] = args->out[launch->first_out + i];
  for (int i = 0; i < call.n_upd; i++) call.upd[i] = args->upd[i];
  call.workspace = args->workspace;
  call.now = now;
  call.op = args->op;
  return call;
}
