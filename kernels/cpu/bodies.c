/* The kernels for one instruction set and storage type: compiled once each, with K_TABLE the name of the table it
 * exports. */
#include "kernels/bodies/all.inc"

#define K_X(name, blocks, per_tile)                          \
  static void run_##name(const k_call *call, int64_t tile) { \
    name##_tile(call, tile);                                 \
  }
K_BODIES(K_X)
#undef K_X

extern const k_bodies K_TABLE;
#define K_X(name, blocks, per_tile) run_##name,
const k_bodies K_TABLE = {{K_BODIES(K_X)}};
#undef K_X
