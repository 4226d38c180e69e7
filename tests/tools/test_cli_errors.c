/* tools/plimsoll: what bad input gets: one sentence with numbers, the right exit status, nothing half-written. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/child_program.h"
#include "tests/support/folder.h"
#include "tests/support/terminal.h"

static void setup(void) {
  (void)plim_test_folder();
}
static void teardown(void) {
  (void)plim_test_shell("rm -rf plimsoll data");
  plim_test_folder_remove();
}
TestSuite(cli_errors, .init = setup, .fini = teardown);

#define SMALL "--model mlp --data synthetic --image 8x8x1 --batch 32 --model-costs --iterations 3000 "
#define NETWORK "--model resnet20 --data synthetic --image 8x8x3 --batch 8 --model-costs --iterations 3000 "

/* Row of a table: arguments, exit status, words of the sentence. */
typedef struct bad_input {
  const char *arguments;
  int status;
  const char *words;
} bad_input;

static const bad_input inputs[] = {
    {"tarin", 2, "no command is called \"tarin\"; did you mean \"train\"?"},
    {"train --memroy 5MiB", 2, "train has no option --memroy; did you mean --memory?"},
    {"frobnicate", 2, "no command is called \"frobnicate\"; plimsoll --help lists them"},
    {"''", 2, "no command is called \"\""},
    {"help tarin", 2, "no command is called \"tarin\"; did you mean \"train\"?"},
    {"help train check", 2, "help takes one name: plimsoll help COMMAND"},
    {"completion tcsh", 2, "completion needs the name of a shell: bash, zsh or fish"},
    {"--versio", 2, "a command comes before --versio"},
    {"train --frobnicate", 2, "train has no option --frobnicate; plimsoll train --help lists them"},
    {"train -z", 2, "train has no option -z; plimsoll train --help lists them"},
    {"train --mem 5MiB", 2, "--mem is ambiguous: --memory or --memory-at"},
    {"train --batch", 2, "--batch needs a value: --batch N"},
    {"train --memory=", 2, "--memory was given an empty value; it needs SIZE"},
    {"train --steps ''", 2, "--steps was given an empty value; it needs N"},
    {"check ''", 2, "PLAN is empty"},
    {"train --json=yes", 2, "--json takes no value, but was given \"yes\""},
    {"train --help=yes", 2, "--help takes no value, but was given \"yes\""},
    {"plan --usage=x", 2, "--usage takes no value, but was given \"x\""},
    {"plan --time-limit 3d", 2, "--time-limit 3d is not a time from 0.001 to 1e+06 seconds"},
    {"train " SMALL "--planner foo", 2, "no planner is called \"foo\"; there are \"search\","},
    {"train " SMALL "--model foo", 2, "no model is called \"foo\"; there are \"mlp\""},
    {"plan --steps 4", 2, "plan has no option --steps; plimsoll train has it"},
    {"train --memory cpu=5MiB,disk=1GiB --page-file -", 2, "--page-file cannot be - or a device: what is paged out is"},
    {"train --memory cpu=0,host=1GiB", 2, "--memory cpu=0,host=1GiB: '0' is zero"},
    {"train --objective energy", 2, "--objective energy requires --platform: no power of this machine is known"},
    {"train --objective serial", 2, "--objective serial is of graphs: give time or energy"},
    {"train --deadline 2x", 2, "--deadline requires --objective energy: the fastest plan is made"},
    {"verify --platform p.json", 2, "--platform requires --objective energy"},
    {"train --batch 0", 2, "--batch 0 is not a whole number from 1 to 1048576"},
    {"train --batch 12x", 2, "--batch 12x"},
    {"train --rate nan", 2, "--rate nan"},
    {"train " SMALL "--model resnet2", 2, "no model is called \"resnet2\"; did you mean \"resnet20\"?"},
    {"train " SMALL "--planner serch", 2, "no planner is called \"serch\"; did you mean \"search\"?"},
    {"train " SMALL "--data fashion_mnist", 2, "did you mean \"fashion-mnist\"?"},
    {"train --model gpt --data text:none", 3, "none: No such file"},
    {"train --model gpt --data text:", 2, "data set \"text:\" names no file: text:FILE"},
    {"train --model gpt --data tokens: --vocab 9", 2, "data set \"tokens:\" names no file: tokens:FILE"},
    {"train --model gpt --data text:empty.txt", 3, "empty.txt is empty"},
    {"verify --model gpt --data text:short.txt", 3, "short.txt has 5 tokens"},
    {"train --model gpt --data tokens:empty.txt", 2, "requires --vocab"},
    {"train --model gpt --data tokens:short.txt --vocab 100", 3, "short.txt has 5 bytes, an odd number"},
    {"train --model gpt --context 8 --data tokens:words.txt --vocab 100", 3,
     "token 28535 at byte 0 is not below the vocabulary, 100 words"},
    {"train --model gpt --data tokens:words.txt --vocab 1", 2, "--vocab 1 is not a whole number from 2 to 65536"},
    {"plan --model gpt --data text:words.txt --vocab 100", 2, "--vocab 100 is for --data tokens:FILE"},
    {"train --model gpt --data synthetic", 2,
     "model gpt reads tokens, as text:FILE or tokens:FILE: synthetic is images"},
    {"train --model mlp --data text:empty.txt", 2, "model mlp reads images: text:empty.txt is text"},
    {"train --model gpt --data text:empty.txt --image 8x8x3", 2, "an image size does not apply to a text"},
    {"train " SMALL "--optimizer adamx", 2, "no optimizer is called \"adamx\"; did you mean \"adam\"?"},
    {"train " SMALL "--optimizer adam --momentum 1", 2, "--momentum 1: both betas of adam are below 1"},
    {"train " SMALL "--optimizer adamw --beta2 1", 2, "--beta2 1: both betas of adamw are below 1"},
    {"train " SMALL "--beta2 0.9", 2, "--beta2 is of adam and adamw, and does not apply to --optimizer sgd"},
    {"train " SMALL "--layers 3", 2, "--layers is of gpt, and does not apply to --model mlp"},
    {"train " SMALL "--save s --trace s", 2, "--save and --trace are one file, s: each needs a name of its own"},
    {"train " SMALL "--memory cpu=50%,host=0", 2, "--memory host=0: '0' is zero"},
    {"train " SMALL "--page-file p", 2, "--page-file requires a space disk"},
    {"train " SMALL "--plan p.json --recompute off", 2, "--plan and --recompute cannot be combined"},
    {"train " SMALL "--accumulate 0", 2, "--accumulate 0 is not a whole number from 1 to 1024"},
    {"train " SMALL "--accumulate 3", 2, "a batch of 32 cannot be split into 3 equal micro-batches; 2 or 4 can be"},
    {"train " SMALL "--accumulate 64", 2, "a batch of 32 cannot be split into 64 micro-batches; at most 32 are"},
    {"train " SMALL "--math bf61", 2, "no precision is called \"bf61\"; did you mean \"bf16\"?"},
    {"train " SMALL "--math tf32", 2,
     "precision tf32 is for GPUs of compute capability 8.0 and up: device cpu computes in fp32 or bf16"},
    {"train " SMALL "--layout nwhc", 2, "did you mean \"nhwc\"?"},
    {"train " SMALL "--addresses planed", 2, "did you mean \"planned\"?"},
    {"train " SMALL "--device cpv", 2, "cpv"},
    {"train " SMALL "--memory 12parsecs", 2, "12parsecs"},
    {"train " SMALL "--memory 0x10MiB", 2, "--memory: '0x10MiB' has no unit that is known"},
    {"train " SMALL "--memory 0MiB", 2, "--memory: '0MiB' is zero"},
    {"train " SMALL "--image 16384x16384x3", 2, "with sides of 1 to 9999 and 1 to 4 channels"},
    {"plan " SMALL "--memory 1KiB", 4, " does not fit into 1.0 KiB (1024 bytes): "},
    {"train " SMALL "--memory -5MiB", 2, "-5MiB"},
    {"train " SMALL "--image 32x32", 2, "--image 32x32 is not HEIGHTxWIDTHxCHANNELS"},
    {"train --data fashion-mnist --data-dir none", 3, "install the Debian package dataset-fashion-mnist"},
    {"train --data fashion-mnist --data-dir empty.txt", 3, "install the Debian package dataset-fashion-mnist"},
    {"plan --graph empty.txt/g.json", 3, "empty.txt/g.json: Not a directory"},
    {"plan --graph empty.txt", 3, "empty.txt: line 1: is empty"},
    {"trace summary empty.txt", 3, "empty.txt: is empty"},
    {"train --threads 1025", 2, "--threads 1025 is not a whole number from 1 to 1024"},
    {"train " SMALL "--device cuda:x", 2,
     "no device is called 'cuda:x'; there are cpu, cuda:0, cuda:1, ..., sim and check"},
    {"train " SMALL "--steps 4 --memory-at 1=", 2, "--memory-at 1=: '' does not begin with a number"},
    {"train --data cifar10 --data-dir none", 3, "data_batch_1.bin"},
    {"train --data cifar10", 3, "the binary version of CIFAR-10: --data-dir DIR"},
    {"train " SMALL "--device sim --model-costs --save x.ckpt", 2,
     "--save writes weights, and --device sim computes none"},
    {"train " SMALL "--memory cpu=50%,disk=1GiB --page-file x --save x", 2, "--save and --page-file are one file, x"},
    {"train " SMALL "--memory cpu=", 2, "no size follows cpu="},
    {"train " SMALL "--memory cpu=50%,", 2, "'' is no NAME=SIZE"},
    {"train " SMALL "--memory cpu=50%,cpu=60%", 2, "cpu is given twice"},
    {"train " SMALL "--memory cpu=50%,host=1MiB,host=2MiB", 2, "host is given twice"},
    {"train " SMALL "--batch 5000", 2, "a batch of 5000 images cannot be drawn from the 4096 of synthetic"},
    {"train " SMALL "--image 9999x9999x4 --batch 4096", 5,
     "synthetic data of 5120 images of 399920004 bytes: the machine"},
    {"train " SMALL "--plan none.json", 3, "none.json"},
    {"train " SMALL "--load none.ck --steps 1", 3, "none.ck"},
    {"train " SMALL "--save none/here.ck --steps 1", 5, "none/here.ck"},
    {"train " SMALL "--save none/here.ck --steps 1000000000", 5, "none/here.ck: the folder is not there"},
    {"train " SMALL "--trace none/t.jsonl --steps 1000000000", 5, "none/t.jsonl: the folder is not there"},
    {"plan " NETWORK "--time-limit 1000s -o none/p.json", 5, "none/p.json: the folder is not there"},
    {"plan " NETWORK "--time-limit 1000s -o /proc/p.json", 5, "/proc/p.json: its folder takes no new files"},
    {"plan " NETWORK "--time-limit 1000s --svg /", 5, "/: is a folder, not a file"},
    {"train " SMALL "--rate 1e9 --steps 50", 5, "the loss of step "},
    {"train " SMALL "--numerics fats", 3, "--numerics fats: there is no such file, and it is none of auto, fastest"},
    {"train " SMALL "--arithmetic none.json", 3, "none.json"},
    {"compare " SMALL, 2, "compare requires --memory SIZE"},
    {"check none.json", 3, "none.json"},
    {"check", 2, "PLAN is missing: plimsoll check PLAN"},
    {"check a b", 2, "one argument too many: b"},
};

