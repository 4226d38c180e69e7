/* The stepper on a terminal: what it draws, what its keys do, sizes, and terminals that cannot be drawn on. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/terminal.h"

static void setup(void) {
  (void)plim_test_folder();
  (void)plim_test_fixture(
      "train --model resnet20 --data synthetic --image 16x16x3 --batch 16 --model-costs --online coop --memory 42% "
      "--arithmetic small --steps 4 --trace o.jsonl");
  plim_test_expect(0, "");
#ifndef PLIM_HAVE_CURSES
  cr_skip_test("built without ncurses");
#endif
}

static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll");
  plim_test_folder_remove();
}
TestSuite(trace_screen, .init = setup, .fini = teardown);

static void open_screen(const char *arguments, int rows, int columns) {
  char command[256];
  (void)snprintf(command, sizeof command, "$PLIMSOLL trace step %s", arguments);
  plim_test_terminal_open(command, "vt100", rows, columns);
}

static void quit(void) {
  plim_test_terminal_keys("q");
  cr_assert_eq(plim_test_terminal_close(), 0);
}

Test(trace_screen, a_step_fills_80_by_24_with_strip_residents_reasons_and_keys) {
  open_screen("o.jsonl", 24, 80);
  cr_assert_eq(plim_test_terminal_expect("resnet20, by online coop, budget "), 0);
  cr_assert_eq(plim_test_terminal_expect(" command 0 of "), 0);
  cr_assert_eq(plim_test_terminal_expect("q quit"), 23);
  cr_assert_eq(plim_test_terminal_expect("p param s state"), 5);
  plim_test_terminal_keys("d");
  plim_test_terminal_expect("needs room for");
  plim_test_terminal_expect("taken: addresses");
  cr_assert(strpbrk(plim_test_terminal_row(4), "[="), "no window below the strip: %s", plim_test_terminal_row(4));
  cr_assert_not_null(strchr(plim_test_terminal_row(3), 'A'), "no operand in the strip: %s", plim_test_terminal_row(3));
  plim_test_terminal_expect("resident by address");
  quit();
}

Test(trace_screen, keys_step_jump_search_and_explain_themselves) {
  open_screen("o.jsonl", 40, 120);
  plim_test_terminal_keys("nn");
  plim_test_terminal_expect(" command 2 of ");
  plim_test_terminal_keys("p");
  plim_test_terminal_expect(" command 1 of ");
  plim_test_terminal_keys("g57\r");
  plim_test_terminal_expect(" command 57 of ");
  plim_test_terminal_keys("g99999\r");
  plim_test_terminal_expect("there is no such command: they are 0 to ");
  plim_test_terminal_keys("r");
  plim_test_terminal_expect(", again, ");
  plim_test_terminal_keys("/stem.bn\r");
  plim_test_terminal_expect("stem.bn: activation");
  plim_test_terminal_keys("/stem.b\r");
  plim_test_terminal_expect("did you mean \"stem.bn\"?");
  plim_test_terminal_keys("?");
  plim_test_terminal_expect("go to a command by its number");
  plim_test_terminal_keys("f");
  plim_test_terminal_expect("none was given");
  plim_test_terminal_keys("wcoop 110%\r");
  plim_test_terminal_expect("it would have");
  plim_test_terminal_keys("o");
  plim_test_terminal_expect("there is no request without room");
  quit();
}

Test(trace_screen, what_is_below_the_list_is_counted_and_words_stay_whole) {
  open_screen("o.jsonl", 12, 96);
  plim_test_terminal_keys("g57\r");
  plim_test_terminal_expect(" command 57 of ");
  int row = plim_test_terminal_expect("resident by address, ");
  cr_assert_not_null(strstr(plim_test_terminal_row(row), " more; use"), "%s", plim_test_terminal_row(row));
  plim_test_terminal_resize(60, 96);
  plim_test_terminal_expect("resident by address; next use");
  plim_test_terminal_keys("/stage1.block1.bn2\r");
  plim_test_terminal_expect("stage1.block2.conv1.bwd_weights");
  quit();
}

Test(trace_screen, the_first_other_step_of_another_run_is_a_key_away) {
  (void)plim_test_shell(
      "$PLIMSOLL plan --model resnet20 --data synthetic --image 16x16x3 --batch 16 --model-costs --arithmetic small "
      "--planner keep-all -o k.json >k.txt; printf 'f\\n' | $PLIMSOLL trace "
      "step o.jsonl --with k.json | grep '^command' | tail -1 | cut -d ' ' -f 2 >s.txt; test $(cat s.txt) -gt 0 && "
      "$PLIMSOLL trace diff o.jsonl --with k.json 2>differ.txt | grep -q \"first difference at command $(cat "
      "s.txt):\"");
  plim_test_expect(0, "");
  open_screen("o.jsonl --with k.json", 24, 80);
  plim_test_terminal_keys("f");
  plim_test_terminal_expect("the other run has ");
  quit();
}

Test(trace_screen, the_map_has_a_cursor_that_names_what_lies_there) {
  open_screen("o.jsonl", 24, 80);
  plim_test_terminal_keys("dm");
  plim_test_terminal_expect("addresses upwards over commands");
  for (int row = 0; row < 14; row++) plim_test_terminal_keys("\033OB");
  plim_test_terminal_expect(", commands 0 to ");
  plim_test_terminal_keys("\r");
  plim_test_terminal_expect("history");
  quit();
}

Test(trace_screen, answers_are_seen_in_the_map_too) {
  open_screen("o.jsonl", 24, 80);
  plim_test_terminal_keys("dm");
  plim_test_terminal_expect("addresses upwards over commands");
  plim_test_terminal_keys("/no-such-value\r");
  plim_test_terminal_expect("no tensor is called \"no-such-value\"");
  plim_test_terminal_keys("f");
  plim_test_terminal_expect("none was given");
  plim_test_terminal_keys("y");
  plim_test_terminal_expect("needs room for");
  plim_test_terminal_keys("ma");
  plim_test_terminal_expect("absent, and recomputed");
  plim_test_terminal_keys("mwcoop 110%\r");
  plim_test_terminal_expect("it would have");
  plim_test_terminal_keys("m/stem.bn\r");
  plim_test_terminal_expect("stem.bn: activation");
  quit();
}

Test(trace_screen, knows_the_commands_of_lines_and_q_leaves_help_alone) {
  open_screen("o.jsonl", 24, 120);
  plim_test_terminal_keys("vbn\r");
  plim_test_terminal_expect("names have it: ");
  plim_test_terminal_keys("s");
  plim_test_terminal_expect("costliest repeats");
  plim_test_terminal_keys("?");
  plim_test_terminal_expect("go to a command by its number");
  plim_test_terminal_keys("q");
  plim_test_terminal_expect(" command 0 of ");
  plim_test_terminal_keys("l");
  plim_test_terminal_expect("resident by address");
  quit();
}

Test(trace_screen, names_that_are_cut_have_an_ellipsis_and_small_terminals_say_what_they_lack) {
  open_screen("o.jsonl", 24, 60);
  plim_test_terminal_keys("g57\r");
  plim_test_terminal_expect(" command 57 of ");
  plim_test_terminal_expect(" ...");
  plim_test_terminal_resize(5, 24);
  plim_test_terminal_expect("too small: 30x10");
  plim_test_terminal_expect("... command 57 of");
  plim_test_terminal_resize(24, 80);
  plim_test_terminal_expect("resident by address");
  quit();
}

Test(trace_screen, another_size_is_drawn_anew_however_small) {
  open_screen("o.jsonl", 24, 80);
  plim_test_terminal_expect("q quit");
  plim_test_terminal_resize(50, 150);
  cr_assert_eq(plim_test_terminal_expect("q quit"), 49);
  plim_test_terminal_resize(4, 20);
  plim_test_terminal_expect("n p command");
  plim_test_terminal_keys("dmm\tz");
  plim_test_terminal_resize(24, 80);
  plim_test_terminal_expect("needs room for");
  quit();
}

Test(trace_screen, a_narrow_terminal_has_one_pane_at_a_time) {
  open_screen("o.jsonl", 24, 40);
  plim_test_terminal_expect("resident by address");
  plim_test_terminal_keys("d\t");
  plim_test_terminal_expect("needs room for");
  plim_test_terminal_keys("\t");
  plim_test_terminal_expect("resident by address");
  plim_test_terminal_keys("/stem.bn\r");
  plim_test_terminal_expect("stem.bn: activation");
  quit();
}

Test(trace_screen, plain_and_unknown_terminals_get_lines) {
  open_screen("o.jsonl --plain", 24, 80);
  plim_test_terminal_expect("command 0>");
  plim_test_terminal_keys("q\n");
  cr_assert_eq(plim_test_terminal_close(), 0);
  plim_test_terminal_open("$PLIMSOLL trace step o.jsonl", "no-such-terminal", 24, 80);
  plim_test_terminal_expect("command 0>");
  plim_test_terminal_keys("q\n");
  cr_assert_eq(plim_test_terminal_close(), 0);
  plim_test_terminal_open("$PLIMSOLL trace step o.jsonl", "dumb", 24, 80);
  plim_test_terminal_expect("command 0>");
  plim_test_terminal_keys("q\n");
  cr_assert_eq(plim_test_terminal_close(), 0);
}

Test(trace_screen, sigterm_ends_the_program_on_a_screen_and_in_lines) {
  plim_test_terminal_open("(sleep 1; kill -TERM $$) & exec $PLIMSOLL trace step o.jsonl", "vt100", 24, 80);
  plim_test_terminal_expect("q quit");
  cr_assert_eq(plim_test_terminal_close(), 143);
  plim_test_terminal_open("(sleep 1; kill -TERM $$) & exec $PLIMSOLL trace step o.jsonl --plain", "vt100", 24, 80);
  plim_test_terminal_expect("command 0>");
  cr_assert_eq(plim_test_terminal_close(), 143);
  (void)plim_test_shell("sleep 5 | timeout -s TERM 1 $PLIMSOLL trace step o.jsonl --plain; exit $?");
  plim_test_expect(124, ""); /* timeout's own: it had to signal, and once was enough */
}

/* The shell waits for a line before it continues, so that what is drawn after it can be told from what was there. */
Test(trace_screen, control_z_stops_the_program_and_fg_goes_on) {
  plim_test_terminal_open(
      "set -m; $PLIMSOLL trace step o.jsonl; echo stopped here; read line; fg >/dev/null; echo ended $?", "vt100", 24,
      80);
  plim_test_terminal_expect("q quit");
  plim_test_terminal_keys("\032");
  plim_test_terminal_expect("stopped here");
  plim_test_terminal_resize(24, 80); /* the same size: nothing but a blank picture */
  plim_test_terminal_keys("\n");
  plim_test_terminal_expect("q quit");
  plim_test_terminal_keys("q");
  plim_test_terminal_expect("ended 0");
  cr_assert_eq(plim_test_terminal_close(), 0);
}

Test(trace_screen, control_c_ends_the_program) {
  plim_test_terminal_open("$PLIMSOLL trace step o.jsonl", "vt100", 24, 80);
  plim_test_terminal_expect("q quit");
  plim_test_terminal_keys("\003");
  cr_assert_eq(plim_test_terminal_close(), 130);
}
