#!/usr/bin/env python3
"""Measure a training step of PyTorch on the CPU or a GPU: images per second and peak bytes of its tensors.

The peer that the figures of this project are compared with. It needs PyTorch in an environment of its own and is used
by no build and no test:

    python3 -m venv ~/venv-torch && ~/venv-torch/bin/pip install torch numpy
    ~/venv-torch/bin/python tools/bench_pytorch.py --model resnet20 --batch 128 --out peer.json \\
        --ours "keep-all=build/bin/plimsoll train --model resnet20 --data synthetic --batch 128 --steps 20 --json"

Every way of running (a "mode") lives in a process of its own; the modes, and with --ours a command of ours, take turns
in chunks of a few steps, so that noise of the machine hits all alike. Peak bytes are those of tensors. On the CPU: what
is alive before a step (parameters, statistics, momentum, the batch) plus the highest running sum of the allocations and
releases that the profiler of PyTorch reports during one step; on a GPU what its allocator reports. CPU seconds are those
of all threads, which a busy machine changes less than seconds do; OMP_WAIT_POLICY=passive keeps waiting out of them.

With --device cuda every mode but those that end in "-any" may only use deterministic algorithms, as we do; --math bf16
is autocast over float weights. Data stay on the GPU, and the host waits for a turn alone. Rows that end in "+copies" are
the same process doing in each step what we do: images and labels come from pinned host memory, and the loss is read.

A mode or a command that fails, or with --seconds is not ready in time, is left out and named under "failed" or "late"; the others
go on. The JSON is written after each round. Exit status: 0, 1 when something failed, or 3 when nothing did, but some
modes were not ready in time.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

Mode = collections.namedtuple("Mode", "channels_last tuned budget checkpointed compiler any saved",
                              defaults=(True, True, None, False, "default", False, None))
# tuned: the allocator; budget: torch.compile with this share of the activations; any: nondeterministic algorithms too;
# saved: where tensors that the backward pass needs are kept meanwhile
MODES = {
    "eager-nchw": Mode(channels_last=False, tuned=False),
    "eager-nhwc": Mode(tuned=False),
    "eager-nhwc-tuned": Mode(),
    "checkpoint": Mode(checkpointed=True),
    "save-on-cpu": Mode(saved="cpu"),
    "save-to-file": Mode(saved="file"),
    "compile": Mode(budget=1.0),
    **{f"compile-{b:.1f}": Mode(budget=b) for b in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)},
    "compile-max": Mode(budget=1.0, compiler="max-autotune"),  # with captured graphs, on a GPU
    "compile-max-any": Mode(budget=1.0, compiler="max-autotune", any=True),
}
MODELS = ("resnet20", "resnet18", "resnet34", "resnet50", "vgg16", "mobilenet", "densenet121", "unet", "gpt")
GPT_SIZES = {"layers": 6, "width": 384, "heads": 6, "context": 256}

DEFAULT_MODES = {"cpu": "eager-nchw,eager-nhwc,eager-nhwc-tuned,checkpoint,compile,compile-0.8",
                 "cuda": "eager-nhwc,compile,compile-max,compile-max-any"}

# glibc's malloc gives large blocks back to the system at every release; told not to, a step is up to 20 % faster.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20)}


PEAK_OF = r"\{peak:([^}]*)\}"
READY = 0.6  # of --seconds: when a mode must have done its first steps


class Failed(Exception):
    """One mode, or one command of ours."""


class Late(Failed):
    """It was not ready in time."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet20")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--math", choices=["fp32", "tf32", "bf16"], default="fp32")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--shape", default="3x32x32", help="channels x height x width (default: %(default)s)")
    for name, size in GPT_SIZES.items():
        parser.add_argument("--" + name, type=int, default=size, help="of gpt (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--modes", help="comma-separated, or all: " + ", ".join(MODES) + " (default on the CPU: "
                        + DEFAULT_MODES["cpu"] + "; on a GPU: " + DEFAULT_MODES["cuda"] + ")")
    parser.add_argument("--rounds", type=int, default=5, help="turns that each mode takes (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="steps a turn (default: %(default)s)")
    parser.add_argument("--ours", metavar="NAME=CMD", action="append", default=[],
                        help="shell command to take turns with, as often as wanted; prints one JSON object with "
                             "images_per_second and arena_bytes; {peak:MODE} in it stands for the peak bytes of a mode")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="end within about so many; modes that are not ready by then are left out")
    parser.add_argument("--copies", action="store_true", help="rows that end in +copies also on the CPU")
    parser.add_argument("--out", help="write the JSON here as well as the table to the terminal")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", args.shape):
        parser.error(f"--shape {args.shape} is not CHANNELSxHEIGHTxWIDTH")
    args.shape = [int(size) for size in args.shape.split("x")]
    args.copies = args.copies or args.device == "cuda"
    modes = args.modes or DEFAULT_MODES[args.device]
    args.modes = list(MODES) if modes == "all" else modes.split(",")
    if args.device == "cpu" and args.math == "tf32":
        parser.error("tf32 is a mode of GPUs")
    for mode in args.modes:
        if mode not in MODES:
            parser.error(f'no mode is called "{mode}"; there are: {", ".join(MODES)}')
    for row in args.ours:
        if "=" not in row:
            parser.error(f'--ours takes NAME=CMD, not "{row}"')
    args.ours = dict(row.split("=", 1) for row in args.ours)
    for command in args.ours.values():
        for mode in re.findall(PEAK_OF, command):
            if mode not in args.modes:
                parser.error(f"{{peak:{mode}}} asks for a mode that is not measured")
    return args