Test(cli_errors, answers_bad_arguments_with_one_sentence_and_the_right_status) {
  (void)plim_test_shell(": >empty.txt; printf words >short.txt; yes words | head -c 600 >words.txt");
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const program_run *run = plim_test_program("%s", inputs[i].arguments);
    cr_assert_eq(run->status, inputs[i].status, "%s: exit status %d: %s", inputs[i].arguments, run->status, run->error);
    cr_assert_not_null(strstr(run->error, inputs[i].words), "%s: %s", inputs[i].arguments, run->error);
    cr_assert_str_empty(run->out, "%s printed %s", inputs[i].arguments, run->out);
    const char *end = strchr(run->error, '\n');
    cr_assert(end && end[1] == 0, "more than one line: %s", run->error);
  }
}

Test(cli_errors, leaves_no_file_after_when_it_fails) {
  (void)plim_test_program("plan " SMALL "--memory 1KiB -o plan.json --svg plan.svg");
  plim_test_expect(4, "does not fit into 1.0 KiB");
  (void)plim_test_program("train " SMALL "--rate 1e9 --steps 50 --save w.ck");
  plim_test_expect(5, "the loss of step");
  cr_assert_neq(plim_test_shell("ls plan.json plan.graph.json plan.svg w.ck w.ck.*")->status, 0);
  cr_assert_str_empty(plim_test_shell("ls -d *.ck* *.svg* plan* 2>/dev/null || true")->out);
}

