/* Measures copies beside threads that compute. The threads work in regions like those of ops: each thread has an equal
 * share, and all wait for the last one. Half of a share is arithmetic in the first-level cache, half reads memory. The
 * same regions are timed in turns alone and beside copies; the median over the rounds counts.
 *
 * After each copy its thread sleeps for twice the time of the copy. Copies of a plan also begin on threads that slept,
 * and a scheduler treats such threads unlike threads that never pause.
 *
 * When the regions take T alone and T' beside copies of total time C, the delay share is (T' - T) / C. When T varies
 * between rounds, other programs disturb the measurement. Then the delay share is the share of a processor that the
 * copies take. */
#include "runtime/profile/page_beside.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/device/guarded.h"
#include "runtime/device/threads.h"

enum { PAUSES = 2 /* times the time of the copy before */ };
static const double steady = 1.1; /* the work alone is steady when its longest time is at most so many shortest times */
enum { ROUNDS = 5, REGIONS = 8, FLOATS = 4096, PASSES = 400, READ_BYTES = 4 << 20, CASES = 3, DIRECTIONS = 2 };

/* ---- work ---- */

static float compute(float *own) {
  for (int i = 0; i < FLOATS; i++) own[i] = (float)(i % 7);
  for (int pass = 0; pass < PASSES; pass++) {
    for (int i = 0; i < FLOATS; i++) own[i] = own[i] * 0.999F + 0.5F;
  }
  return own[0];
}

static int64_t read_memory(const int64_t *from, int64_t bytes) {
  int64_t sum = 0;
  for (int64_t i = 0; i < bytes / (int64_t)sizeof *from; i++) sum += from[i];
  return sum;
}

/* Run the regions. Returns their time, ns. */
static int64_t work(const char *memory, int32_t threads) {
  static _Atomic int64_t kept; /* uses the results, so that the compiler removes no work */
  const int64_t begin_ns = plim_now_ns();
  for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int32_t i = 0; i < threads; i++) {
      float own[FLOATS];
      const int64_t *from = (const int64_t *)(const void *)(memory + (int64_t)i * READ_BYTES);
      atomic_fetch_add(&kept, read_memory(from, READ_BYTES) + (int64_t)compute(own));
    }
  }
  return plim_now_ns() - begin_ns;
}

/* ---- copies ---- */

typedef struct copier {
  const plim_memory_region *page;
  plim_page_ring *ring;
  char *memory;
  int in, slots;
  int64_t slot_bytes;
  _Atomic int *stop;
  int64_t bytes, time_ns, processor_ns; /* of all copies so far */
  int error;
  pthread_t thread;
} copier;

static void pause_for(int64_t ns, _Atomic int *stop) {
  enum { NS_MAX = 20000000 };
  for (; ns > 0 && !atomic_load(stop); ns -= NS_MAX) {
    const struct timespec time = {.tv_nsec = (long)(ns < NS_MAX ? ns : NS_MAX)};
    (void)nanosleep(&time, NULL);
  }
}

/* Time that this thread has spent on a processor. */
static int64_t processor_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Copy slot after slot until `stop`. Copies out use the even slots, copies in the odd ones. */
static void *copy(void *user) {
  copier *c = user;
  for (int slot = c->in; !atomic_load(c->stop) && c->error == 0; slot = slot + 2 < c->slots ? slot + 2 : c->in) {
    char *paged = c->page->base + slot * c->slot_bytes, *own = c->memory + slot * c->slot_bytes;
    const int64_t begin_ns = plim_now_ns(), first_ns = processor_ns();
    c->error = c->in ? plim_memory_region_read(c->page, c->ring, own, paged, c->slot_bytes)
                     : plim_memory_region_write(c->page, c->ring, paged, own, c->slot_bytes);
    const int64_t time_ns = plim_now_ns() - begin_ns;
    c->time_ns += time_ns;
    c->processor_ns += processor_ns() - first_ns;
    c->bytes += c->slot_bytes;
    pause_for(PAUSES * time_ns, c->stop);
  }
  return NULL;
}

static int64_t copied_ns(const copier direction[DIRECTIONS]) {
  return direction[0].time_ns + direction[1].time_ns;
}

/* Time the work beside the copies of case `number`: 0: out; 1: in; 2: both.
 *   alone_ns     in   time of the work alone
 *   delay_share  out  delay of the work over the time of the copies */
