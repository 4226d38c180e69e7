/* How long threads without work spin before they sleep. */
#ifndef PLIM_TOOLS_OMP_WAIT_H
#define PLIM_TOOLS_OMP_WAIT_H

/* Start the program once more with a short spin, unless the user's environment says how threads wait. For commands that
 * compute, before they do anything. Continues as it is where a restart is impossible. */
void spin_shortly(char **argv);

#endif
