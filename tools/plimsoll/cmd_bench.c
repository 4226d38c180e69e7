/* plimsoll bench: its description. plimsoll-bench, a program of its own, prints the tables. */
#include <stdio.h>
#include <string.h>

#include "tools/plimsoll-bench/peers.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/figures.h"

static const char *const tables[] = {
    [BENCH_PLANNERS] = "planners", [BENCH_PACK] = "pack",     [BENCH_ONLINE] = "online",
    [BENCH_LARGE] = "large",       [BENCH_WINDOW] = "window", [BENCH_TIGHT] = "tight",
    [BENCH_POET] = "poet",         [BENCH_JOINT] = "joint",   [BENCH_XENGINE] = "xengine"};
enum { TABLES = sizeof tables / sizeof tables[0] };

const char *bench_table_name(int32_t row) {
  return row >= 0 && row < TABLES ? tables[row] : NULL;
}

static const struct { const char *name, *source; } peers[] = {{PEER_FASTSA}, {PEER_REVOLVE}};
enum { PEERS = sizeof peers / sizeof peers[0] };

const char *bench_peer_name(int32_t row) {
  return row >= 0 && row < PEERS ? peers[row].name : NULL;
}

static const char *peer_source(int32_t row) {
  return row >= 0 && row < PEERS ? peers[row].source : NULL;
}

static const command_list lists[] = {{"PLANNERS OF OTHERS", bench_peer_name, peer_source}, {NULL, NULL, NULL}};

/* Where plimsoll-bench is not there. */
static int run_bench(const options *o) {
  static const char sentence[] =
      "the program plimsoll-bench, which prints these tables, lies neither beside this one nor in a folder of PATH; it "
      "is built and installed with plimsoll";
  failure_print(sentence, o->json ? failure_object(PLIM_EUNSUPPORTED, sentence) : NULL);
  return plim_status_exit(PLIM_EUNSUPPORTED);
}

const command command_bench = {
    .name = "bench",
    .mask = COMMAND_BENCH,
    .program = "plimsoll-bench",
    .file = "TABLE",
    .summary = "tables over public instances, beside published figures",
    .about =
        "Run planners over public instances and print a table beside the figures that others published. The program "
        "plimsoll-bench does this; it lies beside plimsoll or in a folder of PATH. Every search is made anew: what "
        "earlier runs found is not used. After Ctrl-C the rows so far stand; --json says \"partial\". Instances that "
        "were never published have no such columns. Published seconds are of other machines.\n\n"
        "planners: graphs (networkx node-link JSON) at 90, 80 and 70 % of program order's peak, with the proven bound "
        "and the ratio of time to it. A cell of others' figures has overhead and seconds; \"over\": more bytes than "
        "the budget. \"no plan\": none was found in the effort given.\n\n"
        "pack: buffers (CSV), time to a packing under --capacity and the smallest packed size in the time limit "
        "(default 5 s). Without --data-dir: buffers of training steps of --ops N ops (default 18000) made up by "
        "--seed, and the time to a packing that the peak fills to 99 %.\n\n"
        "online: logs of the DTR prototype (.log.gz) from 0.9 to 0.2 of the program's peak, every online policy in the "
        "same arena and the plans of search beside them. --planners names other policies and planners; -o FILE keeps "
        "the tables as Markdown. --sweep 9%:16%:0.2% goes through budgets close together (default: plans of search) "
        "and says where more memory fails or costs more than less.\n\n"
        "large: graphs made up by --seed, random layers and training steps of --ops N ops (default 10000), at "
        "--budgets. Each row has the ratio of its overhead to the best above it and the most memory so far (default 55 "
        "s a plan).\n\n"
        "window: one search of the arena over 1,000 to 100,000 blocks.\n\n"
        "tight: buffers made up by seed that fill an arena, under 0, 1 and 5 % of slack: figures of each family, and "
        "how many are packed in 1 s, in 5 s and in the time limit (default 5 s). --data-dir adds published instances; "
        "-o NAME keeps those made up in files NAME-FAMILY-CAPACITY-SEED.csv.\n\n"
        "poet: networks of POET (--shapes, default linear,vgg16,resnet18,bert) on its boards (--platform, with commas "
        "between them) at 20 budgets, energy within 1.5 times keep-all's time. Excess over keep-all's energy in "
        "percent: the best plan known, the search, the search with recompute alone and with paging alone, and programs "
        "that --planners names, each within --time-limit. --with names an earlier table (--json) whose plans are known "
        "too. A case is \"above\" where the search has more than 1.05 times the least excess, and more than a "
        "millionth of the energy, or more than recompute or paging alone.\n\n"
        "joint: graphs of at most --ops N ops (default 13) made up by --seed, on one device that pages or on two: "
        "the search's makespan by that of planner milp's plan, on --points graphs (default 200) whose program is "
        "solved to its end within --time-limit (default 60 s).\n\n"
        "xengine: training steps of networks (--shapes, default resnet18,resnet50) on images of 32x32 in batches of "
        "32, on two equal CPU devices of one thread, each with --budgets, shares of keep-all bytes (default 100%,80%): "
        "how much of the gap between the plan on one device and the proved bound the plan on two closes. Costs and "
        "links are modelled.",
    .lists = lists,
    .after =
        "EXAMPLES\n"
        "  plimsoll bench planners --data-dir instances --time-limit 10s\n"
        "  plimsoll bench planners --data-dir graphs --planners search,sqrt\n"
        "  plimsoll bench pack\n"
        "  plimsoll bench tight --shapes grid,steps --threads 1 --time-limit 30s\n"
        "  plimsoll bench online --data-dir instances --planners best,coop,dtr,dte\n"
        "  plimsoll bench online --data-dir instances --sweep 9%:16%:0.2%\n"
        "  plimsoll bench poet --data-dir instances --shapes linear --planners poet\n"
        "  plimsoll bench joint --ops 9 --points 50\n"
        "  plimsoll bench xengine --shapes resnet20 --budgets 100%,80%\n"
        "  plimsoll bench large --ops 2000 --time-limit 20s\n"
        "  plimsoll bench large --shapes unet --budgets 50%,30% --planners rotor,search\n",
    .run = run_bench,
};
