/* tools/gpu_check, rehearsed: over the fake GPU (tests/support/fake_gpu.c) and on the CPU the script runs its parts,
 * bounds their time, and writes a report that can be read. The fake GPU computes nothing here (hollow), so that time is
 * no matter. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"

#define GPU "PLIM_TEST_GPU=hollow=1,dnn=1,blas=1,graph_bytes=4096"

/* In the place of programs, after a line that chooses what the command line asks for: $line is all of it. */
static const char shim[] = "#!/bin/sh\nline=\"$*\"\n%s\nexec \"$PLIMSOLL-fake-gpu\" \"$@\"\n";
/* What is computed is looked at by these. */
static const char probe[] =
    "#!/bin/sh\ncase $1 in large|devices|sums) export PLIM_TEST_GPU=blas=1,devices=2,"
    "memory_bytes=%s ;; esac\nexec $(dirname $PLIMSOLL)/gpu_probe \"$@\"\n";
static const char sanitizer[] =
    "#!/bin/sh\nwhile :; do case $1 in --error-exitcode|--tool|--target-processes) shift 2;; *) break;; esac; done\n"
    "exec \"$@\"\n";

static void write_program(const char *path, const char *text, const char *part) {
  FILE *file = fopen(plim_test_path(path), "w");
  cr_assert_not_null(file);
  (void)fprintf(file, text, part); /* NOLINT: two literals of this file */
  cr_assert_eq(fclose(file), 0);
}

static void setup(void) {
  (void)plim_test_folder();
  if (plim_test_shell("command -v python3")->status != 0) cr_skip_test("SKIP: there is no python3");
  (void)plim_test_shell(
      "mkdir -p bin; folder=$(dirname $PLIMSOLL); ln -sf $PLIMSOLL-fake-gpu bin/plimsoll; "
      "ln -sf $folder/test_on_device $folder/test_kernels_cuda bin/");
  write_program("bin/gpu_probe", probe, "67108864");
  (void)plim_test_shell("chmod +x bin/gpu_probe");
}
/* The script is the same under sanitizers, and its programs are slow there. */
static void release_only(void) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll bin out *.pid reached tools");
  plim_test_folder_remove();
}
TestSuite(gpu_check, .init = setup, .fini = teardown);

/* With programs of which bin/plimsoll is the command line over the fake GPU, and bin/compute-sanitizer runs what it is
 * given. The interpreter must not be one that has PyTorch. */
static const program_run *check(const char *environment, const char *arguments) {
  char line[1024];
  int length =
      snprintf(line, sizeof line, "unset BXFI_MAP; PATH=$PWD/bin:$PATH %s " PLIM_SOURCE_DIR "/tools/gpu_check %s",
               environment, arguments);
  cr_assert(length > 0 && length < (int)sizeof line);
  return plim_test_shell(line);
}

/* What the command line does where `part` of a shell's text says so. */
static void use_shim(const char *part) {
  (void)plim_test_shell("rm bin/plimsoll");
  write_program("bin/plimsoll", shim, part);
  cr_assert_eq(plim_test_shell("chmod +x bin/plimsoll")->status, 0);
}

static json_t *report(void) {
  json_error_t error;
  json_t *o = json_load_file(plim_test_path("out/gpu.json"), JSON_REJECT_DUPLICATES, &error);
  cr_assert_not_null(o, "line %d: %s", error.line, error.text);
  return o;
}

static const json_t *part_of(const json_t *o, const char *part) {
  const json_t *row = json_object_get(json_object_get(o, "parts"), part);
  cr_assert_not_null(row, "no part %s", part);
  return row;
}

static const char *text_of(const json_t *o, const char *part, const char *key) {
  const char *text = json_string_value(json_object_get(part_of(o, part), key));
  return text ? text : "";
}

static const json_t *goal(const json_t *report, const char *name) {
  size_t i;
  const json_t *row = NULL;
  json_array_foreach(json_object_get(report, "goals"), i, row) {
    if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) return row;
  }
  cr_assert_fail("no goal %s", name);
  return row;
}

