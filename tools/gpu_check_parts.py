"""The parts of tools/gpu_check: what each runs, the seconds that it may take, and the figures that it leaves.

Both tables are in the order of worth. A part never ends the check: a command that fails is a row of the report."""
import collections
import os
import re
import shutil

from gpu_check_run import find, load, read

# seconds: of a full check; quick: of one with --quick; gpu: 1 where a GPU alone can do it. A part of 0 seconds runs
# when it is named. Seconds allow for the start of each program, which makes a context and loads libraries.
Row = collections.namedtuple("Row", "name seconds quick gpu what")
PARTS = [Row(*row) for row in (
    ("libraries", 5, 3, 0, "the libraries that were found, and their versions"),
    ("kernels", 15, 6, 1, "each kernel on the GPU against the CPU"),
    ("variants", 40, 12, 0, "each variant prepared, queued, captured and compared; a second start"),
    ("options", 22, 13, 0, "options in pairs: trace, times in place, queued, shrinking and total budgets, online"),
    ("verify", 30, 10, 0, "weights at six budgets against keep-all, bit for bit"),
    ("suite", 50, 10, 0, "tests of runs: bits, threads, opening again, allocations, a lost device, checkpoints"),
    ("paging", 12, 6, 1, "steps that page to the host's memory: weights against keep-all, and time"),
    ("overhead", 22, 4, 0, "half of the keep-all bytes against all of them, in turns"),
    ("torch", 30, 0, 1, "planned steps of PyTorch models at three budgets: peak by its allocator, and bits"),
    ("peer20", 55, 0, 1, "ResNet-20 in bf16 beside PyTorch"),
    ("peer50", 38, 0, 1, "ResNet-50 in bf16 beside PyTorch"),
    ("timer", 12, 6, 0, "the clock of op times, the sum of op times beside the step, idle time of the GPU"),
    ("memory", 15, 5, 1, "a budget of everything on the GPU over many steps; alignment; bytes of a captured graph"),
    ("lost", 6, 2, 1, "an illegal address ends a program with status 5 and a sentence, and without a hang"),
    ("sums", 5, 2, 1, "long sums of products in bf16 against double precision"),
    ("sanitizer", 25, 0, 1, "compute-sanitizer: memory, races, initialization, barriers"),
    ("plans", 10, 2, 1, "seconds to list and to build the kernels of each convolution"),
    ("bodies", 10, 4, 1, "GB/s of each single-source kernel at the shapes of ResNet-20"),
    ("large", 6, 2, 1, "an op over more elements than 31 bits count; two GPUs in one process, where there are two"),
    ("peer18", 10, 0, 1, "ResNet-18 in bf16 beside PyTorch, in the seconds that are left"),
    ("layouts", 12, 0, 0, "layouts of activations in each precision"),
    ("families", 6, 0, 1, "convolutions by each family of kernels, in each layout and precision"),
    ("ops", 10, 0, 0, "what each kind of op takes, and its share of the measured ceilings"),
    ("graph", 5, 0, 1, "captured steps against queued ones"),
    ("dnn", 8, 0, 1, "with cuDNN and without"),
    ("budgets", 8, 0, 0, "speed and bytes at four budgets"),
    ("train", 8, 0, 0, "a run on real images"),
    ("peer32", 0, 0, 1, "the ResNets in fp32 and TF32 beside PyTorch"),
    ("ctest", 0, 0, 0, "every other test of the project"),
)]

