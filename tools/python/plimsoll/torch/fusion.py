"""What Inductor computes inside the kernels of its readers, by its own rules: such a value has no bytes of its own.

Inductor writes a pointwise result into memory only where a reader needs it there (a matrix product, a convolution, an
output of the graph), where it has read more than a few buffers, or where it is costly and read more than once
(torch/_inductor/ir.py, StorageBox.should_realize_on_reuse and has_exceeded_max_reads). What the backward reads of a
forward result stays an op, so that a plan may save it; but where its sources take no more bytes, or the backward reads one
in any case, they are saved instead, and it is computed inside the kernels of the backward. A slow value of few elements that
readers of many read, as the root of a channel's variance, stays an op, too: they would compute it once for each of theirs.
"""

from __future__ import annotations

import typing

import torch
from torch import fx
from torch._functorch.partitioners import get_aten_target, get_default_op_list

from . import masks
from .joint import draws, storage_of, tensors

if typing.TYPE_CHECKING:
    from .joint import Joint

aten, prims = torch.ops.aten, torch.ops.prims
MOST_READS = {"cpu": 12}  # buffers: config.realize_cpu_acc_reads_threshold; elsewhere 8
MOST_NODES = {"cpu": 50}  # in one kernel: config.realize_cpu_opcount_threshold; elsewhere 30
MOST_READS_SHARED = 4  # config.realize_reads_threshold
MOST_PASSES = 4  # each knows what the backward reads by the one before
SMALL = 1 / 16  # of a result: what statistics of its source, as those of a norm, may take beside it
COSTLY = {aten.exp, aten.log, aten.log10, aten.log1p, aten.log2, aten.sigmoid, aten.tanh}
SLOW = COSTLY | {aten.rsqrt, aten.sqrt, aten.reciprocal, aten.pow}  # to compute, beside a load
REDUCTIONS = {
    aten.sum, aten.mean, aten.amax, aten.amin, aten.argmax, aten.argmin, aten.var, aten.var_mean, aten.std, aten.any,
    aten.all, aten.prod, aten.max, aten.min, aten._grad_sum_to_size, aten.sum_to_size,
}  # fmt: skip
POINTWISE = {
    aten.full, aten.full_like, aten.scalar_tensor, aten.embedding, aten.index, aten.gather, aten.constant_pad_nd,
    aten.slice_scatter, aten.select_scatter, aten.clone, aten._to_copy, prims.convert_element_type, prims.iota,
    aten._unsafe_index,
}  # fmt: skip
_KINDS = get_default_op_list()


def _is_reduction(node: fx.Node) -> bool:
    return get_aten_target(node) in REDUCTIONS


def is_random(node: fx.Node) -> bool:
    """Random numbers of a seed that is kept: equal each time. They take too long to be computed by each reader."""
    return str(node.target).startswith("prims.inductor_random")


def _is_pointwise(node: fx.Node) -> bool:
    if node.op != "call_function" or _is_reduction(node):
        return False
    if draws(node) or is_random(node):
        return False
    if torch.Tag.pointwise in getattr(node.target, "tags", ()) or get_aten_target(node) in POINTWISE:
        return True
    return _KINDS.is_fusible(node) and not _KINDS.is_view(node) and get_aten_target(node) is not aten.cat


def is_fusible(node: fx.Node) -> bool:
    """Inductor makes a kernel of it that may compute other nodes too."""
    return _is_pointwise(node) or _is_reduction(node)


