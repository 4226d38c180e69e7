/* Numbers for people; sizes: plim_size_print. */
#ifndef PLIM_TOOLS_PLIMSOLL_FORMAT_H
#define PLIM_TOOLS_PLIMSOLL_FORMAT_H

#include <stdint.h>

enum { HUMAN_BYTES = 64 };

/* Each writes to text [HUMAN_BYTES] and returns it. */
const char *human_count(int64_t count, char *text);                   /* "60,000" */
const char *human_bytes(int64_t bytes, char *text);                   /* "64.0 MiB (67108864 bytes)", "512 B" */
const char *human_items(int64_t count, const char *noun, char *text); /* "1 step", "12,000 steps" */
const char *human_seconds(double seconds, char *text);                /* "4:05", "1:02:03" */

#endif
