/* Addresses of the fake GPU. Each device has a range of its own that the host cannot touch: what is stored lies
 * elsewhere, between pages that no one may touch, and only the fake knows where. Addresses are never given twice. */
#ifndef PLIM_TESTS_SUPPORT_FAKE_MEMORY_H
#define PLIM_TESTS_SUPPORT_FAKE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_MEMORY_DEVICES = 4 };

/* Give back everything. */
void fake_memory_forget(void);

/* A block of a device, or of pinned host memory (device -1): its address, or NULL when there is no place for it. A
 * block of a device lies at a multiple of `alignment`, and of no larger power of two. */
void *fake_memory_alloc(int32_t device, int64_t bytes, int64_t alignment);
/* Its bytes, and the device through *device; -1 when no block begins there. */
int64_t fake_memory_release(void *address, int32_t *device);

/* Does the address lie in the range of any device, whether it was allocated or not? In pinned memory? */
int fake_memory_is_device(const void *address);
int fake_memory_is_pinned(const void *address);

/* Where bytes of a device are stored; NULL when they are not all in one block of it. bytes -1: at least one. */
void *fake_memory_stored(const void *address, int32_t device, int64_t bytes);
/* The device of the block that holds the address; -1: none. */
int32_t fake_memory_device_of(const void *address);

#endif
