/* What the fake cuDNN knows, as tables: attributes of descriptors, and engines. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_CUDNN_TABLES_H
#define PLIM_TESTS_SUPPORT_FAKE_CUDNN_TABLES_H

#include "kernels/cuda/cudnn_api.h"

/* Short names of constants. */
#define CONV(name) DNN_ATTR_CONVOLUTION_##name
#define FORWARD DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
#define DATA DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
#define FILTER DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
#define REFERENCE DNN_TYPE_BACKEND_DESCRIPTOR
#define ATTENTION DNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR
#define ATTENTION_BWD DNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR
#define MASK DNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR
#define FWD(name) DNN_ATTR_OPERATION_SDPA_FWD_##name
#define BWD(name) DNN_ATTR_OPERATION_SDPA_BWD_##name

enum { FAKE_CUDNN_RULES = 78, FAKE_CUDNN_ENGINES = 16, FAKE_CUDNN_ELEMENTS = 11 /* of an attribute, at most */ };

/* What an attribute is for. */
typedef enum fake_cudnn_use {
  FAKE_CUDNN_NEEDED, /* set by the caller before the descriptor is finalized */
  FAKE_CUDNN_READ,   /* asked for only */
  FAKE_CUDNN_BOTH,   /* needed where the caller makes the descriptor, and asked for */
  FAKE_CUDNN_CHOICE  /* the same, or set by the caller, and not needed */
} fake_cudnn_use;

/* A descriptor of `kind` has `attribute`, of `type`, with `least` to `most` elements. */
typedef struct fake_cudnn_rule {
  int kind, attribute, type, least, most;
  fake_cudnn_use use;
} fake_cudnn_rule;
extern const fake_cudnn_rule fake_cudnn_rules[FAKE_CUDNN_RULES];

/* An engine with its knob choices, as a mode of the heuristics names it: in the order of its answers. */
typedef struct fake_cudnn_engine {
  int mode;
  int64_t index;
  int n_knobs, n_notes;
  int64_t knob[2][2]; /* type, value */
  int32_t note;
  int64_t workspace_bytes; /* -1: no plan can be made */
} fake_cudnn_engine;
extern const fake_cudnn_engine fake_cudnn_engines[FAKE_CUDNN_ENGINES];

#endif