# A figure without a limit stands for itself; `what` names it on the page.
Goal = collections.namedtuple("Goal", "key relation limit what")
GOALS = [Goal(*goal) for goal in (
    ("verified", ">=", 6, "budgets of six with the weights of keep-all, bit for bit"),
    ("paged", ">=", 3, "budgets of three with paging and the weights of keep-all, bit for bit"),
    ("paged_overhead", "-", None, "half of the keep-all bytes: percent slower, where it pages, and recomputes too"),
    ("option_pairs", ">=", 10, "runs of ten with options in pairs that end as they should"),
    ("dropped", "-", None, "variants that failed or computed something else"),
    ("overhead", "<=", 12, "half of the keep-all bytes: percent slower than keep-all"),
    ("prediction", "<=", 3, "half of the keep-all bytes: percent between the predicted and the measured step"),
    ("torch_steps", ">=", 6, "PyTorch steps of six with a peak within the budget and the bits of a step without one"),
    ("torch_plan", "<=", 0.1, "PyTorch steps: percent between the planned peak and that of its allocator, at most"),
    ("start", "<=", 60, "seconds to measure ResNet-20 where nothing is known"),
    ("restart", "<=", 5, "seconds to do it again"),
    ("built", "-", None, "kernels that libraries built at the first start"),
    ("rebuilt", "<=", 0, "kernels that they built at the second start"),
    ("plan_ms", "-", None, "ms to list the kernels of a convolution: mean, most; to build one: mean, most"),
    ("idle", "<=", 5, "percent of a step of ResNet-20 in which the GPU waits for the host"),
    ("op_sum", "<=", 1.0, "sum of op times in place: times the step"),
    ("op_times", "<=", 1.1, "sum of op times measured one by one: times their sum in place"),
    ("empty_graph_us", "-", None, "us between two timing events around an empty graph: mean, sigma of 1000"),
    ("tick_us", "-", None, "us between two timing events inside a graph: mean, sigma"),
    ("kernel_once", "-", None, "a kernel of about 2 us timed once: times its share of 16 in a row"),
    ("outside_growth", "<=", 0, "bytes beside the arena that came after the second step"),
    ("alignment", ">=", 256, "alignment of 1000 small allocations"),
    ("graph_bytes", "-", None, "bytes of a captured graph of 400 kernels"),
    ("sums_error", "<=", 3e-4, "bf16: relative error of a sum of 65536 products"),
    ("kernels_a_step", "-", None, "kernels and library calls in a step of ResNet-20"),
    ("bodies_percent", ">=", 60, "single-source kernels: percent of the memory's ceiling, over a step"),
    ("large_elements", ">=", 2147483649, "elements of the largest op that gave the right bits"),
    ("layout_families_nhwc", "-", None, "convolutions run:won by family, nhwc"),
    ("layout_families_flat", "-", None, "convolutions run:won by family, flat"),
    ("layout_fp32", "-", None, "images/s by layout, fp32"),
    ("layout_tf32", "-", None, "images/s by layout, TF32"),
    ("layout_bf16", "-", None, "images/s by layout, bf16"),
)]

# Beside PyTorch: nets, batch, shape; ours over theirs. SUFFIX of a key, mode of bench_pytorch.py, heading.
PEERS = {"resnet20": (128, "3x32x32"), "resnet18": (128, "3x32x32"), "resnet50": (64, "3x224x224")}
BESIDE = (("", "compile-max", "compile"), ("_copies", "compile-max+copies", "compile, copies"),
          ("_any", "compile-max-any", "compile, any"), ("_default", "compile", "compile, default"),
          ("_eager", "eager-nhwc", "eager"))
PEER_GOALS = {"resnet20_bf16": 1.1, "resnet20_bf16_copies": 1.1, "resnet20_bf16_eager": 3.0, "resnet18_bf16": 1.1,
              "resnet18_bf16_copies": 1.1, "resnet50_bf16": 1.0, "resnet50_bf16_copies": 1.0, "resnet20_fp32": 1.0,
              "resnet20_tf32": 1.0, "resnet18_fp32": 1.0, "resnet18_tf32": 1.0, "resnet50_fp32": 1.0,
              "resnet50_tf32": 1.0}
PRECISIONS = ("bf16", "fp32", "tf32")
MIB = 1 << 20
LATE = 3  # exit status of bench_pytorch.py where some modes were not ready in time and nothing failed


