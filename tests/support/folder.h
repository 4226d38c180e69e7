/* A folder of a test's own, removed with everything in it. */
#ifndef PLIM_TESTS_SUPPORT_FOLDER_H
#define PLIM_TESTS_SUPPORT_FOLDER_H

/* Makes a new empty folder and returns its path, a static text. */
const char *plim_test_folder(void);
/* Path of a file in the folder; the text is valid until the next but three calls. */
const char *plim_test_path(const char *name);
int plim_test_folder_count(void); /* entries in it */
void plim_test_folder_remove(void);

#endif
