/* Command lines by table: a row names the option, where its value goes, and which commands have it. Parser, help, man
 * page and shell completion are made from these rows. */
#include <string.h>

#include "planner/planner.h"
#include "planner/spaces/space_make.h"
#include "runtime/arena/policy.h"
#include "runtime/data/dataset.h"
#include "runtime/device/threads.h"
#include "runtime/import/generate.h"
#include "runtime/import/import.h"
#include "runtime/net/net.h"
#include "tools/plimsoll/commands.h"

enum { RUNS = COMMAND_TRAIN | COMMAND_COMPARE | COMMAND_VERIFY };
enum { BUILDS = RUNS | COMMAND_PROFILE | COMMAND_PLAN };
enum { PLANS = RUNS | COMMAND_PLAN | COMMAND_SIMULATE };
enum {
  ALL = BUILDS | COMMAND_CHECK | COMMAND_PACK | COMMAND_IMPORT | COMMAND_GEN | COMMAND_SIMULATE | COMMAND_SOLVERS |
        COMMAND_BENCH | COMMAND_TRACE
};

static const char *const group_title[GROUP_COUNT] = {
    [GROUP_MODEL] = "Model:",
    [GROUP_DATA] = "Data:",
    [GROUP_MEMORY] = "Memory and plan:",
    [GROUP_NUMERICS] = "Numerics and device:",
    [GROUP_RUN] = "Training:",
    [GROUP_FILES] = "Files:",
    [GROUP_PRINT] = "Output:",
};

#define AT(field) offsetof(options, field)
/* Name, what its value is called (NULL: it takes none), text of the help, commands, group of the help, letter, kind,
 * field, least and most of a number. A name may have several rows, each for other commands. */