def is_met(value, relation, limit):
    """None where there is nothing to say."""
    if limit is None or isinstance(value, str) or value is None:
        return None
    return value >= limit if relation == ">=" else value <= limit


def peer_goals():
    for net, (batch, _) in PEERS.items():
        for precision in PRECISIONS:
            for suffix, _, heading in BESIDE:
                key = f"{net}_{precision}{suffix}"
                limit = PEER_GOALS.get(key)
                yield Goal(key, ">=" if limit else "-", limit,
                           f"{net}, {precision}, batch {batch}: times PyTorch, {heading}")


class Check:
    """What the parts know of the machine and of the sizes."""
    def __init__(self, runner, options):
        self.runner, self.options = runner, options
        self.device, self.small, self.on_gpu = options.device, options.small, options.device != "cpu"
        self.plimsoll = self.program("plimsoll")
        base = ["--data", "synthetic", "--device", self.device]
        self.tiny = ["--model", "resnet20", *base, "--image", "8x8x3", "--batch", "8", "--model-costs",
                     "--iterations", "100", "--steps", "20"]
        if self.small:
            self.net = ["--model", "resnet20", "--batch", "32", "--image", "8x8x3", *base]
            self.planned = ["--model", "resnet20", "--batch", "64", "--image", "8x8x3", *base, "--model-costs",
                            "--iterations", "1000"]
            self.images = ["--model", "mlp", "--batch", "32", "--model-costs", "--device", self.device,
                           "--steps", "20"]
            self.steps = 6
        else:
            self.net = ["--model", "resnet20", "--batch", "128", *base, "--profile-time", "15s"]
            self.planned = self.net
            self.images = ["--model", "resnet20", "--batch", "128", "--device", self.device, "--memory", "50%",
                           "--epochs", "1", "--steps", "200", "--profile-time", "10s"]
            self.steps = 60
        self.known_precisions = None

    @property
    def part(self):
        return self.runner.part

    def program(self, name):
        return os.path.join(self.options.bin, name)

    def figures(self, title, command, *words, expected=0, **environment):
        """A command of ours that prints JSON: its figures, or None."""
        run = self.runner.run(title, [self.plimsoll, command, *words, "--json", "--no-progress"], expected,
                              **environment)
        return run.figures if run and run.ok else None

    def probe(self, title, *words, expected=0):
        run = self.runner.run(title, [self.program("gpu_probe"), *words, "--device", self.device], expected)
        return run.figures if run and run.ok else None

    def precisions(self):
        """Those that the device has; a run says so."""
        if self.known_precisions is None:
            try_tf32 = [self.plimsoll, "train", "--model", "mlp", "--data", "synthetic", "--image", "8x8x1", "--batch",
                        "8", "--model-costs", "--steps", "1", "--device", self.device, "--precision", "tf32",
                        "--no-progress"]
            error = os.path.join(self.runner.work, "tf32")
            code, _ = self.runner.execute(try_tf32, max(1, min(20, self.runner.left())), {}, os.devnull, error)
            self.known_precisions = [name for name in PRECISIONS if name != "tf32" or code == 0]
        return self.known_precisions

    def everything(self, small_mib, mib):
        """All that a run may take of the GPU. Context and libraries took `outside_bytes` in a step of the smallest net;
        others take up to a quarter more."""
        return f"{small_mib + self.options.outside_bytes * 5 // 4 // MIB}MiB" if self.small else f"{mib}MiB"

    def tests(self, title, *command, **environment):
        """Criterion's programs; where nothing was tested, nothing has passed."""
        if not os.path.exists("/proc/self/exe") or not os.access("/dev/shm", os.W_OK):
            self.part.worse("SKIP", "the tests need /proc and a /dev/shm that can be written to")
            return
        run = self.runner.run(title, command, OMP_WAIT_POLICY="passive", **environment)
        if not run or not run.ok:
            return
        text = run.output + run.error
        if re.search(r"^\[SKIP\]", text, re.M) and not re.search(r"^\[PASS\]", text, re.M):
            self.part.worse("SKIP", f'"{title}" found no GPU')
        elif not re.search(r"^\[PASS\]", text, re.M):
            self.part.worse("failed", f'"{title}" found no test')


