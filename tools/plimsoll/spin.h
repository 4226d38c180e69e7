/* How long threads without work spin before they sleep. */
#ifndef PLIM_TOOLS_SPIN_H
#define PLIM_TOOLS_SPIN_H

/* Start the program once more with a short spin, unless the user's environment says how threads wait. To be called
 * first in main: libgomp reads the environment before that. Goes on as it is where a restart is impossible. */
void spin_shortly(char **argv);

#endif