static const option_row rows[] = {
    {"model", "NAME",
     "mlp, resnet18, resnet34, resnet20, resnet32, resnet56, vgg16, densenet121, mobilenet, unet, for small images "
     "tinyres, for large ones resnet50, for text gpt (default resnet20)",
     BUILDS, GROUP_MODEL, 'm', TEXT, AT(model), 0, 0},
    {"layers", "N", "blocks of gpt (default 6)", BUILDS, GROUP_MODEL, 0, COUNT, AT(layers), 1, 10000},
    {"width", "N", "gpt: numbers that it has for a token (default 384)", BUILDS, GROUP_MODEL, 0, COUNT, AT(model_width),
     1, 65536},
    {"heads", "N", "of gpt's attention; they divide the width (default 6)", BUILDS, GROUP_MODEL, 0, COUNT, AT(heads), 1,
     65536},
    {"context", "N", "tokens of a sequence (default 256)", BUILDS, GROUP_MODEL, 0, COUNT, AT(context), 1, 1 << 22},
    {"vocab", "N", "tokens:FILE: its tokens are below N", BUILDS, GROUP_DATA, 0, COUNT, AT(vocab), 2, 65536},
    {"batch", "N", "images, or sequences of a text, a step (default 128)", BUILDS, GROUP_MODEL, 'b', COUNT, AT(batch),
     1, 1 << 20},
    {"image", "HxWxC",
     "size of synthetic images (default: 28x28x1 for mlp, 224x224x3 for resnet50, 16x16x3 for tinyres, 64x64x3 for "
     "unet, else 32x32x3)",
     BUILDS, GROUP_MODEL, 0, TEXT, AT(image), 0, 0},

    {"data-dir", "DIR", "folder of the instances, or the one above it", COMMAND_BENCH, GROUP_DATA, 0, TEXT,
     AT(data_dir), 0, 0},
    {"data", "NAME",
     "fashion-mnist, cifar10, synthetic: noise, text:FILE: bytes of any file, or tokens:FILE: two bytes each, the "
     "lower first (default fashion-mnist; of vgg16 and unet synthetic)",
     BUILDS, GROUP_DATA, 'd', TEXT, AT(data), 0, 0},
    {"data-dir", "DIR", "folder of the data set's files (default: where its package puts them)", RUNS, GROUP_DATA, 0,
     TEXT, AT(data_dir), 0, 0},
    {"no-augment", NULL, "no random crops and mirrors", RUNS, GROUP_DATA, 0, FLAG, AT(no_augment), 0, 0},

    {"ops", "N", "exactly so many when layered, else as many whole blocks as fit (default 1000)", COMMAND_GEN,
     GROUP_MODEL, 0, COUNT, AT(ops), 1, 1e9},
    {"ops", "N", "of made-up graphs (default: large 10000, pack 18000, joint 13)", COMMAND_BENCH, GROUP_MODEL, 0, COUNT,
     AT(ops), 1, 1e9},
    {"shapes", "NAMES",
     "large: layered, chain, residual, unet, transformer, with commas between them (default "
     "layered,transformer,residual); tight: names of its families (default all); poet: names of networks (default "
     "linear,vgg16,resnet18,bert); xengine: names of models (default resnet18,resnet50)",
     COMMAND_BENCH, GROUP_MODEL, 0, TEXT, AT(shapes), 0, 0},
    {"width", "X", "layered: the mean layer has 2 X sqrt(N) ops (default 0.27); not the --width of gpt", COMMAND_GEN,
     GROUP_MODEL, 0, REAL, AT(width), 1e-6, 10},
    {"spread", "X", "layered: layers differ from the mean by at most this share (default 0.75)", COMMAND_GEN,
     GROUP_MODEL, 0, REAL, AT(spread), 0, 1},
    {"edges", "X", "layered: share of linked pairs of neighbouring layers (default 0.2)", COMMAND_GEN, GROUP_MODEL, 0,
     REAL, AT(edges), 0, 1},
    {"skips", "X", "layered: share of links that skip layers (default 0.14)", COMMAND_GEN, GROUP_MODEL, 0, REAL,
     AT(skips), 0, 1},

    {"memory", "SIZE",
     "budget of the arena: 96MiB, 1.5GiB, 500MB, or 45% of keep-all bytes (default: none); cpu=48MiB,host=1GiB also "
     "pages to memory outside of it, cpu=48MiB,disk=4GiB to a file, cuda:0=2GiB,host=8GiB from a GPU; "
     "cpu:0=60MiB,cpu:1=60MiB, and so on to cpu:7, for devices with an equal part of the threads each",
     RUNS, GROUP_MEMORY, 0, TEXT, AT(memory), 0, 0},
    {"page-file", "FILE", "the file of space disk (default: one without a name, in TMPDIR or /tmp)", RUNS, GROUP_MEMORY,
     0, TEXT, AT(page_file), 0, 0},
    {"memory", "SIZE",
     "budget: 96MiB, 1.5GiB, 500MB, or 45% of keep-all bytes, which are the peak of program order where a graph has no "
     "addresses (default: none); over spaces ram=64MiB,sd=1GiB; of a model cpu=48MiB,host=1GiB to page, or "
     "cpu:0=32MiB,cpu:1=32MiB for two devices with half of the threads each, and so on to cpu:7",
     COMMAND_PLAN, GROUP_MEMORY, 0, TEXT, AT(memory), 0, 0},
    {"memory", "SIZE",
     "budget: 96MiB, 1.5GiB, 500MB, or 45% of keep-all bytes, which are the program's own peak where the graph is of a "
     "log (default: all)",
     COMMAND_SIMULATE, GROUP_MEMORY, 0, TEXT, AT(memory), 0, 0},
    {"vram", "SIZE",
     "on a GPU: budget of everything there, in bytes; the arena gets what context, libraries and modules leave of it, "
     "or --memory where that is less",
     COMMAND_TRAIN, GROUP_MEMORY, 0, TEXT, AT(vram), 0, 0},
    {"retime", "N",
     "time the ops of N steps in place, then make the plan again with the times found (default: 8 on a GPU, "
     "else 0: not)",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, COUNT, AT(retime), 0, 1000},
    {"trial", "N",
     "where the plan pages, time N steps of it, and of a plan for the same arena that does not page, in turns, and "
     "train with the faster one (default: 8, with --model-costs 0: not)",
     COMMAND_TRAIN, GROUP_MEMORY, 0, COUNT, AT(trial), 0, 1000},
    {"memory-at", "STEP=SIZE",
     "in the middle of training step STEP, counted from 0, the budget becomes SIZE: the step finishes online and the "
     "system gets the arena's tail back; may be given several times",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, TEXTS, AT(memory_at), 0, 0},
    {"planner", "NAME", "one of PLANNERS below, or over spaces of those there (default search)", COMMAND_PLAN,
     GROUP_MEMORY, 'p', TEXT, AT(planner), 0, 0},
    {"planner", "NAME", "a planner of those that plimsoll help plan lists (default search)",
     PLANS & ~(unsigned)COMMAND_PLAN, GROUP_MEMORY, 'p', TEXT, AT(planner), 0, 0},
    {"platform", "NAME|FILE",
     "plan over spaces and queues: m0, m4, a72, a72nocache, a JSON file or a device file of XEngine "
     "(default: the devices that the graph names)",
     COMMAND_PLAN, GROUP_MEMORY, 0, TEXT, AT(platform), 0, 0},
    {"platform", "FILE", "the powers that --objective energy needs: `watt` of devices and links in a platform's file",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, TEXT, AT(platform), 0, 0},
    {"platform", "NAMES", "poet: boards, with commas between them (default m0,m4,a72,a72nocache)", COMMAND_BENCH,
     GROUP_MEMORY, 0, TEXT, AT(platform), 0, 0},
    {"objective", "KIND",
     "over spaces: time (from start to end), serial (the sum of all runs and copies, as if one came after the other) "
     "or energy (default: the planner's own, of search time); of a model time or energy, which needs --platform FILE",
     COMMAND_PLAN, GROUP_MEMORY, 0, TEXT, AT(objective), 0, 0},
    {"objective", "KIND", "of a plan that pages: time, or energy, which needs --platform (default time)",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, TEXT, AT(objective), 0, 0},
    {"deadline", "F",
     "over spaces: 1.5x keep-all on the fastest device, or a time as in 90s or 20ms; a number alone is in the unit of "
     "the graph's own times; of poet it bounds compute",
     COMMAND_PLAN, GROUP_MEMORY, 0, TEXT, AT(deadline), 0, 0},
    {"deadline", "F", "of --objective energy: 1.5x keep-all's time, or a time as in 20ms (default: none)",
     COMMAND_TRAIN | COMMAND_VERIFY, GROUP_MEMORY, 0, TEXT, AT(deadline), 0, 0},
    {"page", "on|off", "over spaces: may storages be copied to another space and back? (default on)", COMMAND_PLAN,
     GROUP_MEMORY, 0, TEXT, AT(page), 0, 0},
    {"recompute", "on|off", "may ops be recomputed? off: what does not fit is paged (default on)", COMMAND_PLAN | RUNS,
     GROUP_MEMORY, 0, TEXT, AT(recompute), 0, 0},
    {"place", "on|off",
     "over spaces: may the plan move ops to devices other than the first? off: all run on the first (default on)",
     COMMAND_PLAN, GROUP_MEMORY, 0, TEXT, AT(place), 0, 0},
    {"planners", "NAMES",
     "with commas between them (default: search; large sqrt,greedy,rotor,fastsa,search; online every policy and "
     "search); poet: programs beside the search (default none)",
     COMMAND_BENCH, GROUP_MEMORY, 'p', TEXT, AT(planners), 0, 0},
    {"order", "free|fixed", "may first runs leave program order? (default free)", COMMAND_PLAN | COMMAND_BENCH,
     GROUP_MEMORY, 0, TEXT, AT(order), 0, 0},
    {"copies", "N", "moccasin computes an op at most so many times (default 2)", PLANS, GROUP_MEMORY, 0, COUNT,
     AT(copies), 1, 1000},
    {"iterations", "N",
     "planning effort: moves of a search, pivots or nodes of a solver. Equal inputs then give equal plans; over "
     "spaces a solver also ends after two minutes without --time-limit",
     PLANS | COMMAND_BENCH, GROUP_MEMORY, 0, COUNT, AT(iterations), 1, 1e12},
    {"time-limit", "TIME",
     "of planning, as in 10s, 500ms, 2min or 1h (a number alone is seconds); measuring ops and training come on "
     "top; the result may differ between runs",
     RUNS, GROUP_MEMORY, 0, SECONDS, AT(time_limit), 0.001, 1e6},
    {"time-limit", "TIME",
     "as in 10s, 500ms, 2min or 1h (a number alone is seconds): with --graph of the whole command, with --model of "
     "planning alone, measuring its ops comes on top; the result may differ between runs",
     COMMAND_PLAN, GROUP_MEMORY, 0, SECONDS, AT(time_limit), 0.001, 1e6},
    {"time-limit", "TIME",
     "of the whole command, as in 10s, 500ms, 2min or 1h (a number alone is seconds); the result may differ between "
     "runs",
     COMMAND_SIMULATE | COMMAND_PACK, GROUP_MEMORY, 0, SECONDS, AT(time_limit), 0.001, 1e6},
    {"time-limit", "TIME",
     "of each search, as in 10s, 500ms, 2min or 1h (a number alone is seconds); the result may differ between runs",
     COMMAND_BENCH, GROUP_MEMORY, 0, SECONDS, AT(time_limit), 0.001, 1e6},
    {"front", NULL,
     "plan the whole range of budgets; over spaces, as with --memory host=1GiB, those of the first device's, up to its "
     "size in --memory; -o ends in .json, .csv or .svg",
     COMMAND_PLAN, GROUP_MEMORY, 0, FLAG, AT(front), 0, 0},
    {"sweep", "RANGE", "online: budgets FROM%:TO%:STEP%, as in 9%:16%:0.2%, and where more memory is worse",
     COMMAND_BENCH, GROUP_MEMORY, 0, TEXT, AT(sweep), 0, 0},
    {"budgets", "SIZES",
     "large: bytes, or shares of the peak of program order, with commas between them (default 90%,80%,70%,50%); "
     "xengine: of keep-all bytes (default 100%,80%)",
     COMMAND_BENCH, GROUP_MEMORY, 0, TEXT, AT(budgets), 0, 0},
    {"points", "N", "joint: graphs (default 200)", COMMAND_BENCH, GROUP_MEMORY, 0, COUNT, AT(points), 2, 10000},
    {"points", "N", "budgets of the front (default 41)", COMMAND_PLAN, GROUP_MEMORY, 0, COUNT, AT(points), 2, 10000},
    {"capacity", "SIZE", "bytes; stop at the first packing within it (default: as low as possible)", COMMAND_PACK,
     GROUP_MEMORY, 0, TEXT, AT(capacity), 0, 0},
    {"capacity", "SIZE", "pack: bytes of the timed packing (default 1048576)", COMMAND_BENCH, GROUP_MEMORY, 0, TEXT,
     AT(capacity), 0, 0},
    {"addresses", "KIND",
     "planned (default): offsets of the plan; arena: its schedule, with addresses that the online arena decides; "
     "jemalloc: an allocation for each storage, for comparison: --memory bounds the plan, not what is allocated",
     RUNS, GROUP_MEMORY, 0, TEXT, AT(addresses), 0, 0},
    {"addresses", "KIND", "planned: the budget bounds addresses; none: sums of bytes (default: what the graph says)",
     COMMAND_PLAN, GROUP_MEMORY, 0, TEXT, AT(packing), 0, 0},
    {"addresses", "KIND", "of plans of the graph. planned: the budget bounds addresses; none (default): sums of bytes",
     COMMAND_GEN, GROUP_MEMORY, 0, TEXT, AT(packing), 0, 0},
    {"addresses", "KIND", "none, arena (default with --online) or planned (default with --planner)", COMMAND_SIMULATE,
     GROUP_MEMORY, 0, TEXT, AT(placing), 0, 0},
    {"online", "POLICY",
     "no plan: evict what finds no room and recompute it. best, coop, dtr, dtr-eq, dtr-local, dte, lru, size or msps",
     PLANS, GROUP_MEMORY, 0, TEXT, AT(online), 0, 0},
    {"max-recompute", "F", "online: give up when recomputing takes longer than F times the step (default 1)",
     PLANS | COMMAND_TRACE, GROUP_MEMORY, 0, REAL, AT(thrash), 0, 1e9},

    {"numerics", "KIND|FILE",
     "which kernels may run. Recomputation changes no bit; another choice of kernels may. auto (default): the fastest "
     "plan, whatever kernels; fastest: those of the unlimited run, so the same bits at every budget; small: least "
     "workspace; FILE: those of a plan or checkpoint (train --load: those of that file)",
     RUNS | COMMAND_PLAN, GROUP_NUMERICS, 0, TEXT, AT(numerics), 0, 0},
    {"precision", "NAME",
     "fp32 (default); bf16: activations and their gradients in half the bytes, sums and weights in fp32; tf32: on a "
     "GPU, products have rounded factors",
     BUILDS, GROUP_NUMERICS, 0, TEXT, AT(math), 0, 0},
    {"layout", "NAME", "auto (default): the faster by profile; nhwc, nchw8c, nchw16c, flat", BUILDS, GROUP_NUMERICS, 0,
     TEXT, AT(layout), 0, 0},
    {"threads", "N", "default: the CPUs this process may use", RUNS | COMMAND_PROFILE | COMMAND_BENCH, GROUP_NUMERICS,
     't', COUNT, AT(threads), 1, PLIM_THREADS_MAX},
    {"threads", "N",
     "of the planner, and those that the plan is for (default: with --time-limit the CPUs this process may use, else "
     "one for the planner)",
     COMMAND_PLAN, GROUP_NUMERICS, 't', COUNT, AT(threads), 1, PLIM_THREADS_MAX},
    {"threads", "N", "default 1", COMMAND_PACK, GROUP_NUMERICS, 't', COUNT, AT(threads), 1, PLIM_THREADS_MAX},
    {"device", "NAME",
     "cpu (default), cuda:0 and so on (a GPU), check (finds bad plans and kernels, slow) or sim (no arithmetic)",
     BUILDS, GROUP_NUMERICS, 0, TEXT, AT(device), 0, 0},
    {"no-cuda-graph", NULL, "on a GPU: launch the kernels of a step one by one instead of as one graph", RUNS,
     GROUP_NUMERICS, 0, FLAG, AT(no_graph), 0, 0},
    {"ceilings", NULL,
     "measure bandwidth of memory and FLOP/s, and say what share of these each kind reaches (above 100 %: its operands "
     "came from a cache, or other programs slowed this measurement)",
     COMMAND_PROFILE, GROUP_NUMERICS, 0, FLAG, AT(roofline_peaks), 0, 0},
    {"model-costs", NULL, "modelled instead of measured times; needs no run", BUILDS, GROUP_NUMERICS, 0, FLAG,
     AT(model_costs), 0, 0},
    {"no-cache", NULL, "measure and plan anew, whatever is kept from earlier runs", BUILDS | COMMAND_SIMULATE,
     GROUP_NUMERICS, 0, FLAG, AT(no_cache), 0, 0},
    {"profile-time", "TIME",
     "measure variants for about so long, the likely ones first; kernels that a library would have to build after it "
     "are left out (default: on a GPU 60s, in which a library builds at most 48 kernels, or all of the likely ones "
     "where these are more)",
     BUILDS, GROUP_NUMERICS, 0, SECONDS, AT(profile_time), 0.001, 1e6},
    {"repeats", "N", "measurements of each op and variant", COMMAND_PROFILE, GROUP_NUMERICS, 0, COUNT, AT(repeats), 1,
     10000},

    {"epochs", "N", "passes over the training data (default 1)", COMMAND_TRAIN | COMMAND_COMPARE, GROUP_RUN, 'e', COUNT,
     AT(epochs), 1, 1e6},
    {"last-batch", "KIND",
     "what becomes of the images after the last whole batch of an epoch. drop (default); online: a shorter step, "
     "decided without a plan in the same arena",
     RUNS, GROUP_RUN, 0, TEXT, AT(last_batch), 0, 0},
    {"steps", "N", "stop after so many steps, those before --load included, whatever --epochs says", RUNS, GROUP_RUN,
     's', COUNT, AT(steps), 1, 1e12},
    {"total-steps", "N",
     "length of the learning-rate schedule, of which --steps may run a part (default: the steps of --epochs where that "
     "is given, else --steps)",
     COMMAND_TRAIN, GROUP_RUN, 0, COUNT, AT(total_steps), 1, 1e12},
    {"minutes", "N", "run for about N minutes by the profile, in whole tens of steps, one epoch at most",
     COMMAND_COMPARE, GROUP_RUN, 0, REAL, AT(minutes), 0.01, 1e5},
    {"rate", "X", "highest learning rate (default by model and batch)", RUNS, GROUP_RUN, 'r', REAL, AT(rate), 0, 1e9},
    {"accumulate", "K",
     "micro-batches of a step, each of batch / K: one update by the mean of their gradients (default 1)", BUILDS,
     GROUP_RUN, 0, COUNT, AT(accumulate), 1, PLIM_ACCUMULATE_MAX},
    {"optimizer", "NAME",
     "sgd (default): with a momentum of 0.9; with --momentum 0 plain, and without velocities. momentum: the same as "
     "sgd, but keeps velocities with --momentum 0 too. adam; adamw (default of gpt)",
     BUILDS, GROUP_RUN, 0, TEXT, AT(optimizer), 0, 0},
    {"states", "TYPE",
     "of velocities and means of the optimizer: f32 (default), or bf16, which takes half the bytes and is rounded to "
     "nearest after each update",
     BUILDS, GROUP_RUN, 0, TEXT, AT(states), 0, 0},
    {"clip", "X", "bound on the norm of all gradients together (default: none)", BUILDS, GROUP_RUN, 0, REAL, AT(clip),
     1e-9, 1e9},
    {"warm-up", "N",
     "steps over which the rate rises (default: a twentieth of the run; with adam and adamw 100, at most half the run)",
     RUNS, GROUP_RUN, 0, COUNT, AT(warmup), 0, 1e12},
    {"momentum", "X", "of adam and adamw the first beta (default 0.9)", BUILDS, GROUP_RUN, 0, REAL, AT(momentum), 0, 1},
    {"beta2", "X", "of adam and adamw (default 0.95)", RUNS, GROUP_RUN, 0, REAL, AT(beta2), 0, 1},
    {"weight-decay", "X", "default 0.0005, of adamw 0.1", RUNS, GROUP_RUN, 0, REAL, AT(weight_decay), 0, 1},
    {"seed", "N", "weights, order of images, augmentation, dropout, search (default 1)", RUNS, GROUP_RUN, 0, COUNT,
     AT(seed), 0, 9e15},
    {"seed", "N", "of the search (default 1)", COMMAND_PLAN | COMMAND_SIMULATE, GROUP_MEMORY, 0, COUNT, AT(seed), 0,
     9e15},
    {"seed", "N", "of the graph (default 1)", COMMAND_GEN, GROUP_MODEL, 0, COUNT, AT(seed), 0, 9e15},
    {"seed", "N", "of the search, and of made-up instances (default 1)", COMMAND_BENCH, GROUP_MEMORY, 0, COUNT,
     AT(seed), 0, 9e15},

    {"plan", "FILE", "run this plan of the training step instead of making one", COMMAND_TRAIN | COMMAND_VERIFY,
     GROUP_FILES, 0, TEXT, AT(plan), 0, 0},
    {"graph", "FILE", "the graph document of the plan (default: beside the plan)", COMMAND_CHECK | COMMAND_PACK,
     GROUP_FILES, 0, TEXT, AT(graph), 0, 0},
    {"graph", "FILE", "the graph document to simulate", COMMAND_SIMULATE, GROUP_FILES, 0, TEXT, AT(graph), 0, 0},
    {"graph", "FILE", "plan this graph document instead of a model", COMMAND_PLAN, GROUP_FILES, 0, TEXT, AT(graph), 0,
     0},
    {"profile", "FILE", "costs of the graph's ops (default: those that it carries)", COMMAND_PLAN, GROUP_FILES, 0, TEXT,
     AT(profile), 0, 0},
    {"output", "FILE",
     "the plan; its graph is written beside it, to NAME.graph.json for NAME.json; with --front the plan front, as "
     ".json, .csv or .svg",
     COMMAND_PLAN, GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE", "the plan; its graph is written beside it, to NAME.graph.json for NAME.json", COMMAND_TRAIN,
     GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE", "the profile: every variant of every op with its time and workspace", COMMAND_PROFILE,
     GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE", "the buffers with their offsets, as CSV", COMMAND_PACK, GROUP_FILES, 'o', TEXT, AT(output), 0,
     0},
    {"output", "FILE", "the graph document", COMMAND_IMPORT | COMMAND_GEN, GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE",
     "the plan of what was simulated; its graph is written beside it, to NAME.graph.json for NAME.json",
     COMMAND_SIMULATE, GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE",
     "export: events in a file whose name ends in .json, a page in .html; over spaces also a picture in .svg",
     COMMAND_TRACE, GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"output", "FILE", "online: the tables as Markdown; tight: its instances as NAME-FAMILY-CAPACITY-SEED.csv",
     COMMAND_BENCH, GROUP_FILES, 'o', TEXT, AT(output), 0, 0},
    {"svg", "FILE",
     "picture: bytes over the commands of one step, keep-all and plan; over spaces queues over time and bytes by space",
     COMMAND_PLAN | COMMAND_COMPARE, GROUP_FILES, 0, TEXT, AT(svg), 0, 0},
    {"trace", "FILE", "write measured times, JSON Lines: ten steps after two that warm up", COMMAND_TRAIN, GROUP_FILES,
     0, TEXT, AT(trace), 0, 0},
    {"graph", "FILE", "instead of FILE: simulate this graph document under --online", COMMAND_TRACE, GROUP_FILES, 0,
     TEXT, AT(graph), 0, 0},
    {"online", "POLICY", "the policy that simulates --graph (default best)", COMMAND_TRACE, GROUP_MEMORY, 0, TEXT,
     AT(online), 0, 0},
    {"memory", "SIZE", "budget of the arena for --graph: bytes, or a share of keep-all bytes", COMMAND_TRACE,
     GROUP_MEMORY, 0, TEXT, AT(memory), 0, 0},
    {"policy", "POLICY", "what-if: the policy from command --at on (default best)", COMMAND_TRACE, GROUP_MEMORY, 0,
     TEXT, AT(policy), 0, 0},
    {"memory-at", "N=SIZE",
     "what-if: from command N of the plan on the budget is SIZE: bytes, or a share of the run's own", COMMAND_TRACE,
     GROUP_MEMORY, 0, TEXTS, AT(memory_at), 0, 0},
    {"plain", NULL, "lines of text also on a terminal", COMMAND_TRACE, GROUP_PRINT, 0, FLAG, AT(plain), 0, 0},
    {"at", "N", "print what there is at command N of the plan, and end", COMMAND_TRACE, GROUP_PRINT, 0, COUNT, AT(at),
     0, 1e9},
    {"find", "NAME", "print the history of a tensor, and end", COMMAND_TRACE, GROUP_PRINT, 0, TEXT, AT(find), 0, 0},
    {"with", "FILE", "poet: an earlier table (--json), whose plans are known too", COMMAND_BENCH, GROUP_FILES, 0, TEXT,
     AT(with), 0, 0},
    {"with", "FILE", "the other run, of a diff or to compare with while stepping", COMMAND_TRACE, GROUP_FILES, 0, TEXT,
     AT(with), 0, 0},
    {"save", "FILE", "write weights, statistics and momentum at the end", COMMAND_TRAIN, GROUP_FILES, 0, TEXT, AT(save),
     0, 0},
    {"load", "FILE", "start from a saved file and go on counting its steps", COMMAND_TRAIN, GROUP_FILES, 0, TEXT,
     AT(load), 0, 0},

    {"explain", NULL,
     "over spaces: a row a storage: keep, recompute, page, place; bytes, time and energy beyond its first run, reason",
     COMMAND_PLAN, GROUP_PRINT, 0, FLAG, AT(explain), 0, 0},
    {"print-sequence", NULL, "one op a line on standard output, by its id in the imported file, and nothing else there",
     COMMAND_PLAN, GROUP_PRINT, 0, FLAG, AT(print_sequence), 0, 0},
    {"json", NULL, "print one JSON object instead of the table", ALL, GROUP_PRINT, 'j', FLAG, AT(json), 0, 0},
    {"no-progress", NULL, "never draw a progress bar", ALL, GROUP_PRINT, 0, FLAG, AT(no_progress), 0, 0},
    {"quiet", NULL, "print results and errors alone: no progress bar, no remarks", ALL, GROUP_PRINT, 'q', FLAG,
     AT(quiet), 0, 0},
};
#undef AT

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Names of earlier versions. They are accepted and mean the same; no help and no message shows them. */
static const struct {
  const char *old, *name;
} aliases[] = {
    {"no-graph", "no-cuda-graph"}, {"thrash", "max-recompute"},  {"math", "precision"},
    {"caps", "budgets"},           {"data", "data-dir"},         {"lr", "rate"},
    {"arithmetic", "numerics"},    {"then-memory", "memory-at"}, {"curve", "front"},
};
enum { ALIASES = sizeof aliases / sizeof aliases[0] };

