/* Shared helpers of the tests live in this folder; this file keeps the library from being empty. */
extern const int plim_test_anchor;
const int plim_test_anchor = 1;