static int work_beside(copier direction[DIRECTIONS], int number, const char *memory, int32_t threads, int64_t alone_ns,
                       double *delay_share) {
  const int64_t before_ns = copied_ns(direction);
  int64_t time_ns = 0;
  _Atomic int stop = 0;
  int started[DIRECTIONS] = {0}, error = 0;
  for (int in = 0; in < DIRECTIONS && error == 0; in++) {
    if (number != 2 && number != in) continue;
    direction[in].stop = &stop;
    error = pthread_create(&direction[in].thread, NULL, copy, &direction[in]);
    started[in] = error == 0;
  }
  if (error == 0) time_ns = work(memory, threads);
  atomic_store(&stop, 1);
  for (int in = 0; in < DIRECTIONS; in++) {
    if (started[in]) (void)pthread_join(direction[in].thread, NULL);
    if (error == 0) error = direction[in].error;
  }
  const int64_t copies_ns = copied_ns(direction) - before_ns;
  *delay_share = copies_ns > 0 ? (double)(time_ns - alone_ns) / (double)copies_ns : 0;
  return error;
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static double median(double *of) {
  qsort(of, ROUNDS, sizeof *of, by_size);
  return of[ROUNDS / 2];
}

static double within_one(double x) {
  return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Set the figures of the link from the copies and, unless `delay_share` is NULL, from the delays. delay_share NULL:
 * the work alone was not steady. */
static void set_figures(copier direction[CASES][DIRECTIONS], double (*delay_share)[ROUNDS], plim_page_link *link) {
  for (int i = 0; i < CASES; i++) {
    double bytes = 0, time_ns = 0, busy_ns = 0;
    for (int in = 0; in < DIRECTIONS; in++) {
      bytes += (double)direction[i][in].bytes;
      time_ns += (double)direction[i][in].time_ns;
      busy_ns += (double)direction[i][in].processor_ns;
    }
    const double alone = i < PLIM_LINK_DIRECTIONS
                             ? link->bytes_per_ns[i]
                             : (link->bytes_per_ns[PLIM_LINK_OUT] + link->bytes_per_ns[PLIM_LINK_IN]) / 2;
    link->beside_bytes_per_ns[i] = bytes > 0 && time_ns > 0 ? bytes / time_ns : alone;
    const double busy = time_ns > 0 ? busy_ns / time_ns : direction[i][0].page->fd < 0 ? 1 : 0; /* memcpy needs one */
    link->delay_share[i] = within_one(delay_share && time_ns > 0 ? median(delay_share[i]) : busy);
  }
}

static int measure(copier direction[CASES][DIRECTIONS], const char *memory, plim_page_link *link) {
  const int32_t threads = plim_threads_now();
  double delay_share[CASES][ROUNDS], least_ns = 0, most_ns = 0;
  (void)work(memory, threads); /* starts the threads */
  for (int round = 0; round < ROUNDS; round++) {
    const int64_t alone_ns = work(memory, threads);
    if (round == 0 || (double)alone_ns < least_ns) least_ns = (double)alone_ns;
    if ((double)alone_ns > most_ns) most_ns = (double)alone_ns;
    for (int i = 0; i < CASES; i++) {
      int error = work_beside(direction[i], i, memory, threads, alone_ns, &delay_share[i][round]);
      if (error != 0) return error;
    }
  }
  set_figures(direction, most_ns <= steady * least_ns ? delay_share : NULL, link);
  return 0;
}

int plim_page_beside_measure(plim_context *ctx, const plim_memory_region *page, char *memory, int slots,
                             int64_t slot_bytes, plim_page_link *link) {
  copier direction[CASES][DIRECTIONS];
  plim_page_ring *ring[DIRECTIONS] = {NULL, NULL};
  void *read = NULL;
  const int64_t bytes = (int64_t)plim_threads_now() * READ_BYTES;
  if (plim_guarded_alloc(ctx, bytes, 1, &read) != PLIM_OK) return ENOMEM;
  for (int in = 0; in < DIRECTIONS; in++) {
    if (page->fd >= 0) ring[in] = plim_page_ring_open(ctx);
    for (int i = 0; i < CASES; i++) {
      direction[i][in] = (copier){
          .page = page, .ring = ring[in], .memory = memory, .in = in, .slots = slots, .slot_bytes = slot_bytes};
    }
  }
  int error = measure(direction, read, link);
  for (int in = 0; in < DIRECTIONS; in++) plim_page_ring_close(ring[in]);
  plim_guarded_free(read, bytes);
  return error;
}