# ---- what works at all ----

def part_libraries(check):
    check.figures("Device and libraries", "train", "--model", "mlp", "--data", "synthetic", "--image", "8x8x1",
                  "--batch", "32", "--device", check.device, "--model-costs", "--steps", "4")


def part_kernels(check):
    check.tests("Kernels on the GPU against the CPU", check.program("test_kernels_cuda"), "--jobs=1", "--verbose")


def part_variants(check):
    """The profiler prepares each variant, queues, captures and compares it, and drops what fails."""
    shutil.rmtree(os.path.join(check.runner.work, "plimsoll"), ignore_errors=True)  # what the parts before measured
    profiled = check.net if not check.small else [*check.net, "--batch", "2", "--repeats", "1"]
    for precision in ("fp32", "bf16"):
        words = ["profile", *profiled, "--precision", precision]
        found = check.figures(f"Every variant of ResNet-20, {precision}", *words)
        if not found:
            continue
        check.part.dropped += found.get("variants_dropped", [])
        check.part.measure(dropped=len(check.part.dropped))
        if precision != "fp32":
            continue
        check.part.measure(start=check.part.runs[-1]["seconds"], built=found.get("kernels_built", 0))
        found = check.figures("A second start", *words)
        if found:
            check.part.measure(restart=check.part.runs[-1]["seconds"], rebuilt=found.get("kernels_built", 0))


def part_options(check):
    trace = os.path.join(check.runner.work, "trace")
    shrink = ["--memory-at", "6=90%", "--numerics", "small"]  # workspaces of libraries leave no room in a small net
    queued = 0 if check.on_gpu else 2  # a CPU has no graph to do without, and refuses
    pairs = [
        (0, "trace, times in place", "--trace", trace, "--retime", "8"),
        (0, "trace, no times in place", "--trace", trace, "--retime", "0"),
        (queued, "trace, queued", "--trace", trace, "--no-cuda-graph"),
        (queued, "times in place, queued", "--retime", "8", "--no-cuda-graph"),
        (0, "a budget, times in place", "--memory", "90%", "--retime", "8"),
        (0, "a budget that shrinks, times in place", *shrink, "--retime", "8"),
        (queued, "a budget that shrinks, queued", *shrink, "--no-cuda-graph"),
        (0, "online", "--online", "coop", "--memory", "95%"),
    ]
    if check.on_gpu:
        pairs += [(0, "a budget of everything, trace", "--vram", check.everything(128, 4096), "--trace", trace),
                  (2, "addresses of the heap, which a GPU refuses", "--addresses", "jemalloc")]
    else:
        pairs += [(2, "a budget of everything, which a CPU refuses", "--vram", "2GiB"),
                  (0, "addresses of the heap", "--addresses", "jemalloc")]
    well = 0
    for expected, title, *words in pairs:
        run = check.runner.run(title, [check.plimsoll, "train", *check.tiny, "--no-progress", *words], expected)
        well += bool(run and run.ok)
    check.part.measure(option_pairs=well)


def part_suite(check):
    """What counts the GPU's free bytes runs by itself; on the CPU it would be skipped."""
    rest = "@(trainer|checkpoint|profiler|roofline|exec_models)/*" if check.small else "!(gpu)/*"
    groups = [("Variants, bits, memory", 1, "gpu/*")] if check.on_gpu else []
    if not check.options.no_suite:
        for title, jobs, names in groups + [("Runs", 4, rest)]:
            check.tests(f"{title} on {check.device}", check.program("test_on_device"), f"--jobs={jobs}", "--filter",
                        names, "--verbose", PLIM_TEST_DEVICE=check.device)


