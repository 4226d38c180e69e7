#include "tests/support/thread_block.h"
#define BLOCK_TABLE block_bodies_float
#include "tests/support/thread_block_kernels.inc"
