/* kernels/cuda/library: where libraries are looked for, with one that every machine has, under another name. */
#define _GNU_SOURCE /* dladdr */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/folder.h"

#ifdef PLIM_HAVE_CUDA
#include "kernels/cuda/library.h"

typedef struct functions {
  const char *(*version)(void);
} functions;
static const plim_cuda_symbol symbols[] = {{"zlibVersion", offsetof(functions, version)}, {"no_such", 0}};
static const char *const files[] = {"libplim_no_such.so.9", "libplim_other.so", NULL};

static char why[200], real[512];
static const char *folder;

static void setup(void) {
  Dl_info info;
  void *zlib = dlopen("libz.so.1", RTLD_NOW);
  if (!zlib || !dladdr(dlsym(zlib, "zlibVersion"), &info)) cr_skip_test("there is no libz.so.1");
  cr_assert_not_null(realpath(info.dli_fname, real));
  folder = plim_test_folder();
  (void)unsetenv("PLIM_OTHER");
  (void)unsetenv("PLIM_CUDA_LIBS");
}
TestSuite(cuda_library, .init = setup, .fini = plim_test_folder_remove);

static void *open_with(int n_symbols, functions *f) {
  const plim_cuda_library spec = {"Other", "PLIM_OTHER", files, n_symbols, symbols};
  why[0] = 0;
  return plim_cuda_library_open(&spec, f, why, sizeof why);
}

static void expect_found(void) {
  functions f = {NULL};
  void *library = open_with(1, &f);
  cr_assert_not_null(library, "%s", why);
  cr_assert_not_null(f.version);
  cr_assert_eq(dlclose(library), 0);
}

Test(cuda_library, says_what_was_looked_for) {
  functions f;
  cr_assert_null(open_with(1, &f));
  cr_assert_str_eq(why,
                   "no Other: libplim_no_such.so.9 is neither on the loader's path nor in PLIM_CUDA_LIBS nor a "
                   "package of python3");
}

Test(cuda_library, a_variable_names_the_file_or_says_that_there_is_none) {
  functions f;
  (void)setenv("PLIM_OTHER", real, 1);
  expect_found();
  cr_assert_null(open_with(2, &f));
  cr_assert_str_eq(why, "no Other: the one that was found has no no_such");
  (void)setenv("PLIM_OTHER", "none", 1);
  cr_assert_null(open_with(1, &f));
  cr_assert_str_eq(why, "no Other: PLIM_OTHER is none");
}

Test(cuda_library, is_found_in_any_folder_of_the_list) {
  char list[1024];
  cr_assert_eq(symlink(real, plim_test_path("libplim_other.so")), 0);
  (void)snprintf(list, sizeof list, "/nowhere:%s", folder);
  (void)setenv("PLIM_CUDA_LIBS", list, 1);
  expect_found();
}

Test(cuda_library, relative_folders_of_the_list_are_ignored_and_that_is_said) {
  functions f;
  cr_assert_eq(symlink(real, plim_test_path("libplim_other.so")), 0);
  cr_assert_eq(chdir(folder), 0);
  (void)setenv("PLIM_CUDA_LIBS", "/nowhere:.:", 1);
  cr_assert_null(open_with(1, &f));
  cr_assert_not_null(strstr(why, "relative folders of PLIM_CUDA_LIBS are ignored"), "%s", why);
}

Test(cuda_library, is_found_among_the_packages_of_the_python3_on_the_path) {
  static const char *const folders[] = {"bin",
                                        "lib",
                                        "lib/python3.99",
                                        "lib/python3.99/site-packages",
                                        "lib/python3.99/site-packages/nvidia",
                                        "lib/python3.99/site-packages/nvidia/other",
                                        "lib/python3.99/site-packages/nvidia/other/lib"};
  char path[1024];
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    cr_assert_eq(mkdir(plim_test_path(folders[i]), 0777), 0);
  }
  (void)snprintf(path, sizeof path, "%s/libplim_other.so", folders[6]);
  cr_assert_eq(symlink(real, plim_test_path(path)), 0);
  cr_assert_eq(symlink("/bin/true", plim_test_path("bin/python3")), 0);
  (void)snprintf(path, sizeof path, "/nowhere:%s", plim_test_path("bin"));
  (void)setenv("PATH", path, 1);
  expect_found();
  (void)snprintf(path, sizeof path, "/bin/rm -r %s/bin %s/lib", folder, folder);
  cr_assert_eq(system(path), 0);
}
#else
Test(cuda_library, is_part_of_builds_with_cuda) {
  cr_skip_test("this build has no CUDA");
}
#endif
