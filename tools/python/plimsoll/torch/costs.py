"""What each op takes: its time, the bytes of its outputs, and the bytes beyond them that it has at its peak. An output may
hold more bytes than its shape says: a mean squared error on the CPU keeps the storage of all squares.

Measured once for each distinct op (target, shapes, strides, other arguments) on tensors made up for it, and kept in a
file for later runs; or modelled from FLOPs and bytes where nothing may run.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import tempfile
import time
import typing

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from . import grouped
from .fusion import is_fusible, is_random
from .joint import Joint, argument, storage_bytes, storage_of, tensors
from .memory import peak_bytes

aten = torch.ops.aten
_IMAGES, _FILTERS = 1, 2  # arguments of a convolution's backward
MOST_RUNS, ENOUGH_NS = 10, 50_000_000  # the least of so many runs, or of those in so much time, ...
AGREE = 1.25  # ... once another one took at most so many times as long: beside other programs one may wait for its threads
TOO_SLOW = 3.0  # times the fastest way to divide an op: smaller parts are not looked at
CACHES = 1 << 25  # bytes that leave nothing of an op in a cache
FLOPS_PER_NS, BYTES_PER_NS, CALL_NS = 50.0, 10.0, 2000  # of the model: a few cores of a server


class Cost(typing.NamedTuple):
    """outputs: bytes of each storage that the op makes, in the order of its results; (): as their shapes say."""

    time_ns: int
    workspace_bytes: int
    outputs: tuple[int, ...] = ()


def _text(leaf) -> str:
    if isinstance(leaf, fx.Node):
        return ",".join(f"{t.dtype}{tuple(t.shape)}{t.stride()}{t.device}" for t in tensors(leaf.meta.get("val")))
    return repr(leaf)


def key_of(node: fx.Node) -> str:
    """Equal for ops that do the same work."""
    return f"{node.target} " + "; ".join(_text(leaf) for leaf in pytree.tree_leaves((node.args, node.kwargs)))


def _made_up(value):
    """Tensors of the same shapes and strides: positive numbers, zeros for integers (they may be indices)."""
    if not isinstance(value, torch.Tensor):
        return pytree.tree_map(_made_up, value) if isinstance(value, (tuple, list)) else value
    if 0 in value.stride():
        return torch.ones((), dtype=value.dtype, device=value.device).expand(value.shape)
    made = torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device=value.device)
    return made.uniform_(0.1, 1.0) if made.is_floating_point() else made.zero_()


def _new_bytes(result, inputs) -> tuple[int, ...]:
    old = {storage_of(t) for t in tensors(inputs)}
    new = {storage_of(t): storage_bytes(t) for t in tensors(result) if storage_of(t) not in old}
    return tuple(new.values())


def _synchronize(device: torch.device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def gpus_of(nodes) -> list[torch.device]:
    """The GPUs on which operands and results of nodes lie: measuring draws from their generators."""
    rows = (t for node in nodes for source in (node, *node.all_input_nodes) for t in tensors(source.meta.get("val")))
    return list({t.device: None for t in rows if t.device.type == "cuda"})


def _channels_last(value):
    return value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value


def is_image_convolution(node: fx.Node) -> bool:
    """Inductor may copy what it reads into the layout channels last."""
    if node.target not in (aten.convolution.default, aten.convolution_backward.default):
        return False
    return argument(node, 1).meta["val"].dim() == 4


def copied_primals(joint: Joint) -> dict[int, int]:
    """Bytes, by storage, of the filters and images of the batch that a forward in the layout channels last copies into it and
    keeps for the backward."""
    found: dict[int, int] = {}
    for node in joint.nodes:
        if is_image_convolution(node) and node.target is aten.convolution_backward.default:
            for place in _IMAGES, _FILTERS:
                value = argument(node, place).meta["val"]
                is_primal = joint.storage[storage_of(value)].node is None
                if is_primal and not value.is_contiguous(memory_format=torch.channels_last):
                    found[storage_of(value)] = max(value.nbytes, found.get(storage_of(value), 0))
    return found


def _measure(node: fx.Node, channels_last: bool = False, at_once: int = 0, cold: bool = False) -> Cost:
    """at_once: groups of a part; 0: the op is not divided. cold: each run finds nothing in the caches."""
    arguments, keywords = pytree.tree_map(
        lambda leaf: _made_up(leaf.meta["val"]) if isinstance(leaf, fx.Node) else leaf, (node.args, node.kwargs)
    )
    if channels_last:
        arguments = pytree.tree_map_only(torch.Tensor, _channels_last, arguments)
    device = next((t.device for t in tensors((arguments, keywords))), torch.device("cpu"))
    op: typing.Any = node.target
    if at_once:
        op, arguments = grouped.IN_PARTS, grouped.arguments(arguments, at_once)
    if device.type == "cuda":
        op(*arguments, **keywords)  # what a library loads and keeps from its first call on is none of the op's bytes
    most, result = peak_bytes(lambda: op(*arguments, **keywords), device)
    outputs = _new_bytes(result, (arguments, keywords))
    workspace = max(0, most - sum(outputs))
    del result
    spoil = torch.zeros(CACHES // 4).neg_ if cold else lambda: None
    return Cost(_time(lambda: op(*arguments, **keywords), device, spoil), workspace, outputs)


def _time(run, device: torch.device, before=lambda: None) -> int:
    """before: what runs before each, and is not timed."""
    times: list[int] = []
    while len(times) < MOST_RUNS and (len(times) < 2 or sum(times) < ENOUGH_NS or sorted(times)[1] > AGREE * min(times)):
        before()
        _synchronize(device)
        begin = time.perf_counter_ns()
        run()
        _synchronize(device)
        times.append(time.perf_counter_ns() - begin)
    return min(times)


def modelled_ns(node: fx.Node, moved: int | None = None, bytes_per_ns: float = BYTES_PER_NS) -> int:
    """moved: bytes read and written; None: those of its operands and results."""
    from torch.utils.flop_counter import flop_registry

    values = [leaf.meta.get("val") if isinstance(leaf, fx.Node) else leaf for leaf in node.args]
    if moved is None:
        moved = sum(t.nbytes for t in tensors((values, node.meta.get("val"))))
    count = flop_registry.get(getattr(node.target, "overloadpacket", None))
    flops = count(*values, **node.kwargs, out_val=node.meta.get("val")) if count else 0
    return CALL_NS + int(max(flops / FLOPS_PER_NS, moved / bytes_per_ns))


def _modelled(joint: Joint, node: fx.Node, bytes_per_ns: float = BYTES_PER_NS) -> Cost:
    moved = sum(joint.storage[s].n_bytes for s in joint.reads(node))
    moved += sum(t.nbytes for t in tensors(node.meta.get("val")))
    return Cost(modelled_ns(node, moved, bytes_per_ns), 0)


def _is_for_inductor(node: fx.Node) -> bool:
    """Is it an op that Inductor alone makes a kernel of? Eager mode runs a sequence of other ops for it, as for a pooling, so
    that its time and bytes there say nothing. Random numbers take their time in both."""
    return getattr(node.target, "namespace", "") == "prims" and not is_random(node)


class Costs:
    """Costs of ops, from a file where they were measured before.

    folder  where the file lies; None: the user's cache folder. The file's name says torch's version, the processor and
            the number of threads.
    """

    def __init__(self, folder: str | os.PathLike | None = None):
        if folder is None:
            base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
            folder = os.path.join(base, "plimsoll")
        self.path = pathlib.Path(folder) / f"torch-costs-{self._machine()}.json"
        self.known: dict[str, list[int]] = self._read()
        self.measured = 0
        self.learned = False

    @staticmethod
    def _machine() -> str:
        try:
            with open("/proc/cpuinfo", encoding="utf-8") as file:
                cpu = next((row for row in file if row.startswith("model name")), "")
        except OSError:
            cpu = ""
        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
        text = f"{torch.__version__}|{cpu}|{gpu}|{torch.get_num_threads()}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _read(self) -> dict[str, list[int]]:
        """What is not right is measured anew."""
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(known, dict):
            return {}
        return {
            key: row
            for key, row in known.items()
            if isinstance(row, list) and len(row) >= 2 and all(type(n) is int and 0 <= n < 2**53 for n in row)
        }

    def _write(self):
        """The file is replaced whole; where that is not possible, nothing is kept."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False, encoding="utf-8") as file:
                json.dump(self.known, file)
            os.replace(file.name, self.path)
        except OSError:
            pass

    key_of = staticmethod(key_of)

    def of(self, joint: Joint, measure: bool) -> list[Cost]:
        """The cost of each op of a joint graph. measure False: modelled, nothing runs."""
        if not measure:
            return [_modelled(joint, node) for node in joint.nodes]
        return self._all(lambda: [self._one(joint, node) for node in joint.nodes], gpus_of(joint.nodes))

    def of_channels_last(self, joint: Joint) -> dict[fx.Node, Cost]:
        """Of the convolutions of images, where all that they read has the layout channels last."""
        nodes = [node for node in joint.nodes if is_image_convolution(node)]
        return self._all(lambda: {node: self._one(joint, node, True) for node in nodes}, gpus_of(nodes))

    def channels_last_ns(self, joint: Joint, costs: list[Cost], last: dict[fx.Node, Cost]) -> int:
        """By how much a step takes longer where its convolutions run in the layout channels last: what they take themselves,
        copies of filters and of the batch into it, and of filters' gradients out of it. last: of of_channels_last()."""
        own = sum(last[node].time_ns - cost.time_ns for node, cost in zip(joint.nodes, costs) if node in last)
        device = next((argument(node, 1).meta["val"].device for node in last), torch.device("cpu"))
        # a batch, which has no gradient, counts as much
        moved = 4 * sum(copied_primals(joint).values())  # a filter and its gradient, each read and written
        return own + int(moved / self._all(lambda: self._bytes_per_ns(device)))

    def _all(self, measure, gpus: typing.Sequence[torch.device] = ()):
        before = self.measured
        with unset_fake_temporarily(), _disable_current_modes(), torch.no_grad(), torch.random.fork_rng(devices=gpus):
            rows = measure()
        if self.measured > before:
            self._write()
        return rows

    def _one(self, joint: Joint, node: fx.Node, channels_last: bool = False) -> Cost:
        if joint.fused and (is_fusible(node) or _is_for_inductor(node)):
            value = next(iter(tensors(node.meta.get("val"))), None)
            return _modelled(joint, node, self._bytes_per_ns(torch.device("cpu") if value is None else value.device))
        try:
            return self._measured(node, channels_last)
        except (RuntimeError, NotImplementedError):  # an op that Inductor alone can run
            return _modelled(joint, node)

    def _measured(self, node: fx.Node, channels_last: bool, at_once: int = 0, cold: bool = False) -> Cost:
        key = key_of(node) + (" channels last" if channels_last else "") + (f" {at_once} at once" if at_once else "")
        key += " cold" if cold else ""
        if key not in self.known:
            cost = _measure(node, channels_last, at_once, cold)
            self.known[key] = [cost.time_ns, cost.workspace_bytes, *cost.outputs]
            self.measured += 1
        time_ns, workspace, *outputs = self.known[key]
        return Cost(time_ns, workspace, tuple(outputs))

    def ways(self, joint: Joint) -> dict[fx.Node, list[tuple[Cost, int]]]:
        """Of backwards of many groups, where images have the layout channels last: (cost, groups at once; 0: it is not
        divided), the fastest first, and of the slower ones those that take less for themselves. Ways are compared by cold runs:
        a step runs an op once, and what a large workspace holds is in no cache before."""
        nodes = [node for node in joint.nodes if grouped.can_be_divided(node)]
        found = self._all(lambda: {node: self._ways(node) for node in nodes})
        return {node: ways for node, ways in found.items() if ways}

    def _ways(self, node: fx.Node) -> list[tuple[Cost, int]]:
        found: list[tuple[Cost, int]] = []
        try:
            whole, cold = self._measured(node, True), self._measured(node, True, cold=True)
            for at_once in (0, *grouped.parts(argument(node, 9))):
                cost = self._measured(node, True, at_once, cold=True)
                found.append((cost._replace(time_ns=cost.time_ns * whole.time_ns // max(1, cold.time_ns)), at_once))
                if found[-1][0].time_ns > TOO_SLOW * min(cost.time_ns for cost, _ in found):
                    break
        except (RuntimeError, NotImplementedError):  # as where memory is short
            return []
        found.sort(key=lambda way: (way[0].time_ns, way[0].workspace_bytes))
        least = [min((cost.workspace_bytes for cost, _ in found[:place]), default=1 << 62) for place in range(len(found))]
        return [way for way, most in zip(found, least) if way[0].workspace_bytes < most]

    def _bytes_per_ns(self, device: torch.device) -> float:
        """Of a kernel that reads and writes memory and does little else."""
        key, n_bytes = "copy" + (f" {device.type}" if device.type != "cpu" else ""), 1 << 24
        if self.known.get(key, [0, 0])[1] != 2 * n_bytes:  # a rate of nothing would be divided by
            source = torch.ones(n_bytes // 4, device=device)
            target = torch.empty_like(source)
            self.known[key] = [min(_time(lambda: target.copy_(source), device) for _ in range(3)), 2 * n_bytes]
            self.measured += 1
        return self.known[key][1] / max(1, self.known[key][0])

    def learn(self, node: fx.Node, workspace_bytes: int):
        """What an op was seen to take in a step, in place of what it took alone."""
        key = key_of(node)
        if key in self.known and self.known[key][1] != workspace_bytes:
            self.known[key][1] = workspace_bytes
            self.learned = True

    def keep(self):
        """Write what was learned."""
        if self.learned:
            self._write()
        self.learned = False
