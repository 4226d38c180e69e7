/* Attributes of descriptors and engines are rows of tests/support/fake_cudnn_tables.c. Every function counts as a call
 * of the GPU's fake, so that it can be made to fail. Engines with a fault are options of the GPU
 * (tests/support/fake_cuda.h). */
#define _DEFAULT_SOURCE /* nanosleep */
#include "tests/support/fake_cudnn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/fake_attention.h"
#include "tests/support/fake_convolution.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_cudnn_tables.h"

enum { LIVE = 4096, HANDLES = 8, CASE_BYTES = 8, WORDS_BYTES = 160 };
enum { BROKEN = 2000, NULL_POINTER = 2002, NOT_FINAL = 2004, WRONG_TYPE = 2010, WRONG_KIND = 2012 };
enum { UNSUPPORTED = 3000, PREREQUISITE = 3008, LOST = 5000, IN_RUNTIME = 5003 };

/* ---- descriptors ---- */

/* What an operation graph computes. */
typedef struct problem {
  int is_attention;
  fake_convolution convolution;
  fake_attention attention;
} problem;

typedef struct descriptor {
  int kind, finalized;
  int engine, knob;     /* of engines and configurations: row of the table; of answers: the knob in it */
  int64_t type, number; /* of knob choices */
  problem problem;      /* of engines, configurations and plans */
  int64_t runs;         /* of plans */
  int64_t count[FAKE_CUDNN_RULES];
  struct {
    unsigned char bytes[FAKE_CUDNN_ELEMENTS * CASE_BYTES];
  } value[FAKE_CUDNN_RULES];
} descriptor;

typedef struct handle {
  void *stream;
  int32_t device;
} handle;

static struct {
  char misuse[160];
  char words[WORDS_BYTES]; /* what went wrong last */
  fake_cudnn_counts counts;
  descriptor *live[LIVE];
  handle *open[HANDLES];
} fake;

static int misuse(int code, const char *what) {
  if (!fake.misuse[0]) (void)snprintf(fake.misuse, sizeof fake.misuse, "%s", what);
  return code;
}

/* A refusal in the library's own words, by no fault of the caller. */
static int refuse(int code, const char *what, int64_t engine) {
  (void)snprintf(fake.words, sizeof fake.words, "engine %lld %s", (long long)engine, what);
  return code;
}

static int enter(void) {
  fake.counts.calls++;
  return fake_cuda_enter() == 0 ? 0 : LOST;
}

static descriptor *known(const void *pointer) {
  for (int i = 0; i < LIVE; i++) {
    if (pointer && fake.live[i] == pointer) return fake.live[i];
  }
  return NULL;
}

/* Its place among the open handles, or -1. */
static int place_of(const void *pointer) {
  for (int i = 0; i < HANDLES; i++) {
    if (pointer && fake.open[i] == pointer) return i;
  }
  return -1;
}

/* The open handle that the bytes name; NULL when they name none. */
static handle *handle_at(const void *bytes) {
  const void *pointer;
  memcpy(&pointer, bytes, sizeof pointer);
  int place = place_of(pointer);
  return place < 0 ? NULL : fake.open[place];
}

static int rule_of(const descriptor *d, int attribute) {
  for (int i = 0; i < FAKE_CUDNN_RULES; i++) {
    if (fake_cudnn_rules[i].kind == d->kind && fake_cudnn_rules[i].attribute == attribute) return i;
  }
  return -1;
}

static size_t type_bytes(int type) {
  return type == DNN_TYPE_INT64 || type == DNN_TYPE_VOID_PTR || type == REFERENCE || type == DNN_TYPE_HANDLE ? 8 : 4;
}

/* What was set, or for references what they lead to. */
static const void *value_of(const descriptor *d, int attribute) {
  return d->value[rule_of(d, attribute)].bytes;
}
static descriptor *referred(const descriptor *d, int attribute) {
  void *to;
  memcpy(&to, value_of(d, attribute), sizeof to);
  return known(to);
}

static int make(int kind, void **out) {
  int code = enter(), slot = 0;
  if (code != 0) return code;
  while (slot < LIVE && fake.live[slot]) slot++;
  if (slot == LIVE) return misuse(UNSUPPORTED, "thousands of descriptors are open");
  descriptor *made = calloc(1, sizeof *made);
  made->kind = kind;
  fake.live[slot] = made;
  fake_cuda_hold(1);
  *out = made;
  return 0;
}

