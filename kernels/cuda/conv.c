/* Convolutions by cuDNN as variants, with a numerics key made of the library's version, the engine and its knobs. Where
 * activations have their channels last the weights are copied into that order before the convolution, or their
 * gradient out of it after. The gradient of weights is of the activations' type inside the library, because few
 * engines write floats from bf16, and is widened on its way out. A bias is added after the convolution by a body of
 * ours, which every engine goes with; the numerics key says so. In bf16 the engine writes its sums as floats then, and
 * they are rounded once, after the bias.
 *
 *   workspace = weights or gradient as the library has them (where the graph's are not so), sums that a bias is added
 * to (where y is no floats), then what the engine needs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/dnn.h"
#include "kernels/cuda/stages.h"
#include "kernels/workspace.h"

enum { STAGES = 4, HOW_BYTES = sizeof((plim_kernel_info *)0)->how };

typedef struct conv {
  plim_dnn_conv problem;
  k_launch launch;
  int64_t copy_bytes; /* of the weights; 0: they are read or written in place */
  int64_t sums_bytes; /* of y as floats; 0: the engine writes y itself */
  int wide;           /* 1: the gradient is widened to floats */
  int bias;
  k_view result; /* y, where there is a bias */
} conv;

static int describe(const plim_op_desc *op, conv *c) {
  int copied = 0;
  memset(c, 0, sizeof *c);
  if (!k_launch_make(op, &c->launch) || !plim_dnn_conv_of(op, &c->problem, &copied)) return 0;
  plim_shape weights = op->kind == PLIM_OP_CONV2D_BWD_WEIGHTS ? op->out[0] : op->in[1];
  c->bias = op->n_in == 3;
  if (c->bias && !k_view_merged(&op->out[0], &c->result)) return 0;
  if (c->problem.y_type != c->problem.data_type) {
    c->sums_bytes = k_workspace_part(plim_shape_elements(&op->out[0]) * (int64_t)sizeof(float));
  }
  c->wide = weights.dtype != op->in[0].dtype;
  weights.dtype = op->in[0].dtype;
  if (copied) c->copy_bytes = k_workspace_part(plim_shape_bytes(&weights));
  return 1;
}

/* Rank, how many there are, workspace without ours, engine and knobs: "0/8 1048576 57 2=4 13=1". */
static void write_how(const plim_dnn_config *config, int rank, int n, char how[HOW_BYTES]) {
  if (!config->how[0]) return;
  (void)snprintf(how, HOW_BYTES, "%d/%d %lld %s", rank, n, (long long)config->workspace_bytes, config->how);
}

/* Puts the row to its rank; 0: it is none, or of another list. */
static int read_how(const plim_kernel_info *info, int n, plim_dnn_config row[PLIM_DNN_CONFIGS]) {
  char *end;
  const long rank = strtol(info->how, &end, 10);
  if (*end != '/') return 0;
  const long count = strtol(end + 1, &end, 10);
  if (*end != ' ' || count != n || rank < 0 || rank >= n || row[rank].name[0]) return 0;
  const int64_t workspace_bytes = strtoll(end + 1, &end, 10);
  if (*end != ' ' || workspace_bytes < 0 || strlen(end + 1) >= sizeof row->how) return 0;
  memcpy(row[rank].name, info->name, sizeof row->name);
  memcpy(row[rank].how, end + 1, strlen(end + 1) + 1);
  row[rank].workspace_bytes = workspace_bytes;
  return 1;
}

void plim_cuda_conv_recall(const plim_cuda_engine *engine, const plim_op_desc *op, const plim_kernel_info *info,
                           int n) {
  conv c;
  plim_dnn_config row[PLIM_DNN_CONFIGS];
  memset(row, 0, sizeof row);
  if (!engine->dnn || n == 0 || n > PLIM_DNN_CONFIGS || !describe(op, &c)) return;
  for (int i = 0; i < n; i++) {
    if (!read_how(&info[i], n, row)) return;
  }
  plim_dnn_recall(engine->dnn, &c.problem, row, n);
}

int plim_cuda_conv_list(const plim_cuda_engine *engine, const plim_op_desc *op, plim_kernel_info *info, int capacity) {
  conv c;
  const plim_dnn_config *config = NULL;
  if (!engine->dnn || !describe(op, &c)) return 0;
  int n = plim_dnn_find(engine->dnn, &c.problem, &config);
  for (int i = 0; i < n && i < capacity; i++) {
    memset(&info[i], 0, sizeof info[i]);
    memcpy(info[i].name, config[i].name, sizeof info[i].name);
    (void)snprintf(info[i].numerics_key, sizeof info[i].numerics_key, "cudnn%s%s%s", plim_dnn_version(engine->dnn),
                   config[i].name + strlen("cudnn"), c.bias ? "+b" : "");
    info[i].workspace_bytes = c.copy_bytes + c.sums_bytes + k_workspace_part(config[i].workspace_bytes);
    info[i].builds = 1;
    write_how(&config[i], i, n, info[i].how);
  }
  return n;
}

