/* The program as a process of the system. */
#ifndef PLIM_TOOLS_PLIMSOLL_PROCESS_H
#define PLIM_TOOLS_PLIMSOLL_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/context.h"

/* ==== standard streams ==== */

/* The standard streams. */

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

/* ==== signals ==== */

/* Ctrl-C, SIGTERM and SIGHUP: the first asks the running work to stop after its step, another, a tenth of a second
 * later or more, ends the program at once. */

/* From now on the signals cancel this context; NULL restores the former behaviour. SIGHUP stays ignored where it was.
 */
void interrupt_watch(plim_context *ctx);

/* 1: the work in hand keeps nothing, so the first signal ends the program at once, unless a file is being written; 0,
 * as at the begin: it cancels the context. */
void interrupt_at_once(int yes);

/* While a person is asked, a signal ends a read that waits; otherwise reads continue after it. */
void interrupt_breaks_reads(int yes);

/* Exit status of a program that was interrupted: 130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP. */
int interrupt_exit_status(void);

/* ==== processor time ==== */

/* What all threads of the process have used of processors, those that waited by spinning included; 0: unknown. */
int64_t process_cpu_ns(void);

/* ==== threads that wait ==== */

/* How long threads without work spin before they sleep. */

/* Start the program once more with a short spin, unless the user's environment says how threads wait. For commands that
 * compute, before they do anything. Continues as it is where a restart is impossible. */
void spin_shortly(char **argv);

/* ==== refused memory ==== */

/* What libraries in C++ do when memory is refused to them: oneDNN throws through its C interface, which ends the
 * process with a signal. */

/* From now on it ends with a sentence and the exit status of an allocation that fails. */
void refused_memory_watch(void);

/* ==== memory of JSON ==== */

/* Memory for the JSON that the program prints. jansson leaves a field out when an allocation is refused, and tells
 * no one who does not ask at each of them. */

/* From now on refusals are noticed; to be called before anything else of jansson's. */
void json_output_watch(void);

/* The exit status of a command that ended with `status`: that of PLIM_ENOMEM, with a sentence on stderr, when it ended
 * well and its output may lack something. */
int json_output_end(int status);

/* ==== resident bytes ==== */

/* What a run holds outside its arenas. */

typedef struct outside {
  int64_t total;         /* most resident bytes of the process, without the arenas: the sum of the next three */
  int64_t dataset;       /* images and labels */
  int64_t documents;     /* graphs, profiles, plans: what the memory hook holds now, without the data set */
  int64_t rest;          /* program, libraries, thread stacks */
  int64_t planning;      /* the most that the hook held, without the data set: mostly before the arenas were there */
  int64_t gpu, gpu_free; /* on the GPU: beside the arenas, and left; gpu -1: there is none */
  int64_t gpu_growth;    /* beside the arenas since the second run of each plan */
  int32_t gpu_others;    /* 1: what other programs hold there is among `gpu`, since no one can tell it apart */
} outside;

/* Split what is resident outside the arenas.
 *   held  in  by the memory hook, with the data set */
outside outside_split(int64_t total, int64_t dataset, plim_memory_use held);

/* Now, with `arena_bytes` of arenas that were all touched: the most that each had. */
outside outside_measure(const plim_context *ctx, int64_t arena_bytes, int64_t dataset_bytes);

enum { OUTSIDE_TEXT_BYTES = 240 };

/* "38.2 MiB (data set 30.0 MiB, documents 1.2 MiB, program and libraries 7.0 MiB); planning held 9.0 MiB at most" */
const char *outside_print(const outside *o, char *text);

#endif
