/* Version 2 of oneDNN's C API: memory and op descriptors are structures, implementations come from an iterator. */
#include <stdlib.h>
#include <string.h>

#include "kernels/onednn_api.h"

dnnl_status_t plim_dnnl_md_new(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, dnnl_format_tag_t tag,
                               plim_dnnl_md *out) {
  dnnl_memory_desc_t *md = calloc(1, sizeof *md);
  if (!md) return dnnl_out_of_memory;
  dnnl_status_t status = dnnl_memory_desc_init_by_tag(md, rank, dim, type, tag);
  if (status == dnnl_success) {
    *out = md;
  } else {
    free(md);
  }
  return status;
}

void plim_dnnl_md_free(plim_dnnl_md md) {
  free(md);
}

int plim_dnnl_weights_order(plim_dnnl_const_md md, plim_weights_order *out) {
  if (md->format_kind != dnnl_blocked || md->ndims != 4 || md->offset0 != 0) return 0;
  const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
  *out = (plim_weights_order){.block = {1, 1}, .element_bytes = md->data_type == dnnl_bf16 ? 2 : 4};
  for (int i = 0; i < 4; i++) {
    out->dim[i] = md->dims[i];
    out->outer[i] = blocking->strides[i];
  }
  return plim_weights_order_blocks(out, blocking->inner_nblks, blocking->inner_idxs, blocking->inner_blks);
}

/* The iterator borrows the op descriptor. */
typedef struct walk {
  dnnl_primitive_desc_iterator_t iterator;
  union {
    dnnl_matmul_desc_t matmul;
    dnnl_convolution_desc_t conv;
  } desc;
} walk;

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
  const walk *w = offers->iterator;
  offers->pd = dnnl_primitive_desc_iterator_fetch(w->iterator);
  return offers->pd != NULL;
}

int plim_dnnl_offers_first(plim_dnnl_offers *offers, const plim_dnnl_op *op, dnnl_engine_t engine,
                           const_dnnl_primitive_attr_t attr) {
  plim_dnnl_offers_end(offers);
  walk *w = calloc(1, sizeof *w);
  if (!w) return 0;
  offers->iterator = w;
  dnnl_status_t status = op->prop == dnnl_prop_kind_undef
                             ? dnnl_matmul_desc_init(&w->desc.matmul, op->src, op->weights, op->bias, op->dst)
                             : describe_conv(op, &w->desc.conv);
  if (status == dnnl_success) status = dnnl_primitive_desc_iterator_create(&w->iterator, &w->desc, attr, engine, NULL);
  return status == dnnl_success && fetch(offers);
}

int plim_dnnl_offers_next(plim_dnnl_offers *offers) {
  const walk *w = offers->iterator;
  if (offers->pd) dnnl_primitive_desc_destroy(offers->pd);
  offers->pd = NULL;
  return w && w->iterator && dnnl_primitive_desc_iterator_next(w->iterator) == dnnl_success && fetch(offers);
}

void plim_dnnl_offers_end(plim_dnnl_offers *offers) {
  walk *w = offers->iterator;
  if (offers->pd) dnnl_primitive_desc_destroy(offers->pd);
  if (w && w->iterator) dnnl_primitive_desc_iterator_destroy(w->iterator);
  free(w);
  memset(offers, 0, sizeof *offers);
}