def part_verify(check):
    same = 0
    for memory in ("100%", "90%", "80%", "70%", "60%", "50%"):
        found = check.figures(f"Weights at {memory} of the keep-all bytes", "verify", *check.planned, "--steps", "4",
                              "--memory", memory)
        same += bool(found and found.get("identical"))
    check.part.measure(verified=same)


def part_paging(check):
    """Copies on streams of their own beside kernels, queued and captured; without recomputation all of it pages."""
    arena = check.device if check.device != "cuda" else "cuda:0"
    same, slower = 0, []
    for memory in ("80%", "65%", "50%"):
        found = check.figures(f"Weights at {memory} of the keep-all bytes, paged", "verify", *check.planned,
                              "--steps", "4", "--recompute", "off", "--memory", f"{arena}={memory},host=4GiB")
        same += bool(found and found.get("identical") and found["capped"].get("host_arena_bytes", 0) > 0)
    check.part.measure(paged=same)
    check.runner.run("A step that pages, queued", [
        check.plimsoll, "train", *check.planned, "--steps", "4", "--recompute", "off", "--trial", "0",
        "--no-cuda-graph", "--no-progress", "--memory", f"{arena}=50%,host=4GiB"])
    for recompute in ("off", "on"):
        found = check.figures(f"Half of the keep-all bytes against all, paged, recompute {recompute}", "compare",
                              *check.planned, "--recompute", recompute, "--memory", f"{arena}=50%,host=4GiB", "--steps",
                              str(check.steps))
        slower.append(f"{find(found, 'overhead_measured_percent'):.1f}" if found else "-")
    check.part.measure(paged_overhead=", ".join(slower))


def part_overhead(check):
    found = check.figures("Half of the keep-all bytes against all", "compare", *check.planned, "--memory", "50%",
                          "--steps", str(check.steps * 3 + 20))
    if not found:
        return
    measured, predicted = found["capped"]["step_ms"], found["keep_all"]["step_ms"]
    again = found.get("retimed", {})
    if again.get("taken"):
        predicted = again["again_ns"] / 1e6  # of the new plan, by times in place
    else:  # by the keep-all run, which has the kernels of the plan
        predicted *= (100 + found["capped"]["overhead_percent"]) / (100 + found["keep_all"]["overhead_percent"])
    check.part.measure(overhead=find(found, "overhead_measured_percent"), prediction=abs(predicted / measured - 1) * 100)


# ---- times ----

def part_timer(check):
    """Times in place are the GPU's own, between two timing events of a captured step; the step is the host's."""
    found = check.figures("ResNet-20, times in place", "train", *check.net, "--steps", str(check.steps + 20),
                          "--retime", "8")
    again = (found or {}).get("retimed", {})
    if again.get("measured_ns"):
        inside = again["measured_ns"]
        check.part.measure(op_times=again["predicted_ns"] / inside, op_sum=inside / (found["step_ms"] * 1e6))
    if not check.on_gpu:
        return
    found = check.probe("The clock of op times", "timer")
    if found:
        check.part.measure(empty_graph_us="{empty_graph_us:.2f}, {empty_graph_sigma_us:.2f}".format(**found),
                           tick_us="{tick_us:.2f}, {tick_sigma_us:.2f}".format(**found))
        if found["kernel_of_16_us"] > 0:
            check.part.measure(kernel_once=found["kernel_us"] / found["kernel_of_16_us"])
    found = check.probe("One captured step back to back", "replay", *size(check))
    if found:
        check.part.measure(idle=found["idle_percent"], kernels_a_step=found["kernels_a_step"])


def size(check):
    return ["--batch", "32", "--side", "8"] if check.small else ["--batch", "128", "--side", "32"]


def part_plans(check):
    found = check.probe("Kernels of the convolutions", "plans", *size(check))
    if found:
        check.part.measure(plan_ms="{list_ms_mean:.1f}, {list_ms_most:.1f}; {build_ms_mean:.1f}, {build_ms_most:.1f}"
                           .format(**found))