Test(cli_errors, puts_the_failure_into_the_object_when_asked_for_json) {
  (void)plim_test_program("plan " SMALL "--memory 1KiB --json");
  plim_test_expect(4, "does not fit");
  json_t *o = plim_test_json();
  cr_assert_str_eq(json_string_value(json_object_get(o, "status")), "does not fit");
  cr_assert_eq(json_integer_value(json_object_get(o, "budget_bytes")), 1024);
  cr_assert_gt(json_integer_value(json_object_get(o, "smallest_bytes")), 1024);
  cr_assert_eq(json_integer_value(json_object_get(o, "largest_batch")), 0);
  json_decref(o);
}

Test(cli_errors, puts_a_wrong_option_into_an_object_when_asked_for_json) {
  static const char *const wrong[] = {"train --foo --json", "train --json --batch x", "plan -j --memory",
                                      "tarin --json"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const program_run *run = plim_test_program("%s", wrong[i]);
    cr_assert_eq(run->status, 2);
    json_t *o = plim_test_json();
    const char *sentence = json_string_value(json_object_get(o, "error"));
    cr_assert_str_eq(json_string_value(json_object_get(o, "status")), "usage");
    cr_assert(sentence && strstr(run->error, sentence), "%s", run->error);
    json_decref(o);
  }
}