/* A page has at most 60 lines of at most 120 columns. */
static const char *page(void) {
  const char *text = plim_test_shell("cat out/gpu.md")->out, *from = text;
  int lines = 0;
  for (const char *end; (end = strchr(from, '\n')) != NULL; from = end + 1) {
    cr_assert_leq(end - from, 120, "%.*s", (int)(end - from), from);
    lines++;
  }
  cr_assert(lines > 10 && lines <= 64, "%d lines:\n%s", lines, text);
  return text;
}

static void expect_on_page(const char *text, const char *words) {
  cr_expect_not_null(strstr(text, words), "\"%s\" is not in:\n%s", words, text);
}

/* Every figure but those of PyTorch, and those whose names begin so, was measured; each stands on the page beside
 * its goal. */
static void expect_figures(const json_t *o, const char *text, const char *but) {
  size_t i;
  const json_t *row;
  int measured = 0;
  json_array_foreach(json_object_get(o, "goals"), i, row) {
    const char *name = json_string_value(json_object_get(row, "name"));
    char line[256];
    if (strncmp(name, "resnet", 6) == 0 || strncmp(name, "torch", 5) == 0) continue;
    if (strncmp(name, but, strlen(but)) != 0) {
      cr_expect_not(json_is_null(json_object_get(row, "measured")), "%s was not measured", name);
    }
    (void)snprintf(line, sizeof line, "\n| %s | ", json_string_value(json_object_get(row, "goal")));
    expect_on_page(text, line);
    measured++;
  }
  cr_expect_eq(measured, 30);
  expect_on_page(text, "| runs of ten with options in pairs that end as they should | 10 | >= 10 |");
}

/* Without PyTorch there is none of its steps; without nvcc there are no CUDA kernels to compare. */
static int may_skip(const char *part) {
#ifndef PLIM_HAVE_CUDA
  if (strcmp(part, "kernels") == 0) return 1;
#endif
  return strncmp(part, "peer", 4) == 0 || strcmp(part, "torch") == 0;
}

static void expect_all_but(const json_t *o, const char *failed) {
  const char *name;
  json_t *part;
  json_object_foreach(json_object_get(o, "parts"), name, part) {
    const char *status = json_string_value(json_object_get(part, "status"));
    if (strstr(failed, name)) {
      cr_expect_str_eq(status, "failed", "%s: %s", name, status);
    } else {
      cr_expect(strcmp(status, "passed") == 0 || (may_skip(name) && strcmp(status, "SKIP") == 0), "%s: %s: %s", name,
                status, text_of(o, name, "reason"));
    }
  }
}

Test(gpu_check, a_quick_check_runs_the_most_important_parts) {
  release_only();
  (void)check(GPU, "--quick --seconds 600 --no-suite --python bin/none --bin bin --out out");
  plim_test_expect(0, "failed: none; no time for: none");
  json_t *o = report();
  cr_assert_eq(json_object_size(json_object_get(o, "parts")), 15);
  expect_all_but(o, "");
  expect_figures(o, page(), "layout_");
  cr_expect(json_is_true(json_object_get(o, "rehearsal")));
  json_decref(o);
  const program_run *run = plim_test_shell("cat out/gpu_runs.md; ls -A out");
  expect_on_page(run->out, "\n## verify\n");
  expect_on_page(run->out, "\n.gpu_check\ngpu.json\ngpu.md\ngpu_runs.md\n");
}