def part_bodies(check):
    found = check.probe("Single-source kernels beside the memory", "bodies", *size(check))
    if found:
        check.part.measure(bodies_percent=found["percent_of_ceiling"])


def part_layouts(check):
    for precision in check.precisions():
        speeds = []
        for layout in ("nhwc", "flat"):
            found = check.figures(f"{precision}, {layout}", "train", *check.planned, "--steps", str(check.steps),
                                  "--precision", precision, "--layout", layout)
            if found:
                speeds.append(f"{layout} {found['images_per_second']:.0f}")
        check.part.measure(**{f"layout_{precision}": ", ".join(speeds) or None})


def part_families(check):
    """A cell is a layout in a precision; the page adds up the precisions."""
    seconds = str(max(1, int(check.runner.left() - 2)))
    found = check.probe("Convolutions of ResNet-50 by family", "families", *size(check), "--seconds", seconds)
    if not found:
        return
    failed, untimed = [], 0
    for layout in ("nhwc", "flat"):
        families = {}
        for cell in found["cells"]:
            if cell["layout"] != layout:
                continue
            untimed += cell["convolutions"] - cell["timed"]
            for row in cell["rows"]:
                run, won = families.get(row["family"], (0, 0))
                families[row["family"]] = (run + row["convolutions"], won + row["wins"])
                if row["failed"]:
                    failed.append(f"{row['family']} in {layout}, {cell['precision']}: {row['failed']}")
        words = ", ".join(f"{family} {run}:{won}" for family, (run, won) in families.items())
        check.part.measure(**{f"layout_families_{layout}": words or None})
    if untimed:
        check.part.worse("no time", f"for {untimed} of the convolutions")
    if failed:
        check.part.worse("failed", "convolutions that no kernel of a family runs: " + "; ".join(failed))


def part_ops(check):
    for precision in check.precisions():
        check.figures(f"Ops, {precision}", "profile", *check.net, "--precision", precision, "--ceilings")


def part_graph(check):
    check.figures("Captured", "train", *check.planned, "--steps", str(check.steps))
    check.figures("Queued", "train", *check.planned, "--steps", str(check.steps), "--no-cuda-graph")


def part_dnn(check):
    for precision in check.precisions():
        words = ["train", *check.planned, "--steps", str(check.steps), "--precision", precision]
        check.figures(f"{precision}, no cuDNN", *words, PLIM_CUDNN="none")


def part_budgets(check):
    for memory in ("100%", "75%", "60%", "50%"):
        check.figures(f"ResNet-20 at {memory}", "train", *check.planned, "--steps", str(check.steps), "--memory",
                      memory)


def part_train(check):
    check.figures("Real images", "train", *check.images, *check.options.data)


def part_torch(check):
    """The package of tools/python on the GPU; its peaks are those of torch.cuda.max_memory_allocated."""
    bench = os.path.join(check.options.tools, "python", "bench")
    libraries = (os.path.join(check.options.bin, "..", folder, "libplimsoll-plan.so") for folder in ("lib", "."))
    library = os.environ.get("PLIMSOLL_LIBRARY") or next(filter(os.path.exists, libraries), None)
    if not library or not os.path.exists(bench):
        check.part.worse("SKIP", "libplimsoll-plan.so or tools/python/bench is not here")
        return
    out, error, rows = (os.path.join(check.runner.work, name) for name in ("torch_out", "torch_error", "torch"))
    can = "import torch; assert torch.cuda.is_available(), 'PyTorch finds no GPU'; import plimsoll.torch"
    package = {"PYTHONPATH": os.path.dirname(bench), "PLIMSOLL_LIBRARY": os.path.realpath(library)}
    code, _ = check.runner.execute([check.options.python, "-c", can], max(1, min(60, check.runner.left())), package, out,
                                   error)
    if code != 0:
        why = (read(error).strip().splitlines() or ["it says nothing"])[-1]
        check.part.worse("SKIP", f"plimsoll.torch does not run here: {why}")
        return
    check.runner.run("Planned steps of PyTorch", [
        check.options.python, bench, "eager", "--device", "cuda", "--models", "gpt,resnet18", "--budgets", "3",
        "--seconds", f"{max(1, check.runner.left() - 5):.0f}", "--out", rows], **package)
    found = [row for model in (load(os.path.join(rows, "eager.json")) or {}).values() for row in model["rows"]]
    found = [row for row in found if "measured_bytes" in row]
    if found:
        good = [row for row in found if row["measured_bytes"] <= row["budget_bytes"] and row["bitwise"]]
        check.part.measure(torch_steps=len(good), torch_plan=max(
            abs(row["planned_bytes"] / row["measured_bytes"] - 1) * 100 for row in found))


