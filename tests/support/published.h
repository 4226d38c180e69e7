/* Public instances, which are not part of the project. */
#ifndef PLIM_TESTS_SUPPORT_PUBLISHED_H
#define PLIM_TESTS_SUPPORT_PUBLISHED_H

/* Path of a file, as "graphs/fcn8_train.json", in the folder PLIM_DATA or, without it, ../shared/data beside the
 * sources: the same from whatever folder tests are run. Skips the running test when it is not there. A static text. */
const char *plim_test_published(const char *name);

#endif