# ---- a worker: one mode in a process of its own ----

class SavedToFiles:
    """Hooks that keep what the backward pass needs in files of the temporary folder. Parameters stay in memory."""
    def __init__(self, torch):
        self.torch = torch
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0

    def pack(self, tensor):
        if tensor.is_leaf and tensor.requires_grad or tensor.numel() == 0:
            return tensor
        self.count += 1
        path = os.path.join(self.folder.name, str(self.count))
        dense = tensor.permute(sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d)))
        if not dense.is_contiguous():
            return tensor
        dense.detach().numpy().tofile(path)
        return path, tensor.dtype, tensor.shape, tensor.stride()

    def unpack(self, packed):
        if isinstance(packed, self.torch.Tensor):
            return packed
        path, dtype, shape, stride = packed
        flat = self.torch.empty(shape.numel(), dtype=dtype)
        with open(path, "rb") as file:
            file.readinto(memoryview(flat.numpy()).cast("B"))
        os.unlink(path)
        return flat.as_strided(shape, stride)

    def hooks(self):
        return self.torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)



class Worker:
    def __init__(self, args):
        self.answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # what libraries print is no answer
        import torch
        self.torch = torch
        self.on_gpu = args.device == "cuda"
        torch.set_num_threads(args.threads)
        torch.manual_seed(1)
        mode = MODES[args.worker]
        if self.on_gpu:
            self.choose_arithmetic(args.math, mode.any)
        if args.model == "gpt":
            self.make_gpt(args, mode)
        else:
            self.make_image_model(args, mode)
        self.host_images, self.host_labels = self.images.cpu().clone(), self.labels.cpu().clone()
        if self.on_gpu:
            self.host_images, self.host_labels = self.host_images.pin_memory(), self.host_labels.pin_memory()
        self.cast = (torch.autocast(args.device, dtype=torch.bfloat16) if args.math == "bf16"
                     else contextlib.nullcontext())
        self.saved = {None: contextlib.nullcontext, "cpu": torch.autograd.graph.save_on_cpu,
                      "file": SavedToFiles(torch).hooks}[mode.saved]
        self.call = self.model
        if mode.budget is not None:
            import torch._functorch.config as functorch
            functorch.activation_memory_budget = mode.budget
            self.call = torch.compile(self.model, mode=mode.compiler)

    def make_image_model(self, args, mode):
        from bench_pytorch_models import CLASSES, image_model
        torch = self.torch
        layout = torch.channels_last if mode.channels_last else torch.contiguous_format
        self.model = image_model(args.model, args.shape[0], args.shape[1:], mode.checkpointed)
        self.model.to(args.device, memory_format=layout)
        self.images = torch.randn(args.batch, *args.shape).to(args.device, memory_format=layout)
        self.labels = torch.randint(0, CLASSES, (args.batch,)).to(args.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4,
                                         fused=True)

    def make_gpt(self, args, mode):
        """Images are sequences here."""
        from bench_pytorch_models import GPT, adamw
        torch = self.torch
        self.model = GPT(args.layers, args.width, args.heads, args.context, mode.checkpointed).to(args.device)
        tokens = torch.randint(0, 256, (args.batch, args.context + 1)).to(args.device)
        self.images, self.labels = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        self.optimizer = adamw(self.model, 1e-3, fused=True)

    def loss(self):
        if self.labels.dim() > 1:
            return self.call(self.images, self.labels) / self.labels.numel()
        return self.torch.nn.functional.cross_entropy(self.call(self.images), self.labels)

    def choose_arithmetic(self, math, any_algorithm):
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = math == "tf32"
        torch.backends.cudnn.benchmark = True
        torch.use_deterministic_algorithms(not any_algorithm, warn_only=True)  # max pooling has none

    def step(self, copied=False):
        if copied:
            self.images.copy_(self.host_images, non_blocking=True)
            self.labels.copy_(self.host_labels, non_blocking=True)
        with self.cast, self.saved():
            loss = self.loss()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if copied:
            loss.item()

    def times(self, count, copied=False):
        """Seconds and CPU seconds of single steps on the CPU; a GPU works through all of them, and each counts as
        their mean."""
        pairs, together = [], count if self.on_gpu else 1
        for _ in range(1 if self.on_gpu else count):
            begin, used = time.perf_counter(), time.process_time()
            for _ in range(together):
                self.step(copied)
            if self.on_gpu:
                self.torch.cuda.synchronize()
            pairs.append(((time.perf_counter() - begin) / together, (time.process_time() - used) / together))
        return pairs

    def resting_bytes(self):
        momentum = [value for state in self.optimizer.state.values() for value in state.values()]
        tensors = [*self.model.parameters(), *self.model.buffers(), *momentum, self.images, self.labels]
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
                    for t in tensors if isinstance(t, self.torch.Tensor)}
        return sum(storages.values())

    def peak_bytes(self):
        if self.on_gpu:
            return self.torch.cuda.max_memory_allocated()
        resting = self.resting_bytes()
        with self.torch.profiler.profile(activities=[self.torch.profiler.ProfilerActivity.CPU],
                                         profile_memory=True) as profile:
            self.step()
        changes = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
        now = peak = 0
        for event in sorted(changes, key=lambda e: e.start_ns()):
            now += event.nbytes()
            peak = max(peak, now)
        return resting + peak

    def serve(self):
        """One request a line on stdin, one JSON value a line on stdout."""
        for line in sys.stdin:
            what, *rest = line.split()
            answer = self.peak_bytes() if what == "peak" else self.times(int(rest[0]), copied=what == "copied")
            print(json.dumps(answer), file=self.answers, flush=True)


