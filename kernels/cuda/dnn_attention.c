/* From an op to an operation graph of one node. Queries, keys and values lie side by side in rows of 3 C elements, as
 * [B][T][3][H][D], which strides say, and so do their gradients. The library keeps the statistics of each head in a
 * row.
 *
 * The causal mask is a graph of its own with one operation: of the scores, a virtual tensor, it keeps those whose query
 * is not before their key, and fills the others. Source: cudnn-frontend's description of both operations. */
#include "kernels/cuda/dnn_attention.h"

#include <string.h>

enum { ALIGNMENT = 16 /* bytes, of tensors */, DEPTH_UNIT = 8, SCORES = PLIM_DNN_ATTENTION_END, MASKED };

int plim_dnn_attention_of(const plim_op_desc *op, plim_dnn_attention *attention) {
  const int backward = op->kind == PLIM_OP_ATTENTION_BWD;
  if ((op->kind != PLIM_OP_ATTENTION && !backward) || plim_op_math(op) != PLIM_PRECISION_BF16) return 0;
  if (!plim_op_fits(op, NULL, NULL, 0)) return 0;
  const plim_shape *y = backward ? &op->in[2] : &op->out[0], *lse = backward ? &op->in[3] : &op->out[1];
  const int64_t heads = lse->dim[2], tokens = y->dim[1], depth = y->dim[2] / heads;
  if (depth % DEPTH_UNIT != 0) return 0;
  if (tokens < 1 || heads > UINT32_MAX / tokens || heads * tokens > INT64_MAX / tokens) return 0; /* steps of scores */
  *attention = (plim_dnn_attention){
      .backward = backward, .sequences = y->dim[0], .heads = heads, .tokens = tokens, .depth = depth};
  return 1;
}

/* ---- tensors ---- */

/* How a tensor lies: its sizes [B][H][T][...] and the elements from one to the next. */
typedef struct form {
  int64_t dim[4], step[4];
  int32_t type;
  int flag; /* an attribute that is true of it; 0: none */
} form;

/* Rows of `row` elements a token, of which a head has D side by side. */
static form rows_of(const plim_dnn_attention *a, int64_t row) {
  return (form){
      {a->sequences, a->heads, a->tokens, a->depth}, {a->tokens * row, a->depth, row, 1}, DNN_DATA_BFLOAT16, 0};
}

static form form_of(const plim_dnn_attention *a, int tensor) {
  const int64_t b = a->sequences, h = a->heads, t = a->tokens;
  switch (tensor) {
    case PLIM_DNN_O:
    case PLIM_DNN_DO:
      return rows_of(a, h * a->depth);
    case PLIM_DNN_STATS:
      return (form){{b, h, t, 1}, {h * t, t, 1, 1}, DNN_DATA_FLOAT, 0};
    case PLIM_DNN_SCALE:
    case PLIM_DNN_FILL:
      return (form){{1, 1, 1, 1}, {1, 1, 1, 1}, DNN_DATA_FLOAT, DNN_ATTR_TENSOR_IS_BY_VALUE};
    case SCORES:
    case MASKED:
      return (form){{b, h, t, t}, {h * t * t, t * t, t, 1}, DNN_DATA_FLOAT, DNN_ATTR_TENSOR_IS_VIRTUAL};
    default:
      return rows_of(a, 3 * h * a->depth);
  }
}

static int make_tensor(const plim_cudnn_api *api, const plim_dnn_attention *a, int tensor, void **out) {
  const form f = form_of(a, tensor);
  const int64_t id = tensor + 1, alignment = ALIGNMENT;
  const int32_t yes = 1;
  const plim_dnn_attribute attribute[] = {{DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1, &id},
                                          {DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1, &f.type},
                                          {DNN_ATTR_TENSOR_BYTE_ALIGNMENT, DNN_TYPE_INT64, 1, &alignment},
                                          {DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, 4, f.dim},
                                          {DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, 4, f.step},
                                          {f.flag, DNN_TYPE_BOOLEAN, 1, &yes}};
  return plim_dnn_build(api, DNN_BACKEND_TENSOR_DESCRIPTOR, attribute, f.flag ? 6 : 5, out);
}

/* ---- operations ---- */

static int make_mask(const plim_cudnn_api *api, void *const *part, void **out) {
  const int32_t not_before = DNN_POINTWISE_CMP_GE; /* the query's place, and the key's */
  const plim_dnn_attribute attribute[] = {
      {DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[SCORES]},
      {DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[PLIM_DNN_FILL]},
      {DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[MASKED]},
      {DNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE, DNN_TYPE_POINTWISE_MODE, 1, &not_before}};
  return plim_dnn_build(api, DNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR, attribute, 4, out);
}