# ---- memory, faults, sums ----

def part_memory(check):
    everything, steps = check.everything(64, 3072), check.steps if check.small else 2000
    found = check.figures(f"ResNet-20 in {everything} of the GPU, in total", "train", *check.planned, "--steps",
                          str(steps), "--vram", everything)
    if found:
        check.part.measure(outside_growth=found.get("gpu_growth_bytes"))
    found = check.probe("Allocations and a captured graph", "memory")
    if found:
        check.part.measure(alignment=found["alignment_bytes"],
                           graph_bytes="{graph_bytes}, {graph_kept_bytes} of them kept".format(**found))


def part_lost(check):
    run = check.runner.run("An illegal address", [check.program("gpu_probe"), "lost", "--device", check.device], 5)
    if run and run.ok and "CUDA error 700" not in run.error:
        check.part.worse("failed", "the sentence does not name CUDA error 700")


def part_sums(check):
    found = check.probe("A sum of 65536 products in bf16", "sums")
    if found and found.get("relative_error") is None:
        check.part.worse("SKIP", found["why"])
    elif found:
        check.part.measure(sums_error=found["relative_error"])


def part_large(check):
    found = check.probe("An op over many elements", "large")
    if found:
        check.part.measure(large_elements=found["elements"] if found["right"] else 0)
    both = check.probe("Two GPUs in one process", "devices")
    for row, what in ((found, "an op over many elements"), (both, "GPUs in turns")):
        if row and not row["right"]:
            check.part.worse("failed", f"{what}: wrong bits")


def is_refused(check, command):
    """Sandboxes keep tools that look into the device from it; what they run under one says nothing of us."""
    out, error = (os.path.join(check.runner.work, name) for name in ("refused", "refused_error"))
    check.runner.execute(command, max(1, min(8, check.runner.left())), {}, out, error)
    return any("Device not supported" in read(path) for path in (out, error))


def part_sanitizer(check):
    if not shutil.which("compute-sanitizer", path=check.runner.environment.get("PATH")):
        check.part.worse("SKIP", "compute-sanitizer is not installed; it comes with the CUDA toolkit")
        return
    checked = ["compute-sanitizer", "--error-exitcode", "9"]
    if is_refused(check, [*checked, check.program("gpu_probe"), "memory", "--device", check.device]):
        check.part.worse("SKIP", "compute-sanitizer says that it does not support this device")
        return
    kernels = ["--target-processes", "all", check.program("test_kernels_cuda"), "--jobs=1", "--verbose"]
    steps = [check.plimsoll, "train", "--model", "mlp", "--data", "synthetic", "--image", "8x8x1", "--batch", "32",
             "--device", check.device, "--model-costs", "--steps", "4", "--no-progress"]
    large = [check.program("gpu_probe"), "large", "--device", check.device]
    runs = [(f"{tool} of every kernel", ["--tool", tool, *kernels])
            for tool in ("racecheck", "memcheck", "initcheck", "synccheck")]
    runs += [("memcheck of a few steps", steps), ("memcheck of an op over more elements than 31 bits count", large)]
    for at, (title, words) in enumerate(runs):  # the slowness of one leaves the others their share
        check.runner.run(title, [*checked, *words], share=1 / (len(runs) - at), OMP_WAIT_POLICY="passive")


