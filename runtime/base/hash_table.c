/* A hash table by linear probing. A slot has the hash too, so that most ids are compared by it alone,
 * and growing asks the owner nothing. */
#include "runtime/base/hash_table.h"

#include <assert.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

int32_t plim_hash_find(const plim_hash_table *table, uint64_t hash, plim_hash_same *same, const void *owner,
                       const void *key) {
  const uint64_t mask = (uint64_t)table->n_slots - 1;
  if (table->n_slots == 0) return PLIM_NONE;
  for (uint64_t i = hash & mask; table->slot[i].taken > 0; i = (i + 1) & mask) {
    const plim_hash_slot *slot = &table->slot[i];
    if (slot->hash == hash && same(owner, slot->taken - 1, key)) return slot->taken - 1;
  }
  return PLIM_NONE;
}

static void put_slot(plim_hash_table *table, plim_hash_slot slot) {
  const uint64_t mask = (uint64_t)table->n_slots - 1;
  uint64_t i = slot.hash & mask;
  while (table->slot[i].taken > 0) i = (i + 1) & mask;
  table->slot[i] = slot;
}

plim_status plim_hash_reserve(plim_hash_table *table) {
  plim_hash_table larger = *table;
  if (2 * (table->n + 1) <= table->n_slots) return PLIM_OK;
  larger.n_slots = table->n_slots > 0 ? 2 * table->n_slots : FIRST_SLOTS;
  PLIM_TRY(plim_allocate(table->ctx, larger.n_slots, sizeof *larger.slot, &larger.slot));
  for (int64_t i = 0; i < table->n_slots; i++) {
    if (table->slot[i].taken > 0) put_slot(&larger, table->slot[i]);
  }
  plim_hash_release(table);
  *table = larger;
  return PLIM_OK;
}

void plim_hash_add(plim_hash_table *table, uint64_t hash, int32_t id) {
  assert(2 * (table->n + 1) <= table->n_slots);
  put_slot(table, (plim_hash_slot){hash, id + 1});
  table->n++;
}

void plim_hash_clear(plim_hash_table *table) {
  if (table->n_slots > 0) memset(table->slot, 0, (size_t)table->n_slots * sizeof *table->slot);
  table->n = 0;
}

void plim_hash_release(plim_hash_table *table) {
  plim_release(table->ctx, table->slot, table->n_slots, sizeof *table->slot);
  *table = (plim_hash_table){.ctx = table->ctx};
}
