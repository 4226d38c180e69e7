/* How long threads without work spin before they sleep. */
#ifndef PLIM_TOOLS_SPIN_H
#define PLIM_TOOLS_SPIN_H

/* Start the program once more with a short spin, unless the user's environment says how threads wait. For commands that
 * compute, before they do anything. Goes on as it is where a restart is impossible. */
void spin_shortly(char **argv);

#endif
