/* planner/pack/csv.c: golden text, every column, a sentence with the line for every wrong row. */
#include "planner/pack/buffers_csv.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/documents.h"

static const char *const full =
    "id,lower,upper,size,alignment,hint,gaps,offset\n"
    "b1,0,30,40,1,-1,3-9 12-14@8:16,-1\n"
    "second life,3,9,4,2,8,,8\n"
    "b3,-5,9,0,1,-1,,-1\n";

static plim_status parse(plim_context *ctx, const char *text, int64_t bytes, plim_text *again) {
  plim_buffer_list *buffers = NULL;
  plim_status status = plim_buffer_list_parse(ctx, "doc.json", text, bytes, &buffers);
  if (again && buffers) plim_buffer_list_write(again, buffers, NULL);
  plim_buffer_list_free(buffers);
  return status;
}

Test(buffers_csv, what_was_written_is_read_and_written_again_byte_for_byte) {
  plim_test_canonical(parse, full);
  plim_test_canonical(parse, "id,lower,upper,size\n");
  plim_test_canonical(parse, "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n");
}

Test(buffers_csv, refused_allocation_leaves_nothing_after) {
  plim_test_allocations(parse, full);
}

Test(buffers_csv, changed_byte_never_does_harm) {
  plim_test_bytes(parse, full);
}

Test(buffers_csv, file_cut_at_any_byte_is_refused_or_read_as_what_is_left) {
  plim_context *ctx;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  int accepted = 0;
  for (size_t cut = 0; cut < strlen(full); cut++) {
    char *text = malloc(cut > 0 ? cut : 1); /* exactly as long, so that the address sanitizer sees a read too far */
    cr_assert_not_null(text);
    memcpy(text, full, cut);
    plim_text once = {ctx, NULL, 0, 0, PLIM_OK}, twice = once;
    if (parse(ctx, text, (int64_t)cut, &once) == PLIM_OK) {
      accepted++;
      cr_assert_eq(parse(ctx, once.chars, once.length, &twice), PLIM_OK);
      cr_assert_str_eq(once.chars, twice.chars);
    }
    free(text);
    plim_text_free(&once);
    plim_text_free(&twice);
  }
  cr_assert(accepted > 3 && accepted < 40, "%d", accepted);
  plim_context_free(ctx);
}

Test(buffers_csv, every_wrong_line_is_named) {
  static const plim_test_fault faults[] = {
      {"id,lower", "jd,lower", "line 1: column \"id\" is missing"},
      {"hint", "begin", "line 1: column \"begin\" stands here for the second time"},
      {"b1,0,30", "b1,0,x", "line 2: upper \"x\" is not a whole number"},
      {"b1,0,30", "b1,0,", "line 2: upper \"\" is not a whole number"},
      {"b1,0,30", "b1, 0,30", "line 2: lower \" 0\" is not a whole number"},
      {"b1,0,30", "b1,0,99999999999999999999", "is not a whole number of 63 bits"},
      {"b1,0,30", "b1,0,9223372036854775807", "line 2: upper \"9223372036854775807\" is too large"},
      {"b1,0,30", "b1,30,30", "line 2: upper \"30\" is not after lower"},
      {",40,1,-1", ",-40,1,-1", "line 2: size \"-40\" is too small"},
      {",40,1,-1", ",4611686018427387904,1,-1", "makes the sum of all sizes and alignments reach 2^62"},
      {",40,1,-1", ",40,4611686018427387904,-1", "line 2: size \"40\" makes the sum of all sizes and alignments"},
      {",40,1,-1", ",40,0,-1", "line 2: alignment \"0\" is too small"},
      {",40,1,-1", ",40,1,-2", "line 2: hint \"-2\" is too small"},
      {"3-9 ", "3-3 ", "line 2: gap \"3-3\" is empty"},
      {"3-9 ", "3-13 ", "line 2: gap \"12-14@8:16\" is empty, outside its buffer, or begins before"},
      {"3-9 ", "3-31 ", "line 2: gap \"3-31\""},
      {"3-9 ", "3 ", "line 2: gap \"3\" is not LO-HI"},
      {"8:16", "8:8", "line 2: gap \"12-14@8:8\" is not LO-HI"},
      {"8:16", "8:41", "is not LO-HI or LO-HI@LOW:HIGH with LOW < HIGH within the size"},
      {",8,,8", ",8,,7", "line 3: offset \"7\" is no multiple of the alignment"},
      {",8,,8", ",8,8", "line 3: 7 fields, the header has 8"},
      {"second life", "", "line 3: id \"\" is empty"},
      {"second life", "b\tc", "has a control character"},
      {"b3,-5", "b1,-5", "line 4: id \"b1\" is that of line 2"},
      {"b3,-5,9,0,1,-1,,-1", "b3,-5,9,5,1,-1,,11", "lines 3 and 4: \"second life\" at 8 and \"b3\" at 11 overlap"},
  };
  plim_test_faults(parse, full, faults, sizeof faults / sizeof *faults);
}

/* What a text is read as, written again. */
static void expect(const char *text, const char *as) {
  plim_context *ctx;
  cr_assert_eq(plim_context_new(NULL, NULL, &ctx), PLIM_OK);
  plim_text again = {ctx, NULL, 0, 0, PLIM_OK};
  cr_assert_eq(parse(ctx, text, (int64_t)strlen(text), &again), PLIM_OK, "%s", plim_context_error(ctx));
  cr_assert_str_eq(again.chars, as);
  plim_text_free(&again);
  plim_context_free(ctx);
}

Test(buffers_csv, reads_synonyms_other_orders_and_columns_and_line_ends) {
  expect("size,note,begin,buffer_id,upper\r\n4,x y,0,b1,3\r\n", "id,lower,upper,size\nb1,0,3,4\n");
  expect("buffer,start,upper,size\nb1,0,3,4\n\nb2,0,3,4\n", "id,lower,upper,size\nb1,0,3,4\n");
  expect("buffer,start,upper,size\nb1,0,3,4\n\r\nnonsense", "id,lower,upper,size\nb1,0,3,4\n");
}

Test(buffers_csv, the_column_called_end_holds_last_steps_of_gaps_too) {
  expect("id,lower,end,size,gaps\nb1,0,8,4,2-3\n", "id,lower,upper,size,gaps\nb1,0,9,4,2-4\n");
}