# ---- the bench ----

class Peer:
    """A worker and what it measured. It is a process group of its own: torch.compile has children."""
    def __init__(self, args, mode, deadline):
        command = [sys.executable, os.path.abspath(__file__), "--worker", mode, "--model", args.model,
                   "--batch", str(args.batch), "--shape", "x".join(map(str, args.shape)),
                   "--threads", str(args.threads), "--device", args.device, "--math", args.math]
        for name in GPT_SIZES:
            command += ["--" + name, str(getattr(args, name))]
        environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
                       **(TUNED if MODES[mode].tuned else {})}
        self.pairs, self.copied_pairs, self.deadline = [], [], deadline
        self.error = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.error, start_new_session=True)
        begin = time.perf_counter()
        self.ask("steps 3")  # the first one compiles
        self.first_seconds = time.perf_counter() - begin
        self.peak_bytes = self.ask("peak")

    def ask(self, request):
        """One line to the worker, one JSON value from it."""
        with contextlib.suppress(BrokenPipeError):
            print(request, file=self.process.stdin, flush=True)
        left = self.deadline - time.monotonic()
        ready, _, _ = select.select([self.process.stdout], [], [], None if left > 1e9 else max(0.0, left))
        if not ready:
            self.kill()
            raise Late(f"not ready in time, at the request: {request}")
        answer = self.process.stdout.readline()
        if not answer:
            raise Failed(self.last_words())
        return json.loads(answer)

    def last_words(self):
        status = self.process.wait()
        self.error.seek(0)
        text = self.error.read()
        print(text, file=sys.stderr, end="")
        lines = [line for line in text.split("\n") if line.strip()]
        return f"the worker ended with status {status}: {lines[-1].strip() if lines else 'no word'}"

    def result(self, batch, pairs):
        seconds = [second for second, _ in pairs]
        median = statistics.median(seconds)
        return {"images_per_second": batch / median, "best_images_per_second": batch / min(seconds),
                "images_per_cpu_second": batch / statistics.median(used for _, used in pairs),
                "step_seconds_median": median, "step_seconds_min": min(seconds),
                "peak_bytes": self.peak_bytes, "first_seconds": self.first_seconds, "steps": len(seconds)}

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()


def run_ours(command, seconds):
    try:
        run = subprocess.run(command, shell=True, check=False, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=None if seconds > 1e9 else max(1.0, seconds))
    except subprocess.TimeoutExpired:
        raise Failed(f"cut after {seconds:.0f} s") from None
    words = (run.stderr.strip() or "no word").split("\n")[-1]
    if run.returncode != 0:
        raise Failed(f"exit status {run.returncode}: {words}")
    try:
        answer = json.loads(run.stdout)
        found = {key: answer[key] for key in ("images_per_second", "arena_bytes")}
        return {**found, "images_per_cpu_second": answer.get("images_per_cpu_second")}
    except (ValueError, KeyError, TypeError):
        raise Failed("prints no JSON object with images_per_second and arena_bytes") from None