/* In three parts something fails: each is a row in the words of the library, the other parts run. */
Test(gpu_check, a_full_check_measures_every_figure_and_goes_on_after_what_fails) {
  release_only();
  write_program("bin/compute-sanitizer", sanitizer, "");
  (void)plim_test_shell("chmod +x bin/compute-sanitizer");
  use_shim(
      "case $line in\n"
      "profile*bf16*) export PLIM_TEST_GPU=hollow=1,dnn=1,illegal_engine=1 ;;\n"
      "*'--vram 64MiB'*) export PLIM_TEST_GPU=hollow=1,memory_bytes=6291456 ;;\n"
      "*--memory\\ 60%*--json*) export PLIM_TEST_GPU=hollow=1,fail_at=900 ;;\n"
      "esac");
  (void)check(GPU, "--small --seconds 900 --no-suite --python bin/none --bin bin --out out");
  plim_test_expect(1, "; no time for: none");
  json_t *o = report();
  cr_assert_eq(json_object_size(json_object_get(o, "parts")), 27);
  expect_all_but(o, "variants memory verify budgets ops");
  const char *text = page();
  expect_figures(o, text, "outside_growth");
  cr_expect_not_null(strstr(text_of(o, "peer20", "reason"), "bin/none is not there; --python names one"));
  expect_on_page(text, "- **variants**, Every variant of ResNet-20, bf16, exit status 5: plimsoll: ");
  expect_on_page(text, "(CUDA error 700)");
  expect_on_page(text, "- **memory**, ResNet-20 in 64MiB of the GPU, in total, exit status 4: ");
  expect_on_page(text, "are more than");
  expect_on_page(text, "- **verify**, Weights at 60% of the keep-all bytes, exit status 5: plimsoll: ");
  expect_on_page(text, "(CUDA error 999)");
  expect_on_page(text, "\n| budgets of six with the weights of keep-all, bit for bit | 5 | >= 6 |");
  cr_expect_eq(json_integer_value(json_object_get(goal(o, "verified"), "measured")), 5);
  json_decref(o);
}

/* Engines that fail are dropped with what they said. */
Test(gpu_check, variants_that_were_dropped_are_on_the_page) {
  release_only();
  (void)check("PLIM_TEST_GPU=hollow=1,dnn=1,refuse_run=1",
              "--quick --seconds 600 --bin bin --out out --only libraries,variants");
  plim_test_expect(0, "failed: none; no time for: none");
  json_t *o = report();
  cr_expect_gt(json_integer_value(json_object_get(goal(o, "dropped"), "measured")), 5);
  expect_on_page(page(), ": launching a kernel: cuDNN refused (cuDNN status 3008: engine 1");
  json_decref(o);
}

/* As a sandbox has it: the tool starts, and cannot look into the device. */
Test(gpu_check, a_sanitizer_that_does_not_support_the_device_is_skipped_and_fails_nothing) {
  release_only();
  write_program("bin/compute-sanitizer", "#!/bin/sh\necho '========= Error: Device not supported'\nexit %s\n", "255");
  (void)plim_test_shell("chmod +x bin/compute-sanitizer");
  (void)check(GPU, "--small --seconds 100 --bin bin --out out --only sanitizer");
  plim_test_expect(0, "failed: none; no time for: none");
  expect_on_page(page(), "compute-sanitizer says that it does not support this device");
}

/* Each family of kernels has a row for each layout and precision; one that no kernel of runs is told. */
Test(gpu_check, families_of_kernels_have_rows_and_one_that_never_runs_is_told) {
  release_only();
  (void)check("PLIM_TEST_GPU=hollow=1,dnn=1,blas=1,refuse_blas=1",
              "--small --seconds 100 --bin bin --out out --only families");
  plim_test_expect(1, "failed: families; no time for: none");
  json_t *o = report();
  const json_t *run = json_array_get(json_object_get(part_of(o, "families"), "runs"), 0);
  const json_t *cells = json_object_get(json_object_get(run, "figures"), "cells");
  cr_expect_eq(json_array_size(cells), 6);
  cr_expect_not_null(strstr(text_of(o, "families", "reason"), "im2col in nhwc, fp32: "), "%s",
                     text_of(o, "families", "reason"));
  cr_expect_not_null(strstr(text_of(o, "families", "reason"), "cublas in nhwc, bf16: "));
  expect_on_page(page(), "\n| convolutions run:won by family, flat | cudnn 42:42, cublas-flat 0:0, single-source 42:0");
  json_decref(o);
}

/* A python3 that says that it has PyTorch: it reads the arguments as bench_pytorch.py does, runs our command, and
 * writes figures of modes beside it; the last mode has failed. */
