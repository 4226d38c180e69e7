/* Version 3 of oneDNN's C API: memory descriptors are objects, implementations come from a primitive descriptor. */
#include <string.h>

#include "kernels/cpu/onednn_api.h"

dnnl_status_t plim_dnnl_md_new(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, dnnl_format_tag_t tag,
                               plim_dnnl_md *out) {
  return dnnl_memory_desc_create_with_tag(out, rank, dim, type, tag);
}

dnnl_status_t plim_dnnl_md_new_strided(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, const dnnl_dims_t stride,
                                       plim_dnnl_md *out) {
  return dnnl_memory_desc_create_with_strides(out, rank, dim, type, stride);
}

void plim_dnnl_md_free(plim_dnnl_md md) {
  if (md) dnnl_memory_desc_destroy(md);
}

typedef struct form {
  int32_t rank, blocks;
  dnnl_data_type_t type;
  dnnl_format_kind_t kind;
  dnnl_dim_t offset;
  const dnnl_dims_t *dim, *stride, *block_dim, *block;
} form;

static int form_find(plim_dnnl_const_md md, form *out) {
  const struct {
    dnnl_query_t what;
    void *to;
  } queries[] = {
      {dnnl_query_format_kind, &out->kind},
      {dnnl_query_ndims_s32, &out->rank},
      {dnnl_query_submemory_offset_s64, &out->offset},
      {dnnl_query_data_type, &out->type},
      {dnnl_query_dims, (void *)&out->dim},
      {dnnl_query_strides, (void *)&out->stride},
      {dnnl_query_inner_nblks_s32, &out->blocks},
      {dnnl_query_inner_idxs, (void *)&out->block_dim},
      {dnnl_query_inner_blks, (void *)&out->block},
  };
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    if (dnnl_memory_desc_query(md, queries[i].what, queries[i].to) != dnnl_success) return 0;
    if (i == 0 && out->kind != dnnl_blocked) return 0; /* the rest is said of blocked ones only */
  }
  return 1;
}

int plim_dnnl_weights_order(plim_dnnl_const_md md, plim_weights_order *out) {
  form f;
  if (!form_find(md, &f) || f.offset != 0) return 0;
  *out = (plim_weights_order){.block = {1, 1}, .element_bytes = f.type == dnnl_bf16 ? 2 : 4};
  if (!plim_weights_order_outer(out, f.rank, *f.dim, *f.stride)) return 0;
  return plim_weights_order_blocks(out, f.blocks, *f.block_dim, *f.block);
}

static dnnl_status_t create_conv(dnnl_primitive_desc_t *pd, const plim_dnnl_op *op, plim_dnnl_const_md weights,
                                 dnnl_engine_t engine, const_dnnl_primitive_attr_t attr) {
  const int64_t *stride = op->stride, *pad = op->pad;
  const dnnl_dims_t dilation = {0};
  switch (op->prop) {
    case dnnl_backward_data:
      return dnnl_convolution_backward_data_primitive_desc_create(pd, engine, op->algorithm, op->src, weights, op->dst,
                                                                  stride, dilation, pad, pad, NULL, attr);
    case dnnl_backward_weights:
      return dnnl_convolution_backward_weights_primitive_desc_create(
          pd, engine, op->algorithm, op->src, weights, op->bias, op->dst, stride, dilation, pad, pad, NULL, attr);
    default:
      return dnnl_convolution_forward_primitive_desc_create(pd, engine, op->prop, op->algorithm, op->src, weights,
                                                            op->bias, op->dst, stride, dilation, pad, pad, attr);
  }
}

/* Weights in whatever format the implementation likes. */
static dnnl_status_t any_weights(plim_dnnl_const_md md, plim_dnnl_md *out) {
  int32_t rank;
  dnnl_data_type_t type;
  const dnnl_dims_t *dim;
  dnnl_status_t status = dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &rank);
  if (status == dnnl_success) status = dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
  if (status == dnnl_success) status = dnnl_memory_desc_query(md, dnnl_query_dims, (void *)&dim);
  return status == dnnl_success ? dnnl_memory_desc_create_with_tag(out, rank, *dim, type, dnnl_format_tag_any) : status;
}

int plim_dnnl_offers_first(plim_dnnl_offers *offers, const plim_dnnl_op *op, dnnl_engine_t engine,
                           const_dnnl_primitive_attr_t attr) {
  plim_dnnl_offers_end(offers);
  dnnl_status_t status;
  if (!op->weights) {
    status = dnnl_softmax_forward_primitive_desc_create(&offers->pd, engine, op->prop, dnnl_softmax_accurate, op->src,
                                                        op->dst, 1, attr);
  } else if (op->prop == dnnl_prop_kind_undef) {
    status = dnnl_matmul_primitive_desc_create(&offers->pd, engine, op->src, op->weights, op->bias, op->dst, attr);
  } else {
    plim_dnnl_md weights = NULL;
    status = any_weights(op->weights, &weights);
    if (status == dnnl_success) status = create_conv(&offers->pd, op, weights, engine, attr);
    plim_dnnl_md_free(weights);
  }
  if (status != dnnl_success) offers->pd = NULL;
  return status == dnnl_success;
}

int plim_dnnl_offers_next(plim_dnnl_offers *offers) {
  if (offers->pd && dnnl_primitive_desc_next_impl(offers->pd) == dnnl_success) return 1;
  plim_dnnl_offers_end(offers);
  return 0;
}

void plim_dnnl_offers_end(plim_dnnl_offers *offers) {
  if (offers->pd) dnnl_primitive_desc_destroy(offers->pd);
  memset(offers, 0, sizeof *offers);
}