/* In a row of its own: to a program it is one line, as all tests above show. */
Test(cli_errors, lists_the_parts_of_a_long_sentence_on_a_terminal) {
  plim_test_terminal_open("$PLIMSOLL plan " SMALL "--memory 1KiB", "vt100", 40, 160);
  int first = plim_test_terminal_expect("plimsoll: mlp with batch 32 does not fit into 1.0 KiB (1024 bytes): ");
  int second = plim_test_terminal_expect("  none exists below ");
  cr_assert_gt(second, first);
  cr_assert_eq(strncmp(plim_test_terminal_row(second), "  none exists below ", 20), 0);
  cr_assert_eq(plim_test_terminal_close(), 4);
}

Test(cli_errors, says_that_figures_could_not_be_written) {
  static const char *const commands[] = {"solvers >/dev/full", "solvers --json >/dev/full", "--help >/dev/full",
                                         "train --help >/dev/full", "solvers >&-"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    (void)plim_test_program("%s", commands[i]);
    plim_test_expect(5, "could not write to standard output");
  }
}

Test(cli_errors, keeps_its_files_apart_from_streams_that_are_closed) {
  (void)plim_test_program("gen chain --ops 100 -o g.json <&- >&- 2>&-");
  (void)plim_test_program("plan --graph g.json --iterations 10 -o p.json 2>&-");
  plim_test_expect(0, "");
  (void)plim_test_program("check p.json");
  plim_test_expect(0, "");
}

/* ---- data that is wrong ---- */

Test(cli_errors, names_the_image_file_that_is_truncated_or_corrupt) {
  static const char *const spoil[] = {
      "head -c 1000000 $FROM/train-images-idx3-ubyte.gz >data/train-images-idx3-ubyte.gz",
      "cp $FROM/train-labels-idx1-ubyte.gz data/train-images-idx3-ubyte.gz",
      "printf x >>data/train-images-idx3-ubyte.gz",
      "printf '\\111' | dd of=data/train-images-idx3-ubyte.gz bs=1 seek=500000 conv=notrunc 2>/dev/null",
  };
  const char *from = "/usr/share/datasets/fashion-mnist";
  char line[1024];
  if (plim_test_shell("test -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")->status != 0) {
    cr_skip_test("dataset-fashion-mnist is not installed");
  }
  for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
    (void)snprintf(line, sizeof line, "FROM=%s; rm -rf data; cp -r $FROM data; chmod -R u+w data; %s", from, spoil[i]);
    cr_assert_eq(plim_test_shell(line)->status, 0);
    (void)plim_test_program("train --data fashion-mnist --data-dir data --model mlp --model-costs --steps 1");
    plim_test_expect(3, "data/train-images-idx3-ubyte.gz: ");
  }
}