static const char peer_python[] =
    "#!/usr/bin/env python3\n"
    "import json, os, sys\n"
    "sys.dont_write_bytecode = True\n"
    "if sys.argv[1] == '-c': sys.exit(0)\n"
    "sys.path.insert(0, os.path.dirname(sys.argv[1]))\n"
    "sys.argv = sys.argv[1:]\n"
    "import bench_pytorch\n"
    "args = bench_pytorch.arguments()\n"
    "assert args.copies and args.seconds > 1 and args.modes[2] == 'compile-max'\n"
    "ours = bench_pytorch.run_ours(args.ours['plimsoll'], 60)\n"
    "speed = ours['images_per_second']\n"
    "modes = {'plimsoll': 1, 'compile-max': 2, 'compile-max+copies': 4, 'eager-nhwc': 5}\n"
    "results = {mode: {'images_per_second': speed / by} for mode, by in modes.items()}\n"
    "json.dump({'results': results}, open(args.out, 'w'))\n"
    "print('compile-max-any: not ready', file=sys.stderr)\n"
    "sys.exit(%s)\n";

static void check_beside_pytorch(const char *status) {
  release_only();
  write_program("bin/python", peer_python, status);
  (void)plim_test_shell("chmod +x bin/python");
  (void)check(GPU, "--bin bin --out out --python bin/python --only peer20 --seconds 100");
}

Test(gpu_check, figures_beside_pytorch_are_on_the_page_also_when_a_mode_has_failed) {
  check_beside_pytorch("1");
  plim_test_expect(1, "failed: peer20; no time for: none");
  const char *text = page();
  expect_on_page(text, " | 2 (>= 1.1) | 4 (>= 1.1) | - | - | 5 (>= 3.0) |\n");
  expect_on_page(text, "exit status 1: compile-max-any: not ready\n");
  expect_on_page(text, "Not measured beside PyTorch: resnet18 bf16, resnet50 bf16,");
  json_t *o = report();
  cr_expect(json_is_true(json_object_get(goal(o, "resnet20_bf16"), "met")));
  cr_expect(json_is_null(json_object_get(goal(o, "resnet20_bf16_any"), "measured")));
  json_decref(o);
}

Test(gpu_check, modes_of_pytorch_that_are_not_ready_in_time_are_no_failure) {
  check_beside_pytorch("3");
  plim_test_expect(0, "failed: none; no time for: peer20");
  json_t *o = report();
  cr_expect_str_eq(text_of(o, "peer20", "reason"), "resnet20, bf16: compile-max-any: not ready");
  cr_expect(json_is_true(json_object_get(goal(o, "resnet20_bf16"), "met")));
  json_decref(o);
}

/* A python3 that has PyTorch and plimsoll.torch: it writes rows as tools/python/bench does. */
static const char module_python[] =
    "#!/usr/bin/env python3\n"
    "import json, os, sys\n"
    "assert os.environ['PLIMSOLL_LIBRARY'] and os.path.isdir(os.environ['PYTHONPATH'] + '/plimsoll/torch')\n"
    "if sys.argv[1] == '-c': sys.exit(0)\n"
    "assert sys.argv[2:5] == ['eager', '--device', 'cuda']\n"
    "folder = sys.argv[sys.argv.index('--out') + 1]\n"
    "os.makedirs(folder)\n"
    "row = {'budget_bytes': 2000, 'planned_bytes': 1010, 'measured_bytes': 1000, 'bitwise': True}\n"
    "rows = [row, {**row, 'budget_bytes': 999}, {**row, 'bitwise': False}, {'budget_bytes': 5, 'refused': 'small'}]\n"
    "json.dump({'gpt': {'rows': rows}, 'resnet18': {'rows': [row]}}, open(folder + '/eager.json', 'w'))\n"
    "sys.exit(%s)\n";

