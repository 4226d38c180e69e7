/* Vectors of K_VECTOR elements between memory and the registers of a thread, 16 bytes an access where they begin at a
 * multiple of 16, and where elements are bytes all 8 where they begin at a multiple of 8: see kernels/kernel_block.h,
 * which includes this file. What is shorter, or begins elsewhere, goes element by element. */
#ifndef PLIM_KERNELS_KERNEL_WIDE_H
#define PLIM_KERNELS_KERNEL_WIDE_H

K_FN int k_is_wide(const void *p) {
  return ((uintptr_t)p & 15) == 0;
}
K_FN int k_is_wide_u8(const uint8_t *p) {
  return ((uintptr_t)p & 7) == 0;
}

#ifdef __CUDACC__
K_FN void k_read_wide_u8(const uint8_t *p, uint8_t *v) {
  const uint2 all = *(const uint2 *)p;
  K_UNROLL for (int j = 0; j < 4; j++) {
    v[j] = (uint8_t)(all.x >> (8 * j));
    v[4 + j] = (uint8_t)(all.y >> (8 * j));
  }
}
K_FN void k_read_wide_f32(const float *p, float *v) {
  K_UNROLL for (int i = 0; i < 2; i++) {
    const float4 half = ((const float4 *)p)[i];
    v[4 * i] = half.x;
    v[4 * i + 1] = half.y;
    v[4 * i + 2] = half.z;
    v[4 * i + 3] = half.w;
  }
}
/* By name, here and below: the compiler takes some plain stores of 16 bytes apart again. */
K_FN void k_write_wide_u8(uint8_t *p, const uint8_t *v) {
  uint2 all = make_uint2(0, 0);
  K_UNROLL for (int j = 0; j < 4; j++) {
    all.x |= (uint32_t)v[j] << (8 * j);
    all.y |= (uint32_t)v[4 + j] << (8 * j);
  }
  __stwb((uint2 *)p, all);
}
K_FN void k_write_wide_f32(float *p, const float *v) {
  K_UNROLL for (int i = 0; i < 2; i++) {
    __stwb((float4 *)p + i, make_float4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]));
  }
}
#else
/* Without a GPU element by element, so that the choice below is tested there too. */
K_FN void k_read_wide_u8(const uint8_t *p, uint8_t *v) {
  for (int j = 0; j < K_VECTOR; j++) v[j] = p[j];
}
K_FN void k_write_wide_u8(uint8_t *p, const uint8_t *v) {
  for (int j = 0; j < K_VECTOR; j++) p[j] = v[j];
}
K_FN void k_read_wide_f32(const float *p, float *v) {
  for (int j = 0; j < K_VECTOR; j++) v[j] = p[j];
}
K_FN void k_write_wide_f32(float *p, const float *v) {
  for (int j = 0; j < K_VECTOR; j++) p[j] = v[j];
}
#endif

K_FN void k_read_f32(const float *p, int width, float *v) {
  if (width == K_VECTOR && k_is_wide(p)) {
    k_read_wide_f32(p, v);
  } else {
    K_UNROLL for (int j = 0; j < K_VECTOR; j++) v[j] = j < width ? p[j] : 0;
  }
}

K_FN void k_write_f32(float *p, int width, const float *v) {
  if (width == K_VECTOR && k_is_wide(p)) {
    k_write_wide_f32(p, v);
  } else {
    K_EACH_IN_VECTOR (j, width) p[j] = v[j];
  }
}

K_FN void k_read_u8(const uint8_t *p, int width, uint8_t *v) {
  if (width == K_VECTOR && k_is_wide_u8(p)) {
    k_read_wide_u8(p, v);
  } else {
    K_UNROLL for (int j = 0; j < K_VECTOR; j++) v[j] = j < width ? p[j] : 0;
  }
}

K_FN void k_write_u8(uint8_t *p, int width, const uint8_t *v) {
  if (width == K_VECTOR && k_is_wide_u8(p)) {
    k_write_wide_u8(p, v);
  } else {
    K_EACH_IN_VECTOR (j, width) p[j] = v[j];
  }
}

/* The same of activations. */
#ifndef K_BF16
#define k_read k_read_f32
#define k_write k_write_f32
#else

#ifdef __CUDACC__
K_FN void k_read_wide(const K_T *p, K_ACC *v) {
  const uint4 all = *(const uint4 *)p;
  const uint32_t word[4] = {all.x, all.y, all.z, all.w};
  K_UNROLL for (int i = 0; i < 4; i++) {
    const K_T pair[2] = {(K_T)word[i], (K_T)(word[i] >> 16)};
    v[2 * i] = k_load(pair, 0);
    v[2 * i + 1] = k_load(pair, 1);
  }
}
K_FN void k_write_wide(K_T *p, const K_ACC *v) {
  uint32_t word[4];
  K_UNROLL for (int i = 0; i < 4; i++) {
    K_T pair[2];
    k_store(pair, 0, v[2 * i]);
    k_store(pair, 1, v[2 * i + 1]);
    word[i] = pair[0] | (uint32_t)pair[1] << 16;
  }
  __stwb((uint4 *)p, make_uint4(word[0], word[1], word[2], word[3]));
}
#else
K_FN void k_read_wide(const K_T *p, K_ACC *v) {
  for (int j = 0; j < K_VECTOR; j++) v[j] = k_load(p, j);
}
K_FN void k_write_wide(K_T *p, const K_ACC *v) {
  for (int j = 0; j < K_VECTOR; j++) k_store(p, j, v[j]);
}
#endif

K_FN void k_read(const K_T *p, int width, K_ACC *v) {
  if (width == K_VECTOR && k_is_wide(p)) {
    k_read_wide(p, v);
  } else {
    K_UNROLL for (int j = 0; j < K_VECTOR; j++) v[j] = j < width ? k_load(p, j) : 0;
  }
}

K_FN void k_write(K_T *p, int width, const K_ACC *v) {
  if (width == K_VECTOR && k_is_wide(p)) {
    k_write_wide(p, v);
  } else {
    K_EACH_IN_VECTOR (j, width) k_store(p, j, v[j]);
  }
}
#endif

#endif