static int unmake(void *pointer) {
  for (int i = 0; i < LIVE; i++) {
    if (!pointer || fake.live[i] != pointer) continue;
    const descriptor *d = fake.live[i];
    if (d->kind == DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && d->finalized) fake.counts.plans_open--;
    fake.live[i] = NULL;
    free(pointer);
    fake_cuda_hold(-1);
    fake.counts.calls++;
    return fake_cuda_leave() == 0 ? 0 : LOST;
  }
  return misuse(NULL_POINTER, "what is freed is no descriptor");
}

static int set(void *pointer, int attribute, int type, int64_t count, const void *values) {
  int code = enter();
  if (code != 0) return code;
  descriptor *d = known(pointer);
  if (!d) return misuse(NULL_POINTER, "what is set is no descriptor");
  if (d->finalized) return misuse(BROKEN, "a finalized descriptor is set");
  int row = rule_of(d, attribute);
  if (row < 0 || fake_cudnn_rules[row].use == FAKE_CUDNN_READ)
    return misuse(UNSUPPORTED, "the descriptor has no such attribute to set");
  if (type != fake_cudnn_rules[row].type) return misuse(WRONG_TYPE, "an attribute is set with another type");
  if (count < fake_cudnn_rules[row].least || count > fake_cudnn_rules[row].most)
    return misuse(BROKEN, "too few or too many elements are set");
  for (int64_t i = 0; i < count && type == REFERENCE; i++) {
    const void *target = ((void *const *)values)[i];
    if (!known(target)) return misuse(NULL_POINTER, "a reference leads nowhere");
    if (!known(target)->finalized) return misuse(NOT_FINAL, "a reference leads to what is not finalized");
  }
  if (type == DNN_TYPE_HANDLE && !handle_at(values)) {
    return misuse(BROKEN, "a handle is none");
  }
  memcpy(d->value[row].bytes, values, (size_t)count * type_bytes(type));
  d->count[row] = count;
  return 0;
}

/* ---- finalizing ---- */

static int is_flagged(const descriptor *d, int attribute) {
  return d->count[rule_of(d, attribute)] > 0 && *(const unsigned char *)value_of(d, attribute) != 0;
}

static int64_t number_of(const descriptor *d, int attribute) {
  int64_t number;
  memcpy(&number, value_of(d, attribute), sizeof number);
  return number;
}

static int check_tensor(const descriptor *d) {
  int64_t dim[4], step[4], alignment;
  memcpy(dim, value_of(d, DNN_ATTR_TENSOR_DIMENSIONS), sizeof dim);
  memcpy(step, value_of(d, DNN_ATTR_TENSOR_STRIDES), sizeof step);
  memcpy(&alignment, value_of(d, DNN_ATTR_TENSOR_BYTE_ALIGNMENT), sizeof alignment);
  for (int i = 0; i < 4; i++) {
    if (dim[i] < 1 || step[i] < 1) return misuse(BROKEN, "a dimension or stride is not positive");
  }
  if (is_flagged(d, DNN_ATTR_TENSOR_IS_VIRTUAL) && is_flagged(d, DNN_ATTR_TENSOR_IS_BY_VALUE)) {
    return misuse(BROKEN, "a tensor is virtual and a value of the host");
  }
  return alignment > 0 && alignment % 4 == 0 ? 0 : misuse(BROKEN, "an alignment is no multiple of the element");
}

_Static_assert(sizeof(fake_convolution) <= FAKE_CUDA_ARGUMENT_BYTES, "a convolution can be queued");

