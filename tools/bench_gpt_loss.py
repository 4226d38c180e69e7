#!/usr/bin/env python3
"""Trains the model gpt with plimsoll and with a PyTorch program that shares nothing with it but the description.

usage: PYTHON tools/bench_gpt_loss.py [--program build/bin/plimsoll] [--steps 300] [--seeds 3]

PYTHON is a python3 that has PyTorch.
Both sides have their own start weights, order of sequences and kernels, by seed. Printed are the losses of the test
after the last step, by seed, and whether the difference of their means is within what seeds explain: Welch's t below
2.78, the limit of 95 % for four degrees of freedom. Exit status 1 where it is not, 77 without PyTorch.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys


def rate_at(step, args):
    if step < args.warm_up:
        return args.rate * (step + 1) / args.warm_up
    return args.rate * 0.5 * (1 + math.cos(math.pi * (step - args.warm_up) / (args.steps - args.warm_up)))


def evaluate(model, text, context):
    """Sequences side by side; the label of a token is the token after it."""
    import torch

    total, counted = 0.0, len(text) - 1
    with torch.no_grad():
        for at in range(0, counted, context):
            tokens = torch.zeros(1, context, dtype=torch.long)
            labels = torch.full((1, context), -1)
            n = min(context, counted - at)
            tokens[0, :n], labels[0, :n] = text[at : at + n], text[at + 1 : at + n + 1]
            total += model(tokens, labels).item()
    return total / counted


def train_torch(args, seed):
    import torch

    from bench_pytorch_models import GPT, adamw

    torch.manual_seed(seed)
    with open(args.text, "rb") as file:
        text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()
    train, test = text[: len(text) - len(text) // 10], text[len(text) - len(text) // 10 :]
    model = GPT(args.layers, args.width, args.heads, args.context)
    optimizer = adamw(model, args.rate)
    order, shift, loss = [], 0, torch.zeros(())
    for step in range(args.steps):
        if len(order) < args.batch:
            shift = int(torch.randint((len(train) - 1) % args.context + 1, ()))
            order = torch.randperm((len(train) - 1) // args.context).tolist()
        at = [shift + args.context * order.pop() for _ in range(args.batch)]
        tokens = torch.stack([train[a : a + args.context] for a in at])
        labels = torch.stack([train[a + 1 : a + args.context + 1] for a in at])
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, args)
        loss = model(tokens, labels) / labels.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return evaluate(model, test, args.context), loss.item()


def train_plimsoll(args, seed):
    command = [args.program, "train", "--model", "gpt", "--data", "text:" + args.text, "--json", "--no-progress"]
    command += ["--layers", args.layers, "--width", args.width, "--heads", args.heads, "--context", args.context]
    command += ["--batch", args.batch, "--steps", args.steps, "--seed", seed, "--threads", args.threads]
    command += ["--optimizer", "adamw", "--rate", args.rate, "--warm-up", args.warm_up, "--memory", args.memory]
    command += ["--accumulate", args.accumulate]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True)
    result = json.loads(done.stdout)
    return result["test_loss"], result["loss"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    parser.add_argument("--memory", default="60%")
    parser.add_argument("--rate", type=float, default=1e-3)
    numbers = {"layers": 4, "width": 128, "heads": 4, "context": 64, "batch": 8, "accumulate": 1, "steps": 300}
    numbers.update({"warm-up": 100, "seeds": 3, "threads": 2})
    for name, value in numbers.items():
        parser.add_argument("--" + name, type=int, default=value)
    return parser.parse_args()


def main():
    args = parse()
    try:
        import torch
    except ImportError:
        print("bench_gpt_loss: PyTorch is not there", file=sys.stderr)
        return 77
    torch.set_num_threads(args.threads)
    rows = {"plimsoll": [], "torch": []}
    for seed in range(1, args.seeds + 1):
        rows["plimsoll"].append(train_plimsoll(args, seed))
        rows["torch"].append(train_torch(args, seed))
        print(f"seed {seed}: " + ", ".join(f"{side} {row[-1][0]:.4f} (last step {row[-1][1]:.4f})"
                                            for side, row in rows.items()), flush=True)
    ours, theirs = ([test for test, _ in row] for row in rows.values())
    difference = statistics.mean(ours) - statistics.mean(theirs)
    error = math.sqrt((statistics.variance(ours) + statistics.variance(theirs)) / args.seeds)
    t = abs(difference) / error
    print(f"test loss, means of {args.seeds} seeds: plimsoll {statistics.mean(ours):.4f}, "
          f"PyTorch {torch.__version__} {statistics.mean(theirs):.4f}; difference {difference:+.4f}, "
          f"standard error {error:.4f}, t {t:.2f}: {'within' if t < 2.78 else 'beyond'} seed noise")
    return 0 if t < 2.78 else 1


if __name__ == "__main__":
    sys.exit(main())
