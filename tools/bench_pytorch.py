#!/usr/bin/env python3
"""Measure a training step of PyTorch on the CPU: images per second and peak bytes of its tensors.

The peer that the figures of this project are compared with. It needs PyTorch in an environment of its own and is used
by no build and no test:

    python3 -m venv ~/venv-torch && ~/venv-torch/bin/pip install torch numpy
    ~/venv-torch/bin/python tools/bench_pytorch.py --model resnet20 --batch 128 --out peer.json \\
        --ours "keep-all=build/bin/plimsoll train --model resnet20 --data synthetic --batch 128 --steps 20 --json"

Every way of running (a "mode") lives in a process of its own; the modes, and with --ours a command of ours, take turns
in chunks of a few steps, so that noise of the machine hits all alike. Peak bytes are those of CPU tensors: what is
alive before a step (parameters, statistics, momentum, the batch) plus the highest running sum of the allocations and
releases that the profiler of PyTorch reports during one step.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

# mode: channels last, tuned allocator, torch.compile with this activation budget, checkpoint every block
MODES = {
    "eager-nchw": (False, False, None, False),
    "eager-nhwc": (True, False, None, False),
    "eager-nhwc-tuned": (True, True, None, False),
    "checkpoint": (True, True, None, True),
    "compile": (True, True, 1.0, False),
    **{f"compile-{b:.1f}": (True, True, b, False) for b in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)},
}

# glibc's malloc gives large blocks back to the system at every release; told not to, a step is up to 20 % faster.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["resnet20", "resnet18"], default="resnet20")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--shape", default="3x32x32", help="channels x height x width (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--modes", default="eager-nchw,eager-nhwc,eager-nhwc-tuned,checkpoint,compile,compile-0.8",
                        help="comma-separated, or all: " + ", ".join(MODES))
    parser.add_argument("--rounds", type=int, default=5, help="turns that each mode takes (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="steps a turn (default: %(default)s)")
    parser.add_argument("--ours", metavar="NAME=CMD", action="append", default=[],
                        help="shell command to take turns with, as often as wanted; prints one JSON object with "
                             "images_per_second and arena_bytes")
    parser.add_argument("--out", help="write the JSON here as well as the table to the terminal")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.shape = [int(size) for size in args.shape.split("x")]
    args.modes = list(MODES) if args.modes == "all" else args.modes.split(",")
    for mode in args.modes:
        if mode not in MODES:
            parser.error(f'no mode is called "{mode}"; there are: {", ".join(MODES)}')
    for row in args.ours:
        if "=" not in row:
            parser.error(f'--ours takes NAME=CMD, not "{row}"')
    args.ours = dict(row.split("=", 1) for row in args.ours)
    return args


# ---- the models ----

def make_model(name, channels, checkpointed):
    """resnet20: the CIFAR form with 1x1 projections; resnet18: its first layer is 3x3, for small images."""
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    def conv_bn(inputs, outputs, kernel, stride):
        return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
                             nn.BatchNorm2d(outputs))

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first, self.second = conv_bn(inputs, outputs, 3, stride), conv_bn(outputs, outputs, 3, 1)
            changes = stride != 1 or inputs != outputs
            self.shortcut = conv_bn(inputs, outputs, 1, stride) if changes else nn.Identity()

        def body(self, x):
            return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))

        def forward(self, x):
            return checkpoint(self.body, x, use_reentrant=False) if checkpointed else self.body(x)

    widths, depth = ((16, 32, 64), 3) if name == "resnet20" else ((64, 128, 256, 512), 2)
    layers, inputs = [conv_bn(channels, widths[0], 3, 1), nn.ReLU()], widths[0]
    for stage, width in enumerate(widths):
        for block in range(depth):
            layers.append(Block(inputs, width, 2 if stage and not block else 1))
            inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


# ---- a worker: one mode in a process of its own ----

class Worker:
    def __init__(self, args):
        import torch
        self.torch = torch
        torch.set_num_threads(args.threads)
        torch.manual_seed(1)
        channels_last, _, budget, checkpointed = MODES[args.worker]
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.model = make_model(args.model, args.shape[0], checkpointed).to(memory_format=layout)
        self.images = torch.randn(args.batch, *args.shape).contiguous(memory_format=layout)
        self.labels = torch.randint(0, 10, (args.batch,))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4,
                                         fused=True)
        self.call = self.model
        if budget is not None:
            import torch._functorch.config as functorch
            functorch.activation_memory_budget = budget
            self.call = torch.compile(self.model)

    def step(self):
        loss = self.torch.nn.functional.cross_entropy(self.call(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def times(self, count):
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - begin)
        return seconds

    def resting_bytes(self):
        momentum = [value for state in self.optimizer.state.values() for value in state.values()]
        tensors = [*self.model.parameters(), *self.model.buffers(), *momentum, self.images, self.labels]
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
                    for t in tensors if isinstance(t, self.torch.Tensor)}
        return sum(storages.values())

    def peak_bytes(self):
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
            answer = self.peak_bytes() if what == "peak" else self.times(int(rest[0]))
            print(json.dumps(answer), flush=True)


# ---- the bench ----

class Mode:
    def __init__(self, args, mode):
        command = [sys.executable, os.path.abspath(__file__), "--worker", mode, "--model", args.model,
                   "--batch", str(args.batch), "--shape", "x".join(map(str, args.shape)),
                   "--threads", str(args.threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), **(TUNED if MODES[mode][1] else {})}
        self.seconds = []
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        begin = time.perf_counter()
        self.ask("steps 3")  # the first one compiles
        self.first_seconds = time.perf_counter() - begin

    def ask(self, request):
        print(request, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the worker ended with status {self.process.wait()} at the request: {request}")
        return json.loads(answer)

    def result(self, batch):
        median = statistics.median(self.seconds)
        return {"images_per_second": batch / median, "best_images_per_second": batch / min(self.seconds),
                "step_seconds_median": median, "step_seconds_min": min(self.seconds),
                "peak_bytes": self.ask("peak"), "first_seconds": self.first_seconds, "steps": len(self.seconds)}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run_ours(command):
    return json.loads(subprocess.run(command, shell=True, check=True, text=True, stdout=subprocess.PIPE).stdout)


def ours_result(answers):
    speeds = [answer["images_per_second"] for answer in answers]
    return {"images_per_second": statistics.median(speeds), "best_images_per_second": max(speeds),
            "peak_bytes": answers[-1]["arena_bytes"], "turns": len(answers)}


def versions():
    import torch
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), "unknown")
    onednn = [part.strip() for part in torch.__config__.show().splitlines() if "MKL-DNN" in part]
    return {"torch": torch.__version__, "onednn": onednn[0].lstrip("- ") if onednn else "none",
            "python": sys.version.split()[0], "cpu": cpu,
            "capability": torch.backends.cpu.get_cpu_capability()}


def measure(args):
    modes, ours, results = {}, {name: [] for name in args.ours}, {}
    for mode in args.modes:
        print(f"starting {mode}", file=sys.stderr)
        modes[mode] = Mode(args, mode)
    for turn in range(args.rounds):
        print(f"round {turn + 1} of {args.rounds}", file=sys.stderr)
        for mode in modes.values():
            mode.seconds += mode.ask(f"steps {args.steps}")
        for name, command in args.ours.items():
            ours[name].append(run_ours(command))
    for name, mode in modes.items():
        results[name] = mode.result(args.batch)
        mode.close()
    results.update({name: ours_result(answers) for name, answers in ours.items()})
    return results


def show(results):
    print(f"{'mode':20} {'images/s':>9} {'best':>9} {'peak MiB':>9}")
    for name, row in results.items():
        print(f"{name:20} {row['images_per_second']:9.1f} {row['best_images_per_second']:9.1f} "
              f"{row['peak_bytes'] / 2**20:9.1f}")


def main():
    args = arguments()
    if args.worker:
        Worker(args).serve()
        return
    results = measure(args)
    document = {"model": args.model, "batch": args.batch, "shape": args.shape, "threads": args.threads,
                "versions": versions(), "results": results}
    show(results)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