/* Weights between the graph's order and the library's: a tile a filter. Where both are the same, as if of one tap. */
static void add_copy(plim_cuda_kernel *kernel, const conv *c, k_body body, plim_cuda_place from, plim_cuda_place to) {
  plim_cuda_stage *stage = &kernel->stage[kernel->n++];
  const int64_t *step = c->problem.step[PLIM_DNN_W], *dim = c->problem.dim[PLIM_DNN_W];
  *stage =
      (plim_cuda_stage){.body = body, .a = from, .c = to, .call = c->launch.call, .tiles = c->launch.call.y.channels};
  if (step[1] == 1) return; /* channels last */
  stage->call.x.channels = dim[1] * dim[2] * dim[3];
  stage->call.attrs.kernel[0] = stage->call.attrs.kernel[1] = 1;
}

static int64_t workspace_of(const plim_cuda_engine *engine, const conv *c, const char *variant) {
  const plim_dnn_config *config = NULL;
  int n = plim_dnn_find(engine->dnn, &c->problem, &config);
  for (int i = 0; i < n; i++) {
    if (strcmp(config[i].name, variant) == 0)
      return c->copy_bytes + c->sums_bytes + k_workspace_part(config[i].workspace_bytes);
  }
  return -1;
}

static void add_stages(plim_cuda_kernel *kernel, const conv *c, plim_dnn_kernel *dnn) {
  const plim_cuda_place in[2] = {{0, 0}, {1, 0}}, out = {PLIM_PLACE_OUT, 0}, copy = {PLIM_PLACE_WORKSPACE, 0};
  const plim_cuda_place sums = c->sums_bytes > 0 ? (plim_cuda_place){PLIM_PLACE_WORKSPACE, c->copy_bytes} : out;
  const plim_cuda_place rest = {PLIM_PLACE_WORKSPACE, c->copy_bytes + c->sums_bytes};
  int direction = c->problem.direction, copied = c->copy_bytes > 0;
  plim_cuda_place weights = direction == PLIM_DNN_WEIGHTS ? out : in[1];
  plim_cuda_stage stage = {.kind = PLIM_STAGE_CONVOLUTION, .dnn = dnn, .b = copied ? copy : weights, .workspace = rest};
  stage.a = direction == PLIM_DNN_DATA ? out : in[direction == PLIM_DNN_WEIGHTS];
  stage.c = direction == PLIM_DNN_FORWARD ? sums : in[0];
  if (copied && direction != PLIM_DNN_WEIGHTS) add_copy(kernel, c, K_BODY_oihw_to_ohwi, weights, copy);
  kernel->stage[kernel->n++] = stage;
  if (copied && direction == PLIM_DNN_WEIGHTS) {
    add_copy(kernel, c, c->wide ? K_BODY_ohwi_to_oihw_widen : K_BODY_ohwi_to_oihw_f32, copy, weights);
  }
  if (c->bias) plim_cuda_stages_add_bias(kernel, &c->launch.call, &c->result, sums, c->sums_bytes > 0);
}

/* The library has no plan for the configuration after all, which says nothing of other configurations. Its codes of
 * 5000 and above are failures of the GPU. */
static int is_refused(int code) {
  enum { NOT_SUPPORTED = PLIM_CUDNN_CODES + 3000, EXECUTION_FAILED = PLIM_CUDNN_CODES + 5000 };
  return code == PLIM_DNN_ROOM || (code >= NOT_SUPPORTED && code < EXECUTION_FAILED);
}

int plim_cuda_conv_make(const plim_cuda_engine *engine, const plim_op_desc *op, const char *variant,
                        plim_cuda_kernel *kernel) {
  conv c;
  plim_dnn_kernel *dnn = NULL;
  if (!engine->dnn || !describe(op, &c)) return PLIM_KERNEL_UNSUPPORTED;
  int code = plim_dnn_make(engine->dnn, &c.problem, variant, &dnn);
  if (code == PLIM_CUDA_NO_MEMORY) return PLIM_KERNEL_NOMEM;
  if (code == PLIM_DNN_NO_CONFIG || is_refused(code)) return PLIM_KERNEL_UNSUPPORTED;
  if (code != 0) return PLIM_KERNEL_FAILED;
  if (!plim_cuda_stages_make(kernel, STAGES)) {
    plim_dnn_free(dnn);
    return PLIM_KERNEL_NOMEM;
  }
  kernel->workspace_bytes = workspace_of(engine, &c, variant);
  add_stages(kernel, &c, dnn);
  return PLIM_KERNEL_OK;
}