def ours_result(answers):
    speeds = [answer["images_per_second"] for answer in answers]
    used = [answer["images_per_cpu_second"] for answer in answers if answer["images_per_cpu_second"]]
    return {"images_per_second": statistics.median(speeds), "best_images_per_second": max(speeds),
            "images_per_cpu_second": statistics.median(used) if used else None,
            "peak_bytes": answers[-1]["arena_bytes"], "turns": len(answers)}


def versions():
    import torch
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), "unknown")
    onednn = [part.strip() for part in torch.__config__.show().splitlines() if "MKL-DNN" in part]
    return {"torch": torch.__version__, "onednn": onednn[0].lstrip("- ") if onednn else "none",
            "python": sys.version.split()[0], "cpu": cpu, "cuda": torch.version.cuda or "none",
            "capability": torch.backends.cpu.get_cpu_capability()}


class Bench:
    """The modes and commands that have not failed, in turns."""
    def __init__(self, args):
        self.args, self.failed, self.late, self.modes, self.commands = args, {}, {}, {}, {}
        self.begin = time.monotonic()
        self.end = self.begin + args.seconds
        self.answers = {name: [] for name in args.ours}

    def fail(self, name, words):
        print(f"{name}: {words}", file=sys.stderr)
        (self.late if isinstance(words, Late) else self.failed)[name] = str(words)

    def start(self):
        for mode in self.args.modes:
            print(f"starting {mode}", file=sys.stderr)
            try:
                self.modes[mode] = Peer(self.args, mode, self.begin + READY * self.args.seconds)
                self.modes[mode].deadline = self.end
            except Failed as words:
                self.fail(mode, words)
        for name, command in self.args.ours.items():
            missing = [mode for mode in re.findall(PEAK_OF, command) if mode not in self.modes]
            if missing:
                self.fail(name, f"the peak of {missing[0]} is not known")
            else:
                self.commands[name] = re.sub(PEAK_OF, lambda found: str(self.modes[found[1]].peak_bytes), command)

    def turn(self):
        for name, mode in list(self.modes.items()):
            try:
                mode.pairs += mode.ask(f"steps {self.args.steps}")
                if self.args.copies:
                    mode.copied_pairs += mode.ask(f"copied {self.args.steps}")
            except Failed as words:
                self.fail(name, words)
                self.modes.pop(name).close()
        for name, command in list(self.commands.items()):
            try:
                self.answers[name].append(run_ours(command, self.end - time.monotonic()))
            except Failed as words:
                self.fail(name, words)
                del self.commands[name]

    def results(self):
        results = {}
        for name, mode in self.modes.items():
            if mode.pairs:
                results[name] = mode.result(self.args.batch, mode.pairs)
            if mode.copied_pairs:
                results[name + "+copies"] = mode.result(self.args.batch, mode.copied_pairs)
        results.update({name: ours_result(answers) for name, answers in self.answers.items() if answers})
        return results

    def close(self):
        for mode in self.modes.values():
            mode.close()


def show(results):
    print(f"{'mode':24} {'images/s':>9} {'best':>9} {'a CPU s':>9} {'peak MiB':>9}")
    for name, row in results.items():
        print(f"{name:24} {row['images_per_second']:9.1f} {row['best_images_per_second']:9.1f} "
              f"{row['images_per_cpu_second'] or 0:9.1f} {row['peak_bytes'] / 2**20:9.1f}")


def write(args, bench):
    """All at once: who reads it finds the rounds so far."""
    document = {"model": args.model, "batch": args.batch, "shape": args.shape, "threads": args.threads,
                "device": args.device, "math": args.math, "versions": versions(), "results": bench.results(),
                "failed": bench.failed, "late": bench.late}
    if args.out:
        with open(args.out + ".tmp", "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        os.replace(args.out + ".tmp", args.out)


def main():
    args = arguments()
    if args.worker:
        Worker(args).serve()
        return 0
    bench = Bench(args)
    try:
        bench.start()
        for turn in range(args.rounds):
            if turn and time.monotonic() > bench.end:
                break
            print(f"round {turn + 1} of {args.rounds}", file=sys.stderr)
            bench.turn()
            write(args, bench)
    finally:
        bench.close()
    show(bench.results())
    for title, rows in (("late", bench.late), ("failed", bench.failed)):
        if rows:
            print(f"{title}: " + "; ".join(f"{name}: {words}" for name, words in rows.items()), file=sys.stderr)
    return 1 if bench.failed else 3 if bench.late else 0


if __name__ == "__main__":
    sys.exit(main())
