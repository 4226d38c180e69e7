/* The program as a process: its standard streams, signals, waiting threads, refused memory, resident bytes. */
#include "tools/plimsoll/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/size.h"
#include "runtime/base/status.h"

/* ==== standard streams ==== */

/* Figures that a full disk or a closed stream has swallowed are an error, which only closing the stream can tell. */

enum { EXIT_IO = 5 };

static void close_output(void) {
  int failed_before = ferror(stdout);
  errno = 0;
  if (fclose(stdout) == 0 && !failed_before) return;
  (void)fprintf(stderr, "plimsoll: could not write to standard output%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
  _exit(EXIT_IO);
}

/* The lowest free descriptor is what open returns. Output goes to one that cannot be written: that will be noticed. */
void standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(EXIT_IO);
  }
  (void)signal(SIGXFSZ, SIG_IGN); /* beyond a limit of file sizes a write fails, and that has a sentence */
  (void)atexit(close_output);
}

/* Paths of the copies, empty: none was made. */
static char output_path[32], input_path[32];

const char *standard_output_apart(void) {
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return NULL;
  (void)snprintf(output_path, sizeof output_path, "/dev/fd/%d", fd);
  return output_path;
}

const char *standard_input_kept(void) {
  char buffer[1 << 16];
  FILE *kept = tmpfile();
  ssize_t n = 0;
  while (kept && (n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
    if (fwrite(buffer, 1, (size_t)n, kept) != (size_t)n) n = -1;
    if (n < 0) break;
  }
  if (!kept || n < 0 || fflush(kept) != 0) return NULL;
  (void)snprintf(input_path, sizeof input_path, "/proc/self/fd/%d", fileno(kept));
  return input_path;
}

void standard_sentence(const char *sentence, size_t bytes, char *text) {
  const char *const copy[][2] = {{output_path, "standard output"}, {input_path, "standard input"}};
  const char *name = "";
  for (size_t i = 0; i < sizeof copy / sizeof *copy; i++) {
    size_t n = strlen(copy[i][0]);
    if (n == 0 || strncmp(sentence, copy[i][0], n) != 0 || sentence[n] != ':') continue;
    name = copy[i][1];
    sentence += n;
    break;
  }
  (void)snprintf(text, bytes, "%s%s", name, sentence);
}

/* ==== signals ==== */

/* Signals to cancellation. One Ctrl-C may arrive more than once: `timeout`, for one, signals the program and then the
 * group that it is in. What comes that soon is the same signal. */

enum { EXIT_SIGNAL = 128 /* and the signal's number, as shells have it */ };
static const int64_t same_signal_ns = 100000000;
static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static plim_context *volatile watched;
static volatile sig_atomic_t at_once;
static volatile sig_atomic_t asked; /* number of the signal; 0: none has come */
static volatile int64_t asked_ns;   /* written before `asked` is set, not after */

/* Nothing but functions that a handler may call. */
static void end_at_once(int number) {
  static const char sentence[] = "\nplimsoll: stopped by a signal\n";
  ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);
  (void)written;
  _exit(EXIT_SIGNAL + number);
}

static void on_signal(int number) {
  if (at_once && !asked && !plim_file_is_writing()) end_at_once(number);
  if (asked && plim_now_ns() - asked_ns < same_signal_ns) return;
  if (asked || !watched) _exit(EXIT_SIGNAL + number);
  asked_ns = plim_now_ns();
  asked = number;
  plim_context_cancel(watched);
}

