/* What versions 2 and 3 of oneDNN's C API say in different forms: a memory descriptor is a structure in 2 and an object
 * in 3; an op's implementations come from an op descriptor and an iterator in 2, and from one call in 3. Made by
 * onednn_api2.c or onednn_api3.c, whichever the build has; everything else of the API is equal in both. */
#ifndef PLIM_KERNELS_CPU_ONEDNN_API_H
#define PLIM_KERNELS_CPU_ONEDNN_API_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/weights.h"

#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t plim_dnnl_md[1];
typedef const dnnl_memory_desc_t *plim_dnnl_const_md;
#else
typedef dnnl_memory_desc_t plim_dnnl_md;
typedef const_dnnl_memory_desc_t plim_dnnl_const_md;
#endif

/* A dense tensor of `rank` dimensions in the order of `tag`. Free it with plim_dnnl_md_free, also when it is zeroed. */
dnnl_status_t plim_dnnl_md_new(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, dnnl_format_tag_t tag,
                               plim_dnnl_md *out);
/* The same with elements `stride` apart along each dimension. */
dnnl_status_t plim_dnnl_md_new_strided(int rank, const dnnl_dims_t dim, dnnl_data_type_t type, const dnnl_dims_t stride,
                                       plim_dnnl_md *out);
void plim_dnnl_md_free(plim_dnnl_md md);

/* Convolution weights [O][I][R][S] as an implementation wants them, of groups [O][1][1][R][S]; 0 when they are
 * nothing that we can copy to. */
int plim_dnnl_weights_order(plim_dnnl_const_md md, plim_weights_order *out);

/* A product, or a softmax of the rows of a matrix, whose implementations are wanted. A convolution's weights may lie in
 * any order. */
typedef struct plim_dnnl_op {
  dnnl_prop_kind_t prop;     /* undef: a matrix product */
  dnnl_alg_kind_t algorithm; /* of a convolution */
  plim_dnnl_const_md src, weights /* NULL: a softmax */, bias /* may be NULL */, dst;
  dnnl_dims_t stride, pad; /* [2] of a convolution; the padding is the same on both sides */
} plim_dnnl_op;

/* A walk over them; `pd` is the present one. Zeroed to begin with; it must not move. */
typedef struct plim_dnnl_offers {
  dnnl_primitive_desc_t pd;
#if DNNL_VERSION_MAJOR == 2
  dnnl_primitive_desc_iterator_t iterator; /* borrows the descriptor */
  union {
    dnnl_matmul_desc_t matmul;
    dnnl_convolution_desc_t conv;
    dnnl_softmax_desc_t softmax;
  } desc;
#endif
} plim_dnnl_offers;

/* Go to the first or to the next implementation: 1, or 0 when there is none; `pd` is NULL then. */
int plim_dnnl_offers_first(plim_dnnl_offers *offers, const plim_dnnl_op *op, dnnl_engine_t engine,
                           const_dnnl_primitive_attr_t attr);
int plim_dnnl_offers_next(plim_dnnl_offers *offers);
void plim_dnnl_offers_end(plim_dnnl_offers *offers); /* legal at any time */

#endif