/* Letters of earlier versions: of two that differed by case alone one, and those that are not of the name. */
static const struct {
  int letter;
  const char *name;
} old_letters[] = {{'M', "memory"}, {'n', "ops"}, {'c', "capacity"}, {'a', "numerics"}, {'d', "data-dir"}};
enum { OLD_LETTERS = sizeof old_letters / sizeof old_letters[0] };

/* Values of earlier versions, by the option's present name. */
static const struct {
  const char *option, *old, *value;
} value_aliases[] = {
    {"addresses", "packed", "planned"},
    {"numerics", "fast", "fastest"},
};
enum { VALUE_ALIASES = sizeof value_aliases / sizeof value_aliases[0] };

/* ---- names that options take ---- */

static const char *name_in(const char *const *names, int count, int32_t row) {
  return row >= 0 && row < count ? names[row] : NULL;
}

#define NAMES(function, ...)                                  \
  static const char *function(int32_t row) {                  \
    static const char *const names[] = {__VA_ARGS__};         \
    return name_in(names, sizeof names / sizeof *names, row); \
  }

NAMES(addresses_name, "planned", "arena", "jemalloc")
NAMES(packing_name, "planned", "none")
NAMES(placing_name, "none", "arena", "planned")
NAMES(order_name, "free", "fixed")
NAMES(switch_name, "on", "off")
NAMES(last_batch_name, "drop", "online")
NAMES(device_name, "cpu", "cuda:0", "sim", "check")
NAMES(numerics_name, "auto", "fastest", "small")
NAMES(states_name, "f32", "bf16")