Test(gpu_check, steps_of_pytorch_within_their_budgets_and_with_the_bits_are_counted) {
  write_program("bin/python", module_python, "1");
  (void)plim_test_shell("chmod +x bin/python");
  (void)check(GPU " PLIMSOLL_LIBRARY=/bin/sh", "--bin bin --out out --python bin/python --only torch --seconds 100");
  plim_test_expect(1, "failed: torch; no time for: none");
  const char *text = page();
  expect_on_page(text, " a peak within the budget and the bits of a step without one | 2 | >= 6 | **no** |");
  expect_on_page(text, " between the planned peak and that of its allocator, at most | 1 | <= 0.1 | **no** |");
}

/* ---- what is cut, killed, resumed ---- */

Test(gpu_check, a_command_that_does_not_end_is_cut_with_all_that_it_started) {
  release_only();
  use_shim("case $line in *--no-cuda-graph*) sleep 1000 & echo $! >sleeper.pid; echo waiting >&2; wait ;; esac");
  (void)check(GPU, "--quick --seconds 15 --bin bin --out out --only graph,libraries");
  plim_test_expect(1, "failed: graph; no time for: none");
  const char *text = page();
  expect_on_page(text, "- **graph**, Queued, cut after ");
  expect_on_page(text, " s: waiting\n");
  cr_expect_eq(plim_test_shell("grep -qs '^State:.[^Z]' /proc/$(cat sleeper.pid)/status")->status != 0, 1,
               "what it started runs on");
}

/* The check is started after the shell, and gets a signal as soon as the second budget is tried. */
static void interrupt(const char *number) {
  char line[1024];
  use_shim("case $line in *--memory\\ 75%*) [ -e reached ] || { touch reached; sleep 3; } ;; esac");
  (void)snprintf(line, sizeof line,
                 GPU " " PLIM_SOURCE_DIR
                     "/tools/gpu_check --quick --seconds 600 --bin bin --out out "
                     "--only graph,budgets,libraries & check=$!; while [ ! -e reached ]; do sleep 0.05; done; "
                     "kill -%s $check; wait $check",
                 number);
  (void)plim_test_shell(line);
}

static void expect_resumed(void) {
  const program_run *run =
      check(GPU, "--quick --seconds 600 --bin bin --out out --only graph,budgets,libraries --resume");
  plim_test_expect(0, "failed: none; no time for: none");
  cr_expect_null(strstr(run->error, "  graph "), "what had ended was run again: %s", run->error);
  cr_expect_not_null(strstr(run->error, "ResNet-20 at 100%"), "%s", run->error);
  json_t *o = report();
  cr_expect_eq(json_array_size(json_object_get(part_of(o, "graph"), "runs")), 2);
  cr_expect_eq(json_array_size(json_object_get(part_of(o, "budgets"), "runs")), 4);
  json_decref(o);
}

Test(gpu_check, a_check_that_was_killed_is_resumed_with_the_part_that_it_had_not_ended) {
  release_only();
  interrupt("KILL");
  expect_on_page(page(), "- passed: libraries ");
  expect_on_page(page(), "- not run yet: budgets\n");
  expect_resumed();
}

Test(gpu_check, a_check_that_is_interrupted_says_what_it_has_and_how_to_go_on) {
  release_only();
  interrupt("TERM");
  plim_test_expect(143, "interrupted; --resume goes on: out/gpu.md has what there is");
  expect_on_page(page(), "- not run yet: budgets\n");
  expect_resumed();
}

Test(gpu_check, what_failed_is_run_again_by_resume) {
  release_only();
  use_shim("case $line in *--no-cuda-graph*) export PLIM_TEST_GPU=no_driver=1 ;; esac");
  (void)check(GPU, "--quick --seconds 600 --bin bin --out out --only graph");
  plim_test_expect(1, "failed: graph");
  use_shim("");
  (void)check(GPU, "--quick --seconds 600 --bin bin --out out --only graph --resume");
  plim_test_expect(0, "failed: none");
  expect_on_page(page(), "## What failed\n\nNothing.\n");
}

