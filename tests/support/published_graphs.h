/* Public instances: those in tests/data, and those that are not part of the project. */
#ifndef PLIM_TESTS_SUPPORT_PUBLISHED_GRAPHS_H
#define PLIM_TESTS_SUPPORT_PUBLISHED_GRAPHS_H

/* Path of a file, as "graphs/fcn8_train.json", in tests/data or in the folder that PLIM_DATA names. Without PLIM_DATA
 * the running test is skipped when tests/data does not have it; with PLIM_DATA it fails. A static text. */
const char *plim_test_published(const char *name);

#endif
