/* A thread of the system for each thread of the block; they meet at a barrier in every k_sync and after every tile. */
#include "tests/support/thread_block.h"

#include <criterion/criterion.h>
#include <pthread.h>

int k_block_thread(void);
void k_block_sync(void);

static pthread_barrier_t barrier;
static _Thread_local int lane_of_thread;

typedef struct lane {
  int number;
  k_tile_fn *tile;
  const k_call *call;
  int64_t tiles;
} lane;

int k_block_thread(void) {
  return lane_of_thread;
}

void k_block_sync(void) {
  (void)pthread_barrier_wait(&barrier);
}

static void *run_lane(void *opaque) {
  const lane *l = opaque;
  lane_of_thread = l->number;
  for (int64_t tile = 0; tile < l->tiles; tile++) {
    l->tile(l->call, tile);
    k_block_sync();
  }
  return NULL;
}

static void run_phase(const k_phase *phase, const k_call *call) {
  const k_kernels *kernels = call->type == K_TYPE_BF16 ? &block_kernels_bf16 : &block_kernels_float;
  pthread_t thread[BLOCK_LANES];
  lane lanes[BLOCK_LANES];
  for (int i = 0; i < BLOCK_LANES; i++) {
    lanes[i] = (lane){i, kernels->tile[phase->kernel], call, phase->tiles};
    cr_assert_eq(pthread_create(&thread[i], NULL, run_lane, &lanes[i]), 0);
  }
  for (int i = 0; i < BLOCK_LANES; i++) cr_assert_eq(pthread_join(thread[i], NULL), 0);
}

void block_run(const k_launch *launch, const k_call *call) {
  cr_assert_eq(pthread_barrier_init(&barrier, NULL, BLOCK_LANES), 0);
  for (int i = 0; i < launch->phases; i++) run_phase(&launch->phase[i], call);
  cr_assert_eq(pthread_barrier_destroy(&barrier), 0);
}