/* The attribute of each tensor, 0 where the operation has none; and of the mask. */
static const struct {
  int kind, tensor[PLIM_DNN_ATTENTION_END], graph, input, output;
} operations[] = {
    {DNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     {[PLIM_DNN_Q] = DNN_ATTR_OPERATION_SDPA_FWD_QDESC,
      [PLIM_DNN_K] = DNN_ATTR_OPERATION_SDPA_FWD_KDESC,
      [PLIM_DNN_V] = DNN_ATTR_OPERATION_SDPA_FWD_VDESC,
      [PLIM_DNN_O] = DNN_ATTR_OPERATION_SDPA_FWD_ODESC,
      [PLIM_DNN_STATS] = DNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
      [PLIM_DNN_SCALE] = DNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC},
     DNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH,
     DNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID,
     DNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID},
    {DNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR,
     {[PLIM_DNN_Q] = DNN_ATTR_OPERATION_SDPA_BWD_QDESC,
      [PLIM_DNN_K] = DNN_ATTR_OPERATION_SDPA_BWD_KDESC,
      [PLIM_DNN_V] = DNN_ATTR_OPERATION_SDPA_BWD_VDESC,
      [PLIM_DNN_O] = DNN_ATTR_OPERATION_SDPA_BWD_ODESC,
      [PLIM_DNN_STATS] = DNN_ATTR_OPERATION_SDPA_BWD_STATSDESC,
      [PLIM_DNN_DO] = DNN_ATTR_OPERATION_SDPA_BWD_DODDESC,
      [PLIM_DNN_DQ] = DNN_ATTR_OPERATION_SDPA_BWD_DQDESC,
      [PLIM_DNN_DK] = DNN_ATTR_OPERATION_SDPA_BWD_DKDESC,
      [PLIM_DNN_DV] = DNN_ATTR_OPERATION_SDPA_BWD_DVDESC,
      [PLIM_DNN_SCALE] = DNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC},
     DNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH,
     DNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH_INPUT_UID,
     DNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH_OUTPUT_UID},
};

static int make_operation(const plim_cudnn_api *api, int64_t backward, void *const *part, void *mask, void **out) {
  const int64_t input = SCORES + 1, output = MASKED + 1;
  plim_dnn_attribute attribute[PLIM_DNN_ATTENTION_END + 3];
  int n = 0;
  for (int i = 0; i < PLIM_DNN_ATTENTION_END; i++) {
    const int name = operations[backward].tensor[i];
    if (name != 0) attribute[n++] = (plim_dnn_attribute){name, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &part[i]};
  }
  attribute[n++] = (plim_dnn_attribute){operations[backward].graph, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &mask};
  attribute[n++] = (plim_dnn_attribute){operations[backward].input, DNN_TYPE_INT64, 1, &input};
  attribute[n++] = (plim_dnn_attribute){operations[backward].output, DNN_TYPE_INT64, 1, &output};
  return plim_dnn_build(api, operations[backward].kind, attribute, n, out);
}

int plim_dnn_attention_graph(const plim_cudnn_api *api, void *handle, const plim_dnn_attention *attention,
                             plim_dnn_graph *graph) {
  enum { MASK = MASKED + 1, MASK_GRAPH, OPERATION };
  _Static_assert((int)OPERATION < (int)PLIM_DNN_GRAPH, "a graph has room for its parts");
  void **part = graph->part;
  int code = 0;
  memset(graph, 0, sizeof *graph);
  for (int i = 0; i <= MASKED && code == 0; i++) {
    const int is_gradient = i >= PLIM_DNN_FORWARD_TENSORS && i < PLIM_DNN_TENSORS;
    if (attention->backward || !is_gradient) code = make_tensor(api, attention, i, &part[i]);
  }
  if (code == 0) code = make_mask(api, part, &part[MASK]);
  if (code == 0) code = plim_dnn_graph_of(api, handle, part[MASK], &part[MASK_GRAPH]);
  if (code == 0) code = make_operation(api, attention->backward, part, part[MASK_GRAPH], &part[OPERATION]);
  if (code == 0) code = plim_dnn_graph_of(api, handle, part[OPERATION], &part[PLIM_DNN_GRAPH]);
  if (code != 0) plim_dnn_graph_free(api, graph);
  return code;
}