class Finder:
    """saved    storages that the backward reads, whatever is inlined here
    behind   nodes that only the backward needs, those that the forward could compute included
    """

    def __init__(self, joint: Joint, saved: set[int]):
        self.joint, self.saved = joint, saved
        self.makers = set(joint.nodes)
        self.found: set[fx.Node] = set()
        self.buffers: dict[fx.Node, int] = {}  # read by a node and what it inlines
        self.size: dict[fx.Node, int] = {}  # nodes that it takes with it
        self.costly: set[fx.Node] = set()
        self.stored: list[fx.Node] = []  # only since they have several readers
        self.behind = {node for node in joint.is_backward if node.op != "output"}
        for node in reversed(joint.graph.nodes):
            if node.op == "call_function" and node.users and all(user in self.behind for user in node.users):
                self.behind.add(node)

    def readers(self, node: fx.Node) -> list[fx.Node]:
        """Through views; the output of the graph counts as one."""
        readers: dict[fx.Node, None] = {}
        stack = list(node.users)
        while stack:
            user = stack.pop()
            if user in self.makers or user.op == "output":
                readers[user] = None
            else:
                stack.extend(user.users)
        return list(readers)

    def _kernels(self, readers: list[fx.Node]) -> set[fx.Node]:
        """What computes them."""
        found: set[fx.Node] = set()
        stack = list(readers)
        while stack:
            node = stack.pop()
            if node in self.found:
                stack.extend(self.readers(node))
            else:
                found.add(node)
        return found

    def _is_spread(self, node: fx.Node, readers: list[fx.Node]) -> bool:
        """Would kernels compute it once for each of many elements?"""
        most = max((tensor.numel() for reader in readers for tensor in tensors(reader.meta.get("val"))), default=0)
        return get_aten_target(node) in SLOW and node.meta["val"].numel() <= SMALL * most

    def _sources(self, node: fx.Node) -> list[fx.Node | int]:
        """What it reads: nodes that are inlined, and storages."""
        sources: dict[fx.Node | int, None] = {}
        for source in node.all_input_nodes:
            for tensor in tensors(source.meta.get("val")):
                maker = self.joint.storage[storage_of(tensor)].node
                sources[maker if maker in self.found else storage_of(tensor)] = None
        return list(sources)

    def _sources_are_small(self, node: fx.Node) -> bool:
        """Saving what it is computed from takes hardly more than saving its result. Primals are there in any case. So is a
        source that the backward reads; of two, one may have to stay for longer than it would."""
        storage = self.joint.storage
        result = sum(storage[storage_of(tensor)].n_bytes for tensor in tensors(node.meta.get("val")))
        sources = self.joint.reads(node, self.found)
        sizes = {key: storage[key].n_bytes for key in sources if storage[key].node or storage[key].tangent}
        kept = [key for key in sizes.keys() & self.saved if sizes[key] > SMALL * result]
        if len(kept) == 1:
            del sizes[kept[0]]
        return sum(sizes.values()) <= result * (1 + SMALL)

    def consider(self, node: fx.Node):
        sources = self._sources(node)
        self.buffers[node] = sum(self.buffers[s] if isinstance(s, fx.Node) else 1 for s in sources)
        self.size[node] = 1 + sum(self.size[s] for s in sources if isinstance(s, fx.Node))
        if get_aten_target(node) in COSTLY or any(s in self.costly for s in sources if s in self.found):
            self.costly.add(node)
        if not _is_pointwise(node) or not isinstance(node.meta.get("val"), torch.Tensor):
            return
        readers = self.readers(node)
        if not readers or not all(user.op != "output" and is_fusible(user) for user in readers):
            return
        crosses = node not in self.joint.is_backward and any(user in self.behind for user in readers)
        if crosses and not self._sources_are_small(node):
            return
        if self._is_spread(node, readers):
            return
        shared, device = len(readers) > 1, node.meta["val"].device.type
        if self.buffers[node] > MOST_READS.get(device, 8) or self.size[node] > MOST_NODES.get(device, 30):
            return
        if shared and node in self.costly:
            return
        if not shared or self.buffers[node] <= MOST_READS_SHARED:
            self.found.add(node)
        elif crosses:
            self.stored.append(node)

    def join(self):
        """A value that one kernel on a side makes and alone reads has no bytes there. The other nodes stay as they are: they read
        one buffer."""
        for node in reversed(self.stored):
            readers = self.readers(node)
            sides = ([user for user in readers if (user in self.behind) is side] for side in (False, True))
            if all(len(self._kernels(side)) <= 1 for side in sides):
                self.found.add(node)


def inlined(joint: Joint) -> tuple[set[fx.Node], set[fx.Node], set[fx.Node]]:
    """(the nodes of a joint graph that are computed inside the kernels of their readers, those of the others whose kernels
    may write over an operand, those that are masks.py's). O(nodes * readers)."""
    saved: set[int] = set()
    for _ in range(MOST_PASSES):
        finder = Finder(joint, saved)
        for node in joint.nodes:
            finder.consider(node)
        now = {key for node in joint.is_backward & finder.makers - finder.found for key in joint.reads(node, finder.found)}
        if now <= saved:
            break
        saved = saved | now
    finder.join()
    ops = [node for node in joint.nodes if node not in finder.found]
    return finder.found, set(filter(_is_single, ops)), masks.find(finder, ops, is_fusible)


def _is_single(node: fx.Node) -> bool:
    return _is_pointwise(node) and isinstance(node.meta.get("val"), torch.Tensor)
