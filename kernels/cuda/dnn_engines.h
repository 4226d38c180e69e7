/* Engine configurations of cuDNN for one operation graph: those whose results can be relied on. */
#ifndef PLIM_KERNELS_CUDA_DNN_ENGINES_H
#define PLIM_KERNELS_CUDA_DNN_ENGINES_H

#include "kernels/cuda/dnn_descriptor.h"
#include "kernels/table.h"

enum { PLIM_DNN_CONFIGS = 8, PLIM_DNN_HOW_BYTES = 120 };

typedef struct plim_dnn_config {
  char name[PLIM_KERNEL_NAME_BYTES]; /* "cudnn-e57-3f2a91c4": engine and knobs, these as a hash */
  char how[PLIM_DNN_HOW_BYTES];      /* "57 2=4 13=1": engine and knobs; "": they are too many to be kept */
  int64_t workspace_bytes;
  void *config; /* descriptors, NULL while there is none: of the configuration, of its plan */
  void *plan;
  int32_t users; /* kernels that hold the plan */
} plim_dnn_config;

/* Fill at most PLIM_DNN_CONFIGS rows, the fastest by the library's expectation first; returns how many. Left out are
 * engines that are not deterministic, lower the precision of inputs or sums, or (strict) use tensor cores, which for
 * floats means products of TF32. What fails inside the library is left out as well. No plan is built, except where a
 * configuration does not tell its workspace. */
int plim_dnn_configs_make(const plim_cudnn_api *api, void *handle, void *graph, int strict, plim_dnn_config *config);
void plim_dnn_configs_free(const plim_cudnn_api *api, plim_dnn_config *config, int n);

/* The configuration of a row that has `how` and no descriptor; returns the library's code. */
int plim_dnn_config_make(const plim_cudnn_api *api, void *graph, plim_dnn_config *row);

/* Build the plan of a configuration, which takes up to half a second where the library compiles it. Returns the
 * library's code, or PLIM_DNN_ROOM when the plan needs more workspace than the configuration says. */
enum { PLIM_DNN_ROOM = -2 };
int plim_dnn_plan_make(const plim_cudnn_api *api, void *handle, plim_dnn_config *config);

#endif