# ---- beside PyTorch ----

def torch_missing(check):
    """Why the peer cannot run, or None."""
    python = check.options.python
    if not shutil.which(python):
        return f"{python} is not there; --python names one that has PyTorch"
    run = ("import sys, torch\n"
           "sys.exit('its PyTorch ' + torch.__version__ + ' sees no GPU' if not torch.cuda.is_available() else 0)\n")
    error = os.path.join(check.runner.work, "torch")
    code, cut = check.runner.execute([python, "-c", run], max(1, min(30, check.runner.left())), {}, os.devnull, error)
    if code == 0:
        return None
    with open(error, encoding="utf-8", errors="replace") as file:
        words = (file.read().strip().split("\n") or [""])[-1]
    if cut:
        return f"{python} did not import torch in time"
    if "No module named" in words:
        return f"{python} has no PyTorch: {python} -m pip install torch numpy, or --python FILE of one that has"
    return f"{python}: {words}"


def peer(check, net, precision, share):
    """`share`: of what is left to the part."""
    batch, shape = PEERS[net]
    channels, height, width = shape.split("x")
    path = os.path.join(check.runner.work, "peer.json")
    if os.path.exists(path):
        os.unlink(path)
    ours = (f"plimsoll={check.plimsoll} train --model {net} --batch {batch} --device {check.device} --data synthetic "
            f"--image {height}x{width}x{channels} --no-augment --precision {precision} --steps 60 --profile-time 12s "
            "--json --no-progress")
    run = check.runner.run(f"{net} at batch {batch}, {precision}", [
        check.options.python, os.path.join(check.options.tools, "bench_pytorch.py"), "--device", "cuda", "--math",
        precision, "--model", net, "--batch", batch, "--shape", shape, "--rounds", "3", "--steps", "30", "--seconds",
        f"{max(1, (check.runner.left() - 2) * share):.0f}", "--out", path, "--ours", ours], late_status=LATE)
    if run and run.code == LATE:
        check.part.worse("no time", f"{net}, {precision}: {run.error.strip().splitlines()[-1]}")
    results = (load(path) or {}).get("results", {})  # also of a command that was cut, or where a mode failed
    speed = {mode: row["images_per_second"] for mode, row in results.items()}
    if "plimsoll" not in speed:
        return
    check.part.measure(**{f"{net}_{precision}_ours": round(speed["plimsoll"])})
    for suffix, mode, _ in BESIDE:
        if mode in speed:
            check.part.measure(**{f"{net}_{precision}{suffix}": speed["plimsoll"] / speed[mode]})


def peers(check, rows):
    why = torch_missing(check)
    if why:
        check.part.worse("SKIP", why)
        return
    for at, (net, precision) in enumerate(rows):
        peer(check, net, precision, 1 / (len(rows) - at))


def part_peer20(check):
    peers(check, [("resnet20", "bf16")])


def part_peer18(check):
    peers(check, [("resnet18", "bf16")])


def part_peer50(check):
    peers(check, [("resnet50", "bf16")])


def part_peer32(check):
    peers(check, [(net, precision) for precision in check.precisions() if precision != "bf16" for net in PEERS])


def part_ctest(check):
    folder = check.options.build_folder
    if not os.path.isdir(folder) or os.path.join(folder, "bin") != check.options.bin:
        check.part.worse("SKIP", "no project was built here")
        return
    run = check.runner.run("Building the rest", ["cmake", "--build", folder, "-j", str(os.cpu_count() or 1)])
    if run and run.ok:
        check.runner.run("Every other test", ["ctest", "--test-dir", folder, "--output-on-failure", "-E",
                                              "^test_(kernels_cuda|on_device)$"])