static void read_convolution(const descriptor *operation, fake_convolution *c) {
  static const struct {
    int kind, operand[3], convolution;
  } forms[] = {
      {FORWARD,
       {DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
       DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
      {DATA,
       {DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
       DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
      {FILTER,
       {DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
       DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
  };
  int32_t type;
  memset(c, 0, sizeof *c);
  while (forms[c->direction].kind != operation->kind) c->direction++;
  for (int i = 0; i < 3; i++) {
    const descriptor *tensor = referred(operation, forms[c->direction].operand[i]);
    memcpy(c->dim[i], value_of(tensor, DNN_ATTR_TENSOR_DIMENSIONS), sizeof c->dim[i]);
    memcpy(c->step[i], value_of(tensor, DNN_ATTR_TENSOR_STRIDES), sizeof c->step[i]);
    memcpy(&type, value_of(tensor, DNN_ATTR_TENSOR_DATA_TYPE), sizeof type);
    c->bf16[i] = type == DNN_DATA_BFLOAT16;
  }
  const descriptor *window = referred(operation, forms[c->direction].convolution);
  memcpy(c->stride, value_of(window, CONV(FILTER_STRIDES)), sizeof c->stride);
  memcpy(c->pad, value_of(window, CONV(PRE_PADDINGS)), sizeof c->pad);
}

/* ---- attention ---- */

_Static_assert(sizeof(fake_attention) <= FAKE_CUDA_ARGUMENT_BYTES, "attention can be queued");

/* The attributes of its tensors in the order of their ids, scale last; and of the mask. */
static const struct {
  int kind, n, tensor[FAKE_ATTENTION_TENSORS], scale, graph, input, output;
} attentions[] = {
    {ATTENTION,
     FAKE_ATTENTION_FORWARD,
     {FWD(QDESC), FWD(KDESC), FWD(VDESC), FWD(ODESC), FWD(STATSDESC)},
     FWD(SCALEDESC),
     FWD(SUBGRAPH),
     FWD(SUBGRAPH_INPUT_UID),
     FWD(SUBGRAPH_OUTPUT_UID)},
    {ATTENTION_BWD,
     FAKE_ATTENTION_TENSORS,
     {BWD(QDESC), BWD(KDESC), BWD(VDESC), BWD(ODESC), BWD(STATSDESC), BWD(DODDESC), BWD(DQDESC), BWD(DKDESC),
      BWD(DVDESC)},
     BWD(SCALEDESC),
     BWD(SUBGRAPH),
     BWD(SUBGRAPH_INPUT_UID),
     BWD(SUBGRAPH_OUTPUT_UID)},
};

static void read_attention(const descriptor *operation, fake_attention *a) {
  int64_t dim[4], step[4];
  memset(a, 0, sizeof *a);
  a->backward = operation->kind == ATTENTION_BWD;
  for (int i = 0; i < attentions[a->backward].n; i++) {
    const descriptor *tensor = referred(operation, attentions[a->backward].tensor[i]);
    memcpy(dim, value_of(tensor, DNN_ATTR_TENSOR_DIMENSIONS), sizeof dim);
    memcpy(step, value_of(tensor, DNN_ATTR_TENSOR_STRIDES), sizeof step);
    memcpy(a->step[i], step, sizeof a->step[i]);
    if (i > 0) continue;
    a->sequences = dim[0];
    a->heads = dim[1];
    a->tokens = dim[2];
    a->depth = dim[3];
  }
}

/* Has the tensor the sizes, the type and beside each other the elements of a head, and is it in memory? */
static int is_head(const descriptor *tensor, const fake_attention *a, int is_stats) {
  const int64_t wanted[4] = {a->sequences, a->heads, a->tokens, is_stats ? 1 : a->depth};
  int64_t step[4];
  int32_t type;
  memcpy(step, value_of(tensor, DNN_ATTR_TENSOR_STRIDES), sizeof step);
  memcpy(&type, value_of(tensor, DNN_ATTR_TENSOR_DATA_TYPE), sizeof type);
  if (is_flagged(tensor, DNN_ATTR_TENSOR_IS_VIRTUAL) || is_flagged(tensor, DNN_ATTR_TENSOR_IS_BY_VALUE)) return 0;
  if (is_stats && (step[2] != 1 || step[1] != a->tokens || step[0] != a->heads * a->tokens)) return 0; /* before 9.26 */
  return memcmp(value_of(tensor, DNN_ATTR_TENSOR_DIMENSIONS), wanted, sizeof wanted) == 0 && step[3] == 1 &&
         type == (is_stats ? DNN_DATA_FLOAT : DNN_DATA_BFLOAT16);
}

/* The mask of scores: virtual tensors of the graph, a fill from the host, queries not before their keys. */
static int is_causal(const descriptor *operation, const fake_attention *a) {
  const descriptor *graph = referred(operation, attentions[a->backward].graph);
  const descriptor *mask = referred(graph, DNN_ATTR_OPERATIONGRAPH_OPS);
  const int64_t wanted[4] = {a->sequences, a->heads, a->tokens, a->tokens};
  int32_t mode;
  if (mask->kind != MASK) return 0;
  const descriptor *x = referred(mask, DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC);
  const descriptor *y = referred(mask, DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC);
  memcpy(&mode, value_of(mask, DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), sizeof mode);
  return mode == DNN_POINTWISE_CMP_GE && is_flagged(x, DNN_ATTR_TENSOR_IS_VIRTUAL) &&
         is_flagged(y, DNN_ATTR_TENSOR_IS_VIRTUAL) &&
         memcmp(value_of(x, DNN_ATTR_TENSOR_DIMENSIONS), wanted, sizeof wanted) == 0 &&
         memcmp(value_of(y, DNN_ATTR_TENSOR_DIMENSIONS), wanted, sizeof wanted) == 0 &&
         is_flagged(referred(mask, DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC), DNN_ATTR_TENSOR_IS_BY_VALUE) &&
         number_of(x, DNN_ATTR_TENSOR_UNIQUE_ID) == number_of(operation, attentions[a->backward].input) &&
         number_of(y, DNN_ATTR_TENSOR_UNIQUE_ID) == number_of(operation, attentions[a->backward].output);
}

static int check_attention(const descriptor *d) {
  enum { STATS = 4 };
  fake_attention a;
  read_attention(d, &a);
  for (int i = 0; i < attentions[a.backward].n; i++) {
    if (!is_head(referred(d, attentions[a.backward].tensor[i]), &a, i == STATS)) {
      return misuse(BROKEN, "the tensors are no attention");
    }
  }
  if (a.depth % 8 != 0) return refuse(UNSUPPORTED, "takes no such depth", a.depth);
  if (!is_flagged(referred(d, attentions[a.backward].scale), DNN_ATTR_TENSOR_IS_BY_VALUE)) {
    return misuse(BROKEN, "the scale of attention is no value of the host");
  }
  return is_causal(d, &a) ? 0 : misuse(BROKEN, "the mask of attention is none");
}

static void read_problem(const descriptor *operation, problem *p) {
  p->is_attention = operation->kind == ATTENTION || operation->kind == ATTENTION_BWD;
  if (p->is_attention) {
    read_attention(operation, &p->attention);
  } else {
    read_convolution(operation, &p->convolution);
  }
}

static int check_operation(const descriptor *d) {
  fake_convolution c;
  read_convolution(d, &c);
  const int64_t *x = c.dim[0], *w = c.dim[1], *y = c.dim[2];
  int fits = x[0] == y[0] && x[1] == w[1] && w[0] == y[1];
  for (int i = 0; i < 2; i++) fits = fits && y[2 + i] == (x[2 + i] + 2 * c.pad[i] - w[2 + i]) / c.stride[i] + 1;
  return fits ? 0 : misuse(BROKEN, "the tensors are no convolution");
}

static int is_operation(int kind) {
  return kind == FORWARD || kind == DATA || kind == FILTER;
}

/* ---- engines and configurations made by hand ---- */

static void read_knob(descriptor *d) {
  int32_t type;
  memcpy(&type, value_of(d, DNN_ATTR_KNOB_CHOICE_KNOB_TYPE), sizeof type);
  memcpy(&d->number, value_of(d, DNN_ATTR_KNOB_CHOICE_KNOB_VALUE), sizeof d->number);
  d->type = type;
}

static int find_engine(descriptor *d) {
  const descriptor *graph = referred(d, DNN_ATTR_ENGINE_OPERATION_GRAPH);
  int64_t index;
  memcpy(&index, value_of(d, DNN_ATTR_ENGINE_GLOBAL_INDEX), sizeof index);
  read_problem(referred(graph, DNN_ATTR_OPERATIONGRAPH_OPS), &d->problem);
  for (d->engine = 0; d->engine < FAKE_CUDNN_ENGINES; d->engine++) {
    if (fake_cudnn_engines[d->engine].index == index) return 0;
  }
  return refuse(UNSUPPORTED, "is none of this operation graph", index);
}

/* Are the knob choices of the configuration, in any order, those of the row? */
static int has_knobs(const descriptor *d, int row) {
  const int at = rule_of(d, DNN_ATTR_ENGINECFG_KNOB_CHOICES);
  int found = 0;
  for (int64_t i = 0; i < d->count[at]; i++) {
    void *to;
    memcpy(&to, d->value[at].bytes + i * CASE_BYTES, sizeof to);
    const descriptor *knob = known(to);
    for (int k = 0; knob && k < fake_cudnn_engines[row].n_knobs; k++) {
      found += knob->type == fake_cudnn_engines[row].knob[k][0] && knob->number == fake_cudnn_engines[row].knob[k][1];
    }
  }
  return found == fake_cudnn_engines[row].n_knobs && found == d->count[at];
}

static int find_config(descriptor *d) {
  const descriptor *engine = referred(d, DNN_ATTR_ENGINECFG_ENGINE);
  const int64_t index = fake_cudnn_engines[engine->engine].index;
  d->problem = engine->problem;
  for (d->engine = 0; d->engine < FAKE_CUDNN_ENGINES; d->engine++) {
    if (fake_cudnn_engines[d->engine].index == index && has_knobs(d, d->engine)) return 0;
  }
  return refuse(UNSUPPORTED, "has no such knobs", index);
}

/* ---- plans ---- */

static int are_equal_convolutions(const fake_convolution *a, const fake_convolution *b) {
  return a->direction == b->direction && memcmp(a->dim, b->dim, sizeof a->dim) == 0 &&
         memcmp(a->step, b->step, sizeof a->step) == 0 && memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
         memcmp(a->pad, b->pad, sizeof a->pad) == 0 && memcmp(a->bf16, b->bf16, sizeof a->bf16) == 0;
}

static int are_equal_attentions(const fake_attention *a, const fake_attention *b) {
  return a->backward == b->backward && a->sequences == b->sequences && a->heads == b->heads && a->tokens == b->tokens &&
         a->depth == b->depth && memcmp(a->step, b->step, sizeof a->step) == 0;
}

static int are_equal_problems(const problem *a, const problem *b) {
  if (a->is_attention != b->is_attention) return 0;
  return a->is_attention ? are_equal_attentions(&a->attention, &b->attention)
                         : are_equal_convolutions(&a->convolution, &b->convolution);
}

static int are_equal_plans(const descriptor *a, const descriptor *b) {
  const int kind = DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
  return a->kind == kind && b->kind == kind && a->finalized && b->finalized &&
         fake_cudnn_engines[a->engine].index == fake_cudnn_engines[b->engine].index &&
         memcmp(fake_cudnn_engines[a->engine].knob, fake_cudnn_engines[b->engine].knob,
                sizeof fake_cudnn_engines->knob) == 0 &&
         are_equal_problems(&a->problem, &b->problem);
}

static int make_plan(descriptor *d) {
  const descriptor *config = referred(d, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const fake_cuda_options *options = fake_cuda_now();
  const int64_t index = fake_cudnn_engines[config->engine].index;
  const struct timespec cost = {options->plan_us / 1000000, options->plan_us % 1000000 * 1000};
  d->engine = config->engine;
  d->problem = config->problem;
  if (fake_cudnn_engines[d->engine].workspace_bytes < 0) return refuse(UNSUPPORTED, "has no plan", index);
  if (index == options->refuse_plan) return refuse(UNSUPPORTED, "refuses to be planned", index);
  if (options->plan_us > 0) (void)nanosleep(&cost, NULL);
  d->finalized = 1;
  for (int i = 0; i < LIVE; i++) {
    if (!fake.live[i] || fake.live[i] == d || !are_equal_plans(fake.live[i], d)) continue;
    fake.counts.plans_again++;
    break;
  }
  fake.counts.plans++;
  fake.counts.plans_open++;
  fake.counts.plans_idle++;
  return 0;
}

static int finalize(void *pointer) {
  int code = enter();
  if (code != 0) return code;
  descriptor *d = known(pointer);
  if (!d) return misuse(NULL_POINTER, "what is finalized is no descriptor");
  if (d->finalized) return misuse(BROKEN, "a descriptor is finalized twice");
  for (int i = 0; i < FAKE_CUDNN_RULES; i++) {
    if (fake_cudnn_rules[i].kind == d->kind &&
        (fake_cudnn_rules[i].use == FAKE_CUDNN_NEEDED || fake_cudnn_rules[i].use == FAKE_CUDNN_BOTH) &&
        d->count[i] == 0) {
      return misuse(BROKEN, "an attribute is missing when a descriptor is finalized");
    }
  }
  if (d->kind == DNN_BACKEND_TENSOR_DESCRIPTOR) code = check_tensor(d);
  if (is_operation(d->kind)) code = check_operation(d);
  if (d->kind == ATTENTION || d->kind == ATTENTION_BWD) code = check_attention(d);
  if (d->kind == DNN_BACKEND_KNOB_CHOICE_DESCRIPTOR) read_knob(d);
  if (d->kind == DNN_BACKEND_ENGINE_DESCRIPTOR) code = find_engine(d);
  if (d->kind == DNN_BACKEND_ENGINECFG_DESCRIPTOR) code = find_config(d);
  if (d->kind == DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) code = make_plan(d);
  d->finalized = code == 0;
  return code;
}

/* ---- asking ---- */

/* Answers are descriptors that the caller made and the library fills. */
static int answer(void *room, int kind, int engine, int knob) {
  descriptor *to = known(room);
  if (!to || to->kind != kind) return misuse(WRONG_KIND, "room for an answer is not of its kind");
  if (to->finalized) return misuse(BROKEN, "room for an answer is taken");
  to->engine = engine;
  to->knob = knob;
  if (kind == DNN_BACKEND_KNOB_CHOICE_DESCRIPTOR) {
    to->type = fake_cudnn_engines[engine].knob[knob][0];
    to->number = fake_cudnn_engines[engine].knob[knob][1];
  }
  to->finalized = 1;
  return 0;
}

static int get_results(const descriptor *d, int64_t wanted, int64_t *count, void **out) {
  int32_t mode;
  memcpy(&mode, value_of(d, DNN_ATTR_ENGINEHEUR_MODE), sizeof mode);
  *count = 0;
  for (int i = 0; i < FAKE_CUDNN_ENGINES; i++) {
    if (fake_cudnn_engines[i].mode != mode) continue;
    int64_t at = (*count)++;
    if (at >= wanted) continue;
    int code = answer(out[at], DNN_BACKEND_ENGINECFG_DESCRIPTOR, i, 0);
    if (code != 0) return code;
    const descriptor *graph = referred(d, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    read_problem(referred(graph, DNN_ATTR_OPERATIONGRAPH_OPS), &known(out[at])->problem);
  }
  return 0;
}

static int get_engine(const descriptor *d, int64_t wanted, int64_t *count, void **out) {
  *count = 1;
  return wanted > 0 ? answer(out[0], DNN_BACKEND_ENGINE_DESCRIPTOR, d->engine, 0) : 0;
}

static int get_knobs(const descriptor *d, int64_t wanted, int64_t *count, void **out) {
  int code = 0;
  *count = fake_cudnn_engines[d->engine].n_knobs < wanted ? fake_cudnn_engines[d->engine].n_knobs
                                                          : wanted; /* never more than there is room */
  for (int i = 0; i < *count && code == 0; i++) {
    code = answer(out[i], DNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, d->engine, i);
  }
  return code;
}

static int get_note(const descriptor *d, int wanted_kind, int64_t wanted, int64_t *count, void *values) {
  *count = wanted_kind == DNN_TYPE_NUMERICAL_NOTE ? fake_cudnn_engines[d->engine].n_notes : 0;
  if (*count > 0 && wanted > 0) memcpy(values, &fake_cudnn_engines[d->engine].note, sizeof(int32_t));
  return 0;
}

static int get_number(const descriptor *d, int attribute, int64_t wanted, int64_t *count, void *values) {
  const int32_t type = (int32_t)d->type;
  int64_t value =
      attribute == DNN_ATTR_ENGINE_GLOBAL_INDEX ? fake_cudnn_engines[d->engine].index
      : attribute == DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE || attribute == DNN_ATTR_ENGINECFG_WORKSPACE_SIZE
          ? fake_cudnn_engines[d->engine].workspace_bytes
          : d->number;
  *count = 1;
  if (attribute == DNN_ATTR_ENGINECFG_WORKSPACE_SIZE && fake_cuda_now()->no_config_workspace) return UNSUPPORTED;
  if (wanted < 1) return 0;
  if (attribute == DNN_ATTR_KNOB_CHOICE_KNOB_TYPE) {
    memcpy(values, &type, sizeof type);
  } else {
    memcpy(values, &value, sizeof value);
  }
  return 0;
}

static int get(const void *pointer, int attribute, int type, int64_t wanted, int64_t *count, void *values) {
  int code = enter();
  if (code != 0) return code;
  const descriptor *d = known(pointer);
  if (!d) return misuse(NULL_POINTER, "what is asked is no descriptor");
  if (!d->finalized) return misuse(NOT_FINAL, "a descriptor is asked before it is finalized");
  int row = rule_of(d, attribute);
  if (row < 0 || fake_cudnn_rules[row].use == FAKE_CUDNN_NEEDED)
    return misuse(UNSUPPORTED, "the descriptor has no such attribute to ask for");
  if (type != fake_cudnn_rules[row].type) return misuse(WRONG_TYPE, "an attribute is asked for with another type");
  switch (attribute) {
    case DNN_ATTR_ENGINEHEUR_RESULTS:
      return get_results(d, wanted, count, values);
    case DNN_ATTR_ENGINECFG_ENGINE:
      return get_engine(d, wanted, count, values);
    case DNN_ATTR_ENGINECFG_KNOB_CHOICES:
      return get_knobs(d, wanted, count, values);
    case DNN_ATTR_ENGINE_NUMERICAL_NOTE:
    case DNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return get_note(d, type, wanted, count, values);
    default:
      return get_number(d, attribute, wanted, count, values);
  }
}

/* ---- running ---- */

static int create(void **out) {
  int code = enter(), place = 0;
  if (code != 0) return code;
  while (place < HANDLES && fake.open[place]) place++;
  if (place == HANDLES) return misuse(UNSUPPORTED, "more handles are open than any test wants");
  fake_cuda_hold(1);
  *out = fake.open[place] = calloc(1, sizeof(handle));
  fake.open[place]->device = fake_cuda_device();
  return 0;
}

static int destroy(void *pointer) {
  int place = place_of(pointer);
  if (place < 0) return misuse(NULL_POINTER, "a handle that is none is destroyed");
  free(pointer);
  fake.open[place] = NULL;
  fake_cuda_hold(-1);
  fake.counts.calls++;
  return fake_cuda_leave() == 0 ? 0 : LOST;
}

static int set_stream(void *pointer, void *stream) {
  int code = enter(), place = place_of(pointer);
  if (code != 0) return code;
  if (place < 0 || !stream) return misuse(BROKEN, "a handle or stream is none");
  fake.open[place]->stream = stream;
  return 0;
}

/* Ids are 1, 2, ... in our graphs; the library goes by what the tensors say. */
static int bind_tensors(const descriptor *pack, int n, void **place, char **workspace, int64_t workspace_bytes) {
  int64_t id[FAKE_CUDNN_ELEMENTS];
  memcpy(id, value_of(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS), (size_t)n * sizeof *id);
  memcpy(place, value_of(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS), (size_t)n * sizeof *place);
  memcpy(workspace, value_of(pack, DNN_ATTR_VARIANT_PACK_WORKSPACE), sizeof *workspace);
  for (int i = 0; i < n; i++) {
    if (id[i] != i + 1) return misuse(BROKEN, "a pack names other tensors than the graph");
    if (!place[i] || (uintptr_t)place[i] % 16 != 0) return misuse(BROKEN, "a tensor lies nowhere, or unaligned");
  }
  return workspace_bytes > 0 && !*workspace ? misuse(BROKEN, "a workspace is missing") : 0;
}

static int has_count(const descriptor *pack, int64_t n) {
  return pack->count[rule_of(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS)] == n &&
         pack->count[rule_of(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS)] == n;
}

/* Scale and fill are read now, from the host. */
static int bind_attention(const descriptor *pack, fake_attention *a) {
  const int n = attentions[a->backward].n;
  const float *value[2];
  if (!has_count(pack, n + 2)) return misuse(BROKEN, "a pack of attention has too few or too many tensors");
  int code = bind_tensors(pack, n, a->place, &a->workspace, a->workspace_bytes);
  if (code != 0) return code;
  const unsigned char *bytes = value_of(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  memcpy(value, bytes + (size_t)n * CASE_BYTES, sizeof value);
  if (*value[1] != -INFINITY) return misuse(BROKEN, "what the mask hides is not hidden");
  a->scale = *value[0];
  return 0;
}

static int bind(const descriptor *pack, problem *p) {
  fake_convolution *c = &p->convolution;
  if (p->is_attention) return bind_attention(pack, &p->attention);
  if (!has_count(pack, 3)) return misuse(BROKEN, "a pack of a convolution has too few or too many tensors");
  return bind_tensors(pack, 3, c->place, &c->workspace, c->workspace_bytes);
}

/* What the engine does that it should not, before it is queued. */
static int has_fault(int64_t index, void *stream) {
  const fake_cuda_options *options = fake_cuda_now();
  if (index == options->refuse_run) return refuse(PREREQUISITE, "refuses to run", index);
  if (index == options->refuse_capture && fake_cuda_enter_outside_capture() != 0) {
    return refuse(IN_RUNTIME, "allocates, which a capture forbids", index);
  }
  return index == options->illegal_engine && fake_cuda_queue_illegal(stream) != 0 ? LOST : 0;
}

/* Bytes from the first element of an operand to its last. */
static int64_t extent(const fake_convolution *c, int operand) {
  int64_t last = 0;
  for (int i = 0; i < 4; i++) last += (c->dim[operand][i] - 1) * c->step[operand][i];
  return (last + 1) * (c->bf16[operand] ? 2 : 4);
}

/* When the GPU comes to it, on what the addresses stand for. */
static void run_on_device(const void *argument) {
  fake_convolution c;
  memcpy(&c, argument, sizeof c);
  for (int i = 0; i < 3; i++) {
    c.place[i] = fake_cuda_stored(c.place[i], extent(&c, i));
    if (!c.place[i]) return;
  }
  if (c.workspace_bytes > 0 && !(c.workspace = fake_cuda_stored(c.workspace, c.workspace_bytes))) return;
  fake_convolution_run(&c);
}

static void attend_on_device(const void *argument) {
  fake_attention a;
  memcpy(&a, argument, sizeof a);
  for (int i = 0; i < attentions[a.backward].n; i++) {
    const int64_t *step = a.step[i];
    const int is_stats = i == 4;
    const int64_t last = (a.sequences - 1) * step[0] + (a.heads - 1) * step[1] + (a.tokens - 1) * step[2];
    a.place[i] = fake_cuda_stored(a.place[i], (last + (is_stats ? 1 : a.depth)) * (is_stats ? 4 : 2));
    if (!a.place[i]) return;
  }
  if (a.workspace_bytes > 0 && !(a.workspace = fake_cuda_stored(a.workspace, a.workspace_bytes))) return;
  fake_attention_run(&a);
}

static int queue_problem(const problem *p, void *stream) {
  if (p->is_attention) return fake_cuda_queue(attend_on_device, &p->attention, sizeof p->attention, stream);
  return fake_cuda_queue(run_on_device, &p->convolution, sizeof p->convolution, stream);
}

static int execute(void *pointer, void *plan, void *pack) {
  int place = place_of(pointer);
  descriptor *p = known(plan);
  const descriptor *b = known(pack);
  fake.counts.calls++;
  if (!p || !b || p->kind != DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || b->kind != DNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return misuse(WRONG_KIND, "what is executed is no plan with a pack");
  }
  if (!p->finalized || !b->finalized) return misuse(NOT_FINAL, "a plan or pack is executed before it is finalized");
  if (place < 0 || !fake.open[place]->stream) return misuse(BROKEN, "a plan is executed on no stream");
  if (fake.open[place]->device != fake_cuda_device()) return misuse(BROKEN, "a handle is of another device");
  problem work = p->problem;
  const int64_t index = fake_cudnn_engines[p->engine].index;
  work.convolution.workspace_bytes = work.attention.workspace_bytes = fake_cudnn_engines[p->engine].workspace_bytes;
  work.convolution.wrong = work.attention.wrong = index == fake_cuda_now()->wrong_engine;
  int code = bind(b, &work);
  if (code == 0) code = has_fault(index, fake.open[place]->stream);
  if (code == 0 && p->runs == 0 && fake_cuda_is_capturing() && fake_cuda_enter_outside_capture() != 0) {
    code = refuse(IN_RUNTIME, "loads its kernels, which a capture forbids", index);
  }
  if (code != 0) return code;
  fake.counts.plans_idle -= p->runs++ == 0;
  if (queue_problem(&work, fake.open[place]->stream) != 0) return LOST;
  return fake_cuda_last_error() == 0 ? 0 : refuse(IN_RUNTIME, "finds an error of an earlier call", index);
}

static void last_error(char *text, size_t bytes) {
  (void)snprintf(text, bytes, "%s", fake.words);
}

static size_t version(void) {
  return FAKE_CUDNN_VERSION;
}

void fake_cudnn_forget(void) {
  memset(&fake, 0, sizeof fake);
}

plim_cudnn_api fake_cudnn_api(void) {
  return (plim_cudnn_api){.opened = &fake,
                          .version = version,
                          .create = create,
                          .destroy = destroy,
                          .set_stream = set_stream,
                          .make = make,
                          .unmake = unmake,
                          .set = set,
                          .finalize = finalize,
                          .get = get,
                          .execute = execute,
                          .last_error = last_error};
}

const char *fake_cudnn_misuse(void) {
  return fake.misuse;
}

fake_cudnn_counts fake_cudnn_count(void) {
  return fake.counts;
}
