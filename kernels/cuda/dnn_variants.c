/* Lists, recalls and prepares the library's variants of a problem. */
#include "kernels/cuda/dnn_variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/workspace.h"

enum { HOW_BYTES = sizeof((plim_kernel_info *)0)->how };

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

void plim_dnn_variants_recall(const plim_cuda_engine *engine, const plim_dnn_variants *v, const plim_kernel_info *info,
                              int n) {
  plim_dnn_config row[PLIM_DNN_CONFIGS];
  memset(row, 0, sizeof row);
  if (n == 0 || n > PLIM_DNN_CONFIGS) return;
  for (int i = 0; i < n; i++) {
    if (!read_how(&info[i], n, row)) return;
  }
  plim_dnn_recall(engine->dnn, &v->problem, row, n);
}

static int64_t workspace_of(const plim_dnn_variants *v, const plim_dnn_config *config) {
  return v->our_bytes + k_workspace_part(config->workspace_bytes);
}

int plim_dnn_variants_list(const plim_cuda_engine *engine, const plim_dnn_variants *v, plim_kernel_info *info,
                           int capacity) {
  const plim_dnn_config *config = NULL;
  const int n = plim_dnn_find(engine->dnn, &v->problem, &config);
  for (int i = 0; i < n && i < capacity; i++) {
    memset(&info[i], 0, sizeof info[i]);
    memcpy(info[i].name, config[i].name, sizeof info[i].name);
    (void)snprintf(info[i].numerics_key, sizeof info[i].numerics_key, "cudnn%s%s%s", plim_dnn_version(engine->dnn),
                   config[i].name + strlen("cudnn"), v->mark);
    info[i].workspace_bytes = workspace_of(v, &config[i]);
    info[i].builds = 1;
    write_how(&config[i], i, n, info[i].how);
  }
  return n;
}

/* The library has no plan for the configuration after all, which says nothing of other configurations. Its codes of
 * 5000 and above are failures of the GPU. */
static int is_refused(int code) {
  enum { NOT_SUPPORTED = PLIM_CUDNN_CODES + 3000, EXECUTION_FAILED = PLIM_CUDNN_CODES + 5000 };
  return code == PLIM_DNN_ROOM || (code >= NOT_SUPPORTED && code < EXECUTION_FAILED);
}

int plim_dnn_variants_make(const plim_cuda_engine *engine, const plim_dnn_variants *v, const char *variant,
                           plim_dnn_kernel **out, int64_t *workspace_bytes) {
  const plim_dnn_config *config = NULL;
  const int code = plim_dnn_make(engine->dnn, &v->problem, variant, out);
  if (code == PLIM_CUDA_NO_MEMORY) return PLIM_KERNEL_NOMEM;
  if (code == PLIM_DNN_NO_CONFIG || is_refused(code)) return PLIM_KERNEL_UNSUPPORTED;
  if (code != 0) return PLIM_KERNEL_FAILED;
  const int n = plim_dnn_find(engine->dnn, &v->problem, &config);
  for (int i = 0; i < n; i++) {
    if (strcmp(config[i].name, variant) == 0) *workspace_bytes = workspace_of(v, &config[i]);
  }
  return PLIM_KERNEL_OK;
}