/* A program that was started to outlive its terminal (nohup) has SIGHUP ignored, and keeps that. */
static int is_ignored_hangup(int number) {
  struct sigaction now;
  return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void install(int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = watched ? on_signal : SIG_DFL;
  action.sa_flags = flags;
  for (int i = 0; i < NUMBERS; i++) {
    if (!is_ignored_hangup(numbers[i])) (void)sigaction(numbers[i], &action, NULL);
  }
}

void interrupt_watch(plim_context *ctx) {
  watched = ctx;
  at_once = 0;
  if (ctx) asked = 0;
  install(SA_RESTART);
}

void interrupt_at_once(int yes) {
  at_once = yes;
}

void interrupt_breaks_reads(int yes) {
  if (watched) install(yes ? 0 : SA_RESTART);
}

int interrupt_exit_status(void) {
  return EXIT_SIGNAL + (asked ? (int)asked : SIGINT);
}

/* ==== processor time ==== */

int64_t process_cpu_ns(void) {
  struct timespec used = {0};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (int64_t)used.tv_sec * 1000000000 + (int64_t)used.tv_nsec;
}

/* ==== threads that wait ==== */

/* libgomp's threads spin for milliseconds at the end of every parallel region. Beside other programs that turns time
 * slices into waiting (3 to 8 times slower, measured); sleeping at once costs a wake-up at each of hundreds of regions
 * a step (10 % slower on an idle machine). A few microseconds of spinning give the better of both.
 *
 * libgomp reads the environment when it is loaded, before main, and has no function for it: hence the restart. */

enum { PATH = 4096 };

/* By its own path rather than /proc/self/exe, which would become the name of the process. */
void spin_shortly(char **argv) {
  char path[PATH];
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || length == PATH - 1) return;
  path[length] = 0;
  if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) (void)execv(path, argv);
}

/* ==== refused memory ==== */

/* std::set_new_handler, by its name in the library of C++, which is there where a library in C++ is. */

static void tell(void) {
  static const char sentence[] = "plimsoll: out of memory: a library's allocation was refused\n";
  if (write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0) _exit(plim_status_exit(PLIM_ENOMEM));
  _exit(plim_status_exit(PLIM_ENOMEM));
}

void refused_memory_watch(void) {
  typedef void handler(void);
  handler *(*set_handler)(handler *);
  void *address = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
  memcpy(&set_handler, &address, sizeof set_handler); /* C has no conversion between the two kinds of pointers */
  if (address) (void)set_handler(tell);
}

/* ==== memory of JSON ==== */

/* Documents that are read have their memory elsewhere (runtime/base/json_memory.h): what is noticed here is output. */

static atomic_int refused;

static void *watched_malloc(size_t size) {
  void *block = malloc(size);
  if (!block) atomic_store(&refused, 1);
  return block;
}

void json_output_watch(void) {
  json_set_alloc_funcs(watched_malloc, free);
}

int json_output_end(int status) {
  if (status != 0 || !atomic_load(&refused)) return status;
  (void)fprintf(stderr, "plimsoll: out of memory while figures were written: what was printed is not complete\n");
  return plim_status_exit(PLIM_ENOMEM);
}

/* ==== resident bytes ==== */

/* Resident bytes from the kernel's count, split by what is known. */

static int64_t within(int64_t bytes, int64_t most) {
  return bytes < 0 ? 0 : bytes < most ? bytes : most;
}

/* What planning gave back is not among the parts: the process has its most bytes once the arenas are there. */
outside outside_split(int64_t total, int64_t dataset, plim_memory_use held) {
  outside o = {.total = total > 0 ? total : 0, .gpu = -1};
  o.dataset = within(dataset, o.total);
  o.documents = within(held.bytes - dataset, o.total - o.dataset);
  o.rest = o.total - o.dataset - o.documents;
  o.planning = within(held.bytes_peak - dataset, INT64_MAX);
  return o;
}

outside outside_measure(const plim_context *ctx, int64_t arena_bytes, int64_t dataset_bytes) {
  struct rusage usage;
  (void)getrusage(RUSAGE_SELF, &usage);
  return outside_split((int64_t)usage.ru_maxrss * 1024 - arena_bytes, dataset_bytes, plim_context_memory(ctx));
}

const char *outside_print(const outside *o, char *text) {
  char total[PLIM_SIZE_TEXT_BYTES], dataset[PLIM_SIZE_TEXT_BYTES], documents[PLIM_SIZE_TEXT_BYTES],
      rest[PLIM_SIZE_TEXT_BYTES], planning[PLIM_SIZE_TEXT_BYTES];
  (void)snprintf(
      text, OUTSIDE_TEXT_BYTES, "%s (data set %s, documents %s, program and libraries %s); planning held %s at most",
      plim_size_print(o->total, total), plim_size_print(o->dataset, dataset), plim_size_print(o->documents, documents),
      plim_size_print(o->rest, rest), plim_size_print(o->planning, planning));
  return text;
}