static const char *layout_name(int32_t row) {
  return row == 0 ? "auto" : row <= PLIM_LAYOUT_COUNT ? plim_layout_name((plim_layout)(row - 1)) : NULL;
}

static const char *objective_name(int32_t row) {
  return plim_objective_name((plim_objective)row);
}

static const char *math_name(int32_t row) {
  return plim_precision_name((plim_precision)row);
}

/* Planners of one device, then those over spaces that are not among them. */
static const char *any_planner_name(int32_t row) {
  int32_t n = 0;
  while (plim_planner_name(n)) n++;
  if (row < n) return plim_planner_name(row);
  for (int32_t i = 0; plim_space_planner_name(i); i++) {
    if (plim_name_find(plim_planner_name, plim_space_planner_name(i)) < 0 && row == n++) {
      return plim_space_planner_name(i);
    }
  }
  return NULL;
}

/* Planners, then those that bench alone has. */
static const char *bench_planner_name(int32_t row) {
  int32_t n = 0;
  while (plim_planner_name(n)) n++;
  return row < n ? plim_planner_name(row) : bench_peer_name(row - n);
}

static const option_values_row value_rows[] = {
    {COMMAND_PLAN, "planner", "planner", any_planner_name},
    {COMMAND_PLAN, "platform", NULL, plim_platform_name},
    {COMMAND_PLAN | COMMAND_TRAIN | COMMAND_VERIFY, "objective", "objective", objective_name},
    {COMMAND_PLAN, "page", "switch", switch_name},
    {COMMAND_PLAN | COMMAND_TRAIN | COMMAND_VERIFY, "recompute", "switch", switch_name},
    {COMMAND_PLAN, "place", "switch", switch_name},
    {BUILDS, "model", "model", plim_model_name},
    {BUILDS, "data", NULL, plim_dataset_name},
    {BUILDS, "optimizer", "optimizer", plim_optimizer_name},
    {BUILDS, "states", "type of states", states_name},
    {PLANS & ~(unsigned)COMMAND_PLAN, "planner", "planner", plim_planner_name},
    {RUNS, "addresses", "way to give addresses", addresses_name},
    {COMMAND_PLAN | COMMAND_GEN, "addresses", "kind of plan addresses", packing_name},
    {COMMAND_SIMULATE, "addresses", "kind of addresses", placing_name},
    {PLANS, "online", "online policy", plim_policy_name},
    {COMMAND_PLAN | COMMAND_BENCH, "order", "order", order_name},
    {RUNS, "last-batch", "use of the last batch", last_batch_name},
    {BUILDS, "precision", "precision", math_name},
    {BUILDS, "layout", "layout", layout_name},
    {COMMAND_TRACE, "online", "online policy", plim_policy_name},
    {COMMAND_TRACE, "policy", "online policy", plim_policy_name},
    {BUILDS, "device", NULL, device_name},
    {RUNS | COMMAND_PLAN, "numerics", NULL, numerics_name},
    {COMMAND_BENCH, "planners", NULL, bench_planner_name},
    {COMMAND_BENCH, "", NULL, bench_table_name},
    {COMMAND_TRACE, "", NULL, trace_action_name},
    {COMMAND_GEN, "", NULL, plim_generate_name},
    {COMMAND_IMPORT, "", NULL, plim_import_name},
};
enum { VALUE_ROWS = sizeof value_rows / sizeof value_rows[0] };

