/* Figures that a full disk or a closed stream has swallowed are an error, which only closing the stream can tell. */
#include "tools/plimsoll/stdio_init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
