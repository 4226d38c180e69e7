/* What is used of cuDNN 9: its backend API, in which everything is a descriptor with attributes that are set, finalized
 * and asked for. Declared here, so that no header is needed to build; a test compares the constants with those of the
 * library's header where there is one. */
#ifndef PLIM_KERNELS_CUDA_CUDNN_API_H
#define PLIM_KERNELS_CUDA_CUDNN_API_H

#include <stddef.h>
#include <stdint.h>

/* The library's constants by its own names: X(name, value) is CUDNN_name. */
/* clang-format off */
#define PLIM_CUDNN_CONSTANTS(X) \
  X(DATA_FLOAT, 0) X(DATA_BFLOAT16, 9) X(CROSS_CORRELATION, 1) \
  X(TYPE_HANDLE, 0) X(TYPE_DATA_TYPE, 1) X(TYPE_INT64, 3) X(TYPE_FLOAT, 4) X(TYPE_VOID_PTR, 6) \
  X(TYPE_CONVOLUTION_MODE, 7) X(TYPE_HEUR_MODE, 8) X(TYPE_KNOB_TYPE, 9) X(TYPE_NUMERICAL_NOTE, 11) \
  X(TYPE_BACKEND_DESCRIPTOR, 15) X(TYPE_BEHAVIOR_NOTE, 19) \
  X(HEUR_MODE_INSTANT, 0) X(HEUR_MODE_FALLBACK, 2) X(HEUR_MODE_A, 3) \
  X(NUMERICAL_NOTE_TENSOR_CORE, 0) X(NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1) \
  X(NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2) X(NUMERICAL_NOTE_NONDETERMINISTIC, 4) \
  X(BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER, 1) X(BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER, 2) \
  X(BACKEND_CONVOLUTION_DESCRIPTOR, 1) X(BACKEND_ENGINE_DESCRIPTOR, 2) X(BACKEND_ENGINECFG_DESCRIPTOR, 3) \
  X(BACKEND_ENGINEHEUR_DESCRIPTOR, 4) X(BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5) \
  X(BACKEND_KNOB_CHOICE_DESCRIPTOR, 7) X(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10) \
  X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11) \
  X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12) X(BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15) \
  X(BACKEND_VARIANT_PACK_DESCRIPTOR, 16) X(BACKEND_TENSOR_DESCRIPTOR, 17) \
  X(ATTR_CONVOLUTION_COMP_TYPE, 100) X(ATTR_CONVOLUTION_CONV_MODE, 101) X(ATTR_CONVOLUTION_DILATIONS, 102) \
  X(ATTR_CONVOLUTION_FILTER_STRIDES, 103) X(ATTR_CONVOLUTION_POST_PADDINGS, 104) \
  X(ATTR_CONVOLUTION_PRE_PADDINGS, 105) X(ATTR_CONVOLUTION_SPATIAL_DIMS, 106) \
  X(ATTR_ENGINEHEUR_MODE, 200) X(ATTR_ENGINEHEUR_OPERATION_GRAPH, 201) X(ATTR_ENGINEHEUR_RESULTS, 202) \
  X(ATTR_ENGINECFG_ENGINE, 300) X(ATTR_ENGINECFG_KNOB_CHOICES, 302) X(ATTR_ENGINECFG_WORKSPACE_SIZE, 303) \
  X(ATTR_EXECUTION_PLAN_HANDLE, 400) X(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401) \
  X(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402) X(ATTR_KNOB_CHOICE_KNOB_TYPE, 600) \
  X(ATTR_KNOB_CHOICE_KNOB_VALUE, 601) X(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700) \
  X(ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701) X(ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702) \
  X(ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703) X(ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704) \
  X(ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706) \
  X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708) \
  X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710) \
  X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712) \
  X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714) \
  X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716) \
  X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717) X(ATTR_OPERATIONGRAPH_HANDLE, 800) \
  X(ATTR_OPERATIONGRAPH_OPS, 801) X(ATTR_TENSOR_BYTE_ALIGNMENT, 900) X(ATTR_TENSOR_DATA_TYPE, 901) \
  X(ATTR_TENSOR_DIMENSIONS, 902) X(ATTR_TENSOR_STRIDES, 903) X(ATTR_TENSOR_UNIQUE_ID, 906) \
  X(ATTR_VARIANT_PACK_UNIQUE_IDS, 1000) X(ATTR_VARIANT_PACK_DATA_POINTERS, 1001) \
  X(ATTR_VARIANT_PACK_WORKSPACE, 1003) X(ATTR_ENGINE_OPERATION_GRAPH, 1300) X(ATTR_ENGINE_GLOBAL_INDEX, 1301) \
  X(ATTR_ENGINE_NUMERICAL_NOTE, 1303) X(ATTR_ENGINE_BEHAVIOR_NOTE, 1305)
#define PLIM_CUDNN_X(name, value) DNN_##name = (value),
/* clang-format on */
enum { PLIM_CUDNN_CONSTANTS(PLIM_CUDNN_X) };
#undef PLIM_CUDNN_X

/* The functions, by name: a descriptor is a void *, a status an int (0: well; 3000 and above: not supported). */
typedef struct plim_cudnn_api {
  void *opened;            /* NULL: there is none */
  void *compiler;          /* NVRTC, where cuDNN would not find it itself; else NULL */
  size_t (*version)(void); /* 10000 x major + 100 x minor + patch */
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*make)(int kind, void **descriptor);
  int (*unmake)(void *descriptor);
  int (*set)(void *descriptor, int attribute, int type, int64_t count, const void *values);
  int (*finalize)(void *descriptor);
  /* *count: how many there are; at most `wanted` are written */
  int (*get)(const void *descriptor, int attribute, int type, int64_t wanted, int64_t *count, void *values);
  int (*execute)(void *handle, void *plan, void *pack);
  void (*last_error)(char *text, size_t bytes); /* what went wrong last in this thread; NULL: the library has none */
} plim_cudnn_api;

/* The library's own codes are returned as PLIM_CUDNN_CODES + code. */
enum { PLIM_CUDNN_CODES = 200000 };

/* Find and open it. api->opened is NULL when there is none of version 9, and the text says what was looked for. Where
 * there is one and NVRTC, with which it compiles most of its engines, is not, the text says that. */
void plim_cudnn_load(plim_cudnn_api *api, char *why, size_t why_bytes);
void plim_cudnn_unload(plim_cudnn_api *api);

#endif
