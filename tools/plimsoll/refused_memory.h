/* What libraries in C++ do when memory is refused to them: oneDNN throws through its C interface, which ends the
 * process with a signal. */
#ifndef PLIM_TOOLS_REFUSED_MEMORY_H
#define PLIM_TOOLS_REFUSED_MEMORY_H

/* From now on it ends with a sentence and the exit status of an allocation that fails. */
void refused_memory_watch(void);

#endif
