/* Version 2 of oneDNN's C API: memory and op descriptors are structures, implementations come from an iterator. */
#include <string.h>

#include "kernels/cpu/onednn_api.h"

dnnl_status_t plim_dnnl_md_new(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, dnnl_format_tag_t tag,
                               plim_dnnl_md *out) {
  return dnnl_memory_desc_init_by_tag(*out, rank, dim, type, tag);
}

dnnl_status_t plim_dnnl_md_new_strided(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, const dnnl_dims_t stride,
                                       plim_dnnl_md *out) {
  return dnnl_memory_desc_init_by_strides(*out, rank, dim, type, stride);
}

void plim_dnnl_md_free(plim_dnnl_md md) {
  (void)md;
}

int plim_dnnl_weights_order(plim_dnnl_const_md md, plim_weights_order *out) {
  if (md->format_kind != dnnl_blocked || md->offset0 != 0) return 0;
  const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
  *out = (plim_weights_order){.block = {1, 1}, .element_bytes = md->data_type == dnnl_bf16 ? 2 : 4};
  if (!plim_weights_order_outer(out, md->ndims, md->dims, blocking->strides)) return 0;
  return plim_weights_order_blocks(out, blocking->inner_nblks, blocking->inner_idxs, blocking->inner_blks);
}

static dnnl_status_t describe_conv(const plim_dnnl_op *op, dnnl_convolution_desc_t *out) {
  dnnl_memory_desc_t weights; /* in whatever format the implementation likes */
  dnnl_status_t status = dnnl_memory_desc_init_by_tag(&weights, op->weights->ndims, op->weights->dims,
                                                      op->weights->data_type, dnnl_format_tag_any);
  if (status != dnnl_success) return status;
  switch (op->prop) {
    case dnnl_backward_data:
      return dnnl_convolution_backward_data_desc_init(out, op->algorithm, op->src, &weights, op->dst, op->stride,
                                                      op->pad, op->pad);
    case dnnl_backward_weights:
      return dnnl_convolution_backward_weights_desc_init(out, op->algorithm, op->src, &weights, op->bias, op->dst,
                                                         op->stride, op->pad, op->pad);
    default:
      return dnnl_convolution_forward_desc_init(out, op->prop, op->algorithm, op->src, &weights, op->bias, op->dst,
                                                op->stride, op->pad, op->pad);
  }
}

static int fetch(plim_dnnl_offers *offers) {
  offers->pd = dnnl_primitive_desc_iterator_fetch(offers->iterator);
  return offers->pd != NULL;
}

static dnnl_status_t describe_op(const plim_dnnl_op *op, plim_dnnl_offers *offers) {
  if (!op->weights) return dnnl_softmax_forward_desc_init(&offers->desc.softmax, op->prop, op->src, 1);
  if (op->prop != dnnl_prop_kind_undef) return describe_conv(op, &offers->desc.conv);
  return dnnl_matmul_desc_init(&offers->desc.matmul, op->src, op->weights, op->bias, op->dst);
}

int plim_dnnl_offers_first(plim_dnnl_offers *offers, const plim_dnnl_op *op, dnnl_engine_t engine,
                           const_dnnl_primitive_attr_t attr) {
  plim_dnnl_offers_end(offers);
  dnnl_status_t status = describe_op(op, offers);
  if (status == dnnl_success) {
    status = dnnl_primitive_desc_iterator_create(&offers->iterator, &offers->desc, attr, engine, NULL);
  }
  return status == dnnl_success && fetch(offers);
}

int plim_dnnl_offers_next(plim_dnnl_offers *offers) {
  if (offers->pd) dnnl_primitive_desc_destroy(offers->pd);
  offers->pd = NULL;
  return offers->iterator && dnnl_primitive_desc_iterator_next(offers->iterator) == dnnl_success && fetch(offers);
}

void plim_dnnl_offers_end(plim_dnnl_offers *offers) {
  if (offers->pd) dnnl_primitive_desc_destroy(offers->pd);
  if (offers->iterator) dnnl_primitive_desc_iterator_destroy(offers->iterator);
  memset(offers, 0, sizeof *offers);
}
