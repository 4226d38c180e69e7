/* Levels in blocks. To add bytes to a range changes one figure of each block that is wholly in it, and single positions
 * at its ends alone. A sum of excess asks a block first: below the limit, above it by all of the bytes, or within both.
 * Only a block that is none of these has its positions looked at. `n` ends the last block. */
#include "planner/track/memory_profile.h"

#include "runtime/base/integers.h"

plim_status plim_blocked_profile_begin(plim_context *ctx, int32_t capacity, plim_blocked_profile *out) {
  plim_status status;
  *out = (plim_blocked_profile){.ctx = ctx, .capacity = capacity};
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity, sizeof *out->level, &out->level));
  PLIM_TRY_OR_DONE(plim_allocate(ctx, capacity / PLIM_BLOCKED_PROFILE_BLOCK + 1, sizeof *out->block, &out->block));
done:
  if (status != PLIM_OK) plim_blocked_profile_end(out);
  return status;
}

void plim_blocked_profile_end(plim_blocked_profile *profile) {
  plim_release(profile->ctx, profile->level, profile->capacity, sizeof *profile->level);
  plim_release(profile->ctx, profile->block, profile->capacity / PLIM_BLOCKED_PROFILE_BLOCK + 1,
               sizeof *profile->block);
  profile->level = NULL;
  profile->block = NULL;
}

static int32_t least_of(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* Figures of a block from its positions. */
static void update_block(plim_blocked_profile *profile, int32_t b) {
  int32_t begin = b * PLIM_BLOCKED_PROFILE_BLOCK, end = least_of(begin + PLIM_BLOCKED_PROFILE_BLOCK, profile->n);
  int64_t least = profile->level[begin], most = least, above = 0;
  for (int32_t k = begin; k < end; k++) {
    least = profile->level[k] < least ? profile->level[k] : least;
    most = profile->level[k] > most ? profile->level[k] : most;
  }
  for (int32_t k = begin; k < end; k++) above = plim_integers_add_capped(above, profile->level[k] - least);
  profile->block[b] = (plim_profile_block){profile->block[b].added, least, most, above};
}

void plim_blocked_profile_set(plim_blocked_profile *profile, int32_t n) {
  profile->n = n;
  for (int32_t b = 0; b * PLIM_BLOCKED_PROFILE_BLOCK < n; b++) {
    profile->block[b].added = 0;
    update_block(profile, b);
  }
}

int64_t plim_blocked_profile_at(const plim_blocked_profile *profile, int32_t at) {
  return profile->level[at] + profile->block[at / PLIM_BLOCKED_PROFILE_BLOCK].added;
}

static int is_whole(const plim_blocked_profile *profile, int32_t begin, int32_t end) {
  return begin % PLIM_BLOCKED_PROFILE_BLOCK == 0 && (end - begin == PLIM_BLOCKED_PROFILE_BLOCK || end == profile->n);
}

void plim_blocked_profile_add(plim_blocked_profile *profile, int64_t bytes, int32_t from, int32_t to) {
  for (int32_t begin = from + 1, end; begin < to; begin = end) {
    int32_t b = begin / PLIM_BLOCKED_PROFILE_BLOCK;
    end = least_of((b + 1) * PLIM_BLOCKED_PROFILE_BLOCK, to);
    if (is_whole(profile, begin, end)) {
      profile->block[b].added += bytes;
      continue;
    }
    for (int32_t k = begin; k < end; k++) profile->level[k] += bytes;
    update_block(profile, b);
  }
}

int64_t plim_blocked_profile_excess(const plim_blocked_profile *profile, int64_t limit, int64_t bytes, int32_t from,
                                    int32_t to) {
  int64_t excess = 0;
  for (int32_t begin = from + 1, end; begin < to; begin = end) {
    int32_t b = begin / PLIM_BLOCKED_PROFILE_BLOCK;
    const plim_profile_block *block = &profile->block[b];
    int64_t low = limit - block->added, n;
    end = least_of((b + 1) * PLIM_BLOCKED_PROFILE_BLOCK, to);
    n = end - begin;
    if (block->most <= low) continue;
    if (block->least >= low + bytes) {
      excess = plim_integers_add_capped(excess, plim_integers_multiply_capped(n, bytes));
    } else if (block->least >= low && block->most <= low + bytes && is_whole(profile, begin, end)) {
      int64_t least = plim_integers_multiply_capped(n, block->least - low);
      excess = plim_integers_add_capped(excess, plim_integers_add_capped(least, block->above_least));
    } else {
      for (int32_t k = begin; k < end; k++) {
        int64_t over = profile->level[k] - low;
        excess = plim_integers_add_capped(excess, over <= 0 ? 0 : over < bytes ? over : bytes);
      }
    }
  }
  return excess;
}