static void expect_plan_refusal(const char *spoil, int status, const char *words) {
  char line[1024];
  (void)snprintf(line, sizeof line,
                 "sed '%s' plan.json >bad.json; cp plan.graph.json bad.graph.json; ! cmp -s plan.json bad.json", spoil);
  cr_assert_eq(plim_test_shell(line)->status, 0, "%s changed nothing", spoil);
  (void)plim_test_program("check bad.json");
  plim_test_expect(status, words);
}

Test(cli_errors, tells_what_is_wrong_with_a_plan) {
  (void)plim_test_program("plan " NETWORK "--memory 90%% -o plan.json");
  plim_test_expect(0, "");
  expect_plan_refusal("s/\"version\": 1/\"version\": 3/", 3, "reads versions 1 to 2");
  expect_plan_refusal("s/\"version\": 1/\"version\": 2/", 3, "class: 'free' is not a name that is known here");
  expect_plan_refusal("s/\"peak_bytes\": /\"peak_bytes\": 1/", 1, "peak");
  expect_plan_refusal("s/\"run\": 7,/\"run\": 8,/", 3, "is none of op 8");
  expect_plan_refusal("s/\"lives\"/\"live\"/", 3, "live");
  expect_plan_refusal("40,$d", 3, "bad.json");
  (void)plim_test_shell("rm bad.graph.json; $PLIMSOLL check bad.json --graph bad.json");
  plim_test_expect(3, "bad.json");
  (void)plim_test_program("train " NETWORK "--batch 4 --plan plan.json --steps 1");
  plim_test_expect(3, "batch 4");
  (void)plim_test_program("plan " NETWORK "--threads 2 --memory 90%% -o two.json");
  plim_test_expect(0, "");
  (void)plim_test_program("train " NETWORK "--threads 1 --plan two.json --steps 1");
  plim_test_expect(3, "2 threads and this device has 1");
}

/* ---- budgets that are too small ---- */

static void expect_working_refusal(const char *what, const char *memory) {
  (void)plim_test_program("train %s --memory %s --steps 2 --json", what, memory);
  plim_test_expect(4, "the smallest budget for which a plan was found is");
  json_t *o = plim_test_json();
  json_int_t smallest = json_integer_value(json_object_get(o, "smallest_bytes"));
  json_int_t bound = json_integer_value(json_object_get(o, "bound_bytes"));
  json_int_t batch = json_integer_value(json_object_get(o, "largest_batch"));
  json_int_t budget = json_integer_value(json_object_get(o, "budget_bytes"));
  json_decref(o);
  cr_assert(budget < bound || budget < smallest);
  cr_assert_leq(bound, smallest);
  (void)plim_test_program("train %s --memory %lld --steps 2 --json", what, (long long)smallest);
  plim_test_expect(0, "");
  if (batch == 0) return;
  (void)plim_test_program("train %s --batch %lld --memory %lld --steps 2", what, (long long)batch, (long long)budget);
  plim_test_expect(0, "");
}

/* Enough for each op alone and too little for any plan that was found: the buffers that are in the way have names. */
Test(cli_errors, refuses_with_the_buffers_that_cannot_lie_together_whatever_was_asked_for) {
  static const char *const ways[] = {"plan", "train", "verify", "compare"};
  (void)plim_test_program("plan " SMALL "--memory 1KiB --json");
  plim_test_expect(4, "does not fit");
  json_t *o = plim_test_json();
  long long budget = json_integer_value(json_object_get(o, "bound_bytes"));
  json_decref(o);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    (void)plim_test_program("%s " SMALL "--memory %lld", ways[i], budget);
    plim_test_expect(4, " cannot lie together within the budget, at op '");
    plim_test_expect(4, "; give more bytes");
  }
}

Test(cli_errors, refuses_with_a_budget_and_a_batch_that_work) {
#ifdef PLIM_SANITIZED
  cr_skip_test("long under sanitizers; the release build runs it");
#endif
  expect_working_refusal(SMALL "--iterations 20000", "20%");
  expect_working_refusal("--model mlp --data synthetic --image 4x4x1 --batch 3000 --model-costs", "8MiB");
#ifndef PLIM_SANITIZED /* half a minute of planning */
  expect_working_refusal("--model resnet20 --data synthetic --image 8x8x3 --batch 24 --model-costs --iterations 20000",
                         "2300KiB");
#endif
}