/* ---- finding rows ---- */

const option_row *option_row_at(int i) {
  return i >= 0 && i < ROWS ? &rows[i] : NULL;
}

const char *option_group_title(int group) {
  return group > 0 && group < GROUP_COUNT ? group_title[group] : "";
}

static const option_row *find_row(unsigned mask, const char *name) {
  for (int i = 0; i < ROWS; i++) {
    if ((rows[i].commands & mask) && strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

/* A present name of this command comes before an earlier one. */
const option_row *option_row_find(unsigned mask, const char *name) {
  const option_row *r = find_row(mask, name);
  for (int i = 0; i < ALIASES && !r; i++) {
    if (strcmp(aliases[i].old, name) == 0) r = find_row(mask, aliases[i].name);
  }
  return r;
}

const option_row *option_row_letter(unsigned mask, int letter) {
  const option_row *r = NULL;
  for (int i = 0; i < ROWS; i++) {
    if ((rows[i].commands & mask) && rows[i].letter == letter) return &rows[i];
  }
  for (int i = 0; i < OLD_LETTERS && !r; i++) {
    if (old_letters[i].letter == letter) r = find_row(mask, old_letters[i].name);
  }
  return r;
}

const char *option_value_present(const option_row *r, const char *value) {
  for (int i = 0; i < VALUE_ALIASES; i++) {
    if (strcmp(value_aliases[i].option, r->name) == 0 && strcmp(value_aliases[i].old, value) == 0)
      return value_aliases[i].value;
  }
  return value;
}

const option_values_row *option_values_at(int i) {
  return i >= 0 && i < VALUE_ROWS ? &value_rows[i] : NULL;
}

const option_values_row *option_values_find(unsigned mask, const char *option) {
  for (int i = 0; i < VALUE_ROWS; i++) {
    if ((value_rows[i].commands & mask) && strcmp(value_rows[i].option, option) == 0) return &value_rows[i];
  }
  return NULL;
}

int path_ends_in(const char *path, const char *ending) {
  if (!path) return 0;
  const size_t length = strlen(path), tail = strlen(ending);
  return length >= tail && strcmp(path + length - tail, ending) == 0;
}

int options_given(const options *o, const char *name) {
  for (int i = 0; i < o->n_given; i++) {
    if (strcmp(o->given[i], name) == 0) return 1;
  }
  return 0;
}

/* ---- the commands, in the order of help ---- */

static const command *const commands[] = {
    &command_train, &command_compare,  &command_verify, &command_profile, &command_plan,
    &command_check, &command_simulate, &command_pack,   &command_trace,   &command_import,
    &command_gen,   &command_solvers,  &command_bench,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

const command *command_at(int i) {
  return i >= 0 && i < COMMANDS ? commands[i] : NULL;
}
