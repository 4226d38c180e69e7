/* The standard streams. */
#ifndef PLIM_TOOLS_PLIMSOLL_STDIO_INIT_H
#define PLIM_TOOLS_PLIMSOLL_STDIO_INIT_H

#include <stddef.h>

/* To be called first: a stream that the caller has closed is put in place, so that no file that is opened later is
 * mistaken for it; and when the program exits and not all that was printed could be written, it says so and ends with
 * exit status 5. */
void standard_streams(void);

/* A document is to be written to standard output: returns the path of a descriptor for it, and what is printed goes to
 * standard error from then on. NULL: no descriptor is left. */
const char *standard_output_apart(void);

/* What can be read more than once is a path of a copy of standard input, without a name; NULL: it could not be made. */
const char *standard_input_kept(void);

/* The sentence, into text [bytes]; where it begins with the path of one of these copies, with the stream's name. */
void standard_sentence(const char *sentence, size_t bytes, char *text);

#endif