Test(gpu_check, parts_that_find_no_time_say_so) {
  release_only();
  use_shim("case $line in *--model\\ resnet20*) sleep 3 ;; esac");
  (void)check(GPU, "--quick --bin bin --out out --only graph,budgets --seconds 5");
  json_t *o = report();
  cr_assert_str_eq(text_of(o, "budgets", "status"), "no time");
  json_decref(o);
  expect_on_page(page(), "- no time: ");
}

/* ---- other devices, bad input, help ---- */

Test(gpu_check, on_the_cpu_parts_of_a_gpu_are_skipped) {
  release_only();
  (void)check("", "--device cpu --bin bin --out out --only train,libraries,options,memory,ctest --seconds 600");
  plim_test_expect(0, "failed: none; no time for: none");
  json_t *o = report();
  cr_assert_eq(json_object_size(json_object_get(o, "parts")), 5);
  cr_assert_str_eq(text_of(o, "options", "status"), "passed", "%s", text_of(o, "options", "reason"));
  cr_assert_str_eq(text_of(o, "libraries", "status"), "passed");
  cr_assert_str_eq(text_of(o, "train", "status"), "passed");
  cr_assert_str_eq(text_of(o, "memory", "reason"), "for a GPU alone");
  cr_assert_str_eq(text_of(o, "ctest", "reason"), "no project was built here");
  json_decref(o);
  expect_on_page(page(), "- SKIP: memory 0 s: for a GPU alone\n");
}

/* Row of a table: environment, arguments, exit status, words of the one line. */
static const struct {
  const char *environment, *arguments;
  int status;
  const char *words;
} inputs[] = {
    {"", "--parts verify", 2, "--parts is no option"},
    {"", "--only", 2, "--only: expected one argument"},
    {"", "--only verify,verfy --bin bin", 2, "no part is called \"verfy\": libraries kernels"},
    {"", "--device gpu --bin bin", 2, "--device gpu is neither cpu nor cuda:N"},
    {"", "--seconds soon --bin bin", 2, "--seconds soon is not a whole number"},
    {"", "--device cpu --bin none --out out", 5, "none/plimsoll is not there"},
    {"", "--device cpu --bin bin --out /proc/none", 5, "the folder /proc/none cannot be made"},
    {"PLIM_TEST_GPU=no_driver=1", "--bin bin --out out", 5, "no GPU can be used: no driver"},
    {"PLIM_TEST_GPU=", "--device cuda:3 --bin bin --out out", 5, "there is no cuda:3"},
    {"PATH=/usr/bin:/bin", "--out out", 5, "nvcc (it is not on the PATH"},
};

Test(gpu_check, answers_bad_input_with_one_line) {
  int no_row = plim_test_shell("PATH=/usr/bin:/bin; command -v nvcc || ! command -v python3")->status == 0;
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    if (no_row && strstr(inputs[i].words, "nvcc")) continue;
    const program_run *run = check(inputs[i].environment, inputs[i].arguments);
    cr_expect_eq(run->status, inputs[i].status, "%s: exit status %d: %s", inputs[i].arguments, run->status, run->error);
    cr_expect_not_null(strstr(run->error, inputs[i].words), "%s: %s", inputs[i].arguments, run->error);
    const char *end = strchr(run->error, '\n');
    cr_expect(end && end[1] == 0, "%s: more than one line: %s", inputs[i].arguments, run->error);
  }
}

Test(gpu_check, lists_its_parts_which_take_at_most_480_seconds_and_90_of_a_quick_check) {
  const program_run *run = check("", "--help");
  int full = 0, quick = 0;
  cr_assert_eq(run->status, 0);
  expect_on_page(run->out, "\n  verify      30 (10)  weights at six budgets");
  expect_on_page(run->out, "It needs Linux on x86-64, an NVIDIA driver and Python 3.8");
  const char *sum = strstr(run->out, "\n  in all ");
  cr_assert(sum && sscanf(sum, " in all %d (%d)", &full, &quick) == 2, "%s", run->out);
  cr_assert(full > 400 && full <= 475 && quick > 60 && quick <= 87, "%d and %d seconds", full, quick);
}
