"""The compiler's kernels as ops of the planner: what a schedule of them takes, and their order of the least peak.

Inductor's own estimate counts a buffer that lives inside one kernel, a kernel's result beside the operand that it is written
over, and nothing of what ops of PyTorch take for themselves. live_bytes() counts as the compiler allocates: a buffer inside one
part of a kernel has no bytes, a result takes the place of an operand that nothing reads later, and what kernels of one call
on a CPU read and write is there together. It reads what the compiler decides by, and decides nothing itself.
"""

from __future__ import annotations

from torch._inductor import ir, memory
from torch._inductor.codegen.cpp import OuterLoopFusedSchedulerNode
from torch._inductor.codegen.wrapper import can_match_buffer_size
from torch._inductor.scheduler import SchedulerNode
from torch.utils._ordered_set import OrderedSet

from ..planning import Graph, _library
from . import inductor

_estimate, _reorder = memory.estimate_peak_memory, memory.reorder_for_peak_memory
_NO_MEMORY = (ir.NoneLayout, ir.MultiOutputLayout, ir.MutationLayoutSHOULDREMOVE)


def _is_written(node) -> bool:
    """The compiler writes a kernel for it; other nodes call ops of PyTorch."""
    return all(isinstance(part, SchedulerNode) for part in node.get_nodes())


def _workspace(node) -> int:
    """What the op of PyTorch that a node calls takes for itself; 0 for kernels that the compiler writes."""
    most = 0
    for part in node.get_nodes():
        if isinstance(part.node, ir.ExternKernel) and not isinstance(part.node, ir.MultiOutput):
            rows = (origin.meta.get(inductor.WORKSPACES) for origin in part.node.origins)
            most = max([most, *(row[inductor.level()] for row in rows if row)])
    return most


# ---- what has no bytes of its own ----

def _is_inner(buffer, node) -> bool:
    """Only the part of a fused kernel that writes it reads it: it has no memory. Kernels that share outer loops alone are parts
    of their own."""
    if not _is_written(node) or len(node.get_nodes()) == 1:
        return False
    parts = node.get_outer_nodes() if isinstance(node, OuterLoopFusedSchedulerNode) else [node]
    readers = {user.node.get_name() for user in buffer.users if not user.is_weak}
    for part in parts:
        names = {row.get_name() for row in part.get_nodes()}
        if buffer.defining_op.get_name() in names:
            return readers <= names
    return False


def _has_memory(buffer) -> bool:
    return buffer.node is not None and not isinstance(buffer.node.get_output_spec(), _NO_MEMORY)


def _operand(name: str, node, part):
    """The buffer of this name, where a part of a kernel may write over it, if nothing reads it later: no other part of the
    kernel reads it, and this one at one index."""
    scheduler, names = node.scheduler, {row.get_name() for row in node.get_nodes()}
    buffer = scheduler.name_to_donated_buffer.get(name) or scheduler.name_to_buf.get(name)
    if buffer is None or not buffer.users or not _has_memory(buffer):
        return None
    users = [user for user in buffer.users if user.node.get_name() in names]
    places = {place for place in part.read_writes.reads_and_writes() if place.name == name}
    return buffer if len(users) == 1 and users[0].can_inplace and users[0].node is part and len(places) == 1 else None


def _overwritten(node) -> list[tuple[str, str]]:
    """Names of (result, operand) where the kernel may write the one over the other, if nothing reads that later. The compiler
    takes the first operand that it may; one that lives inside the kernel has no bytes to give."""
    found: list[tuple[str, str]] = []
    if not _is_written(node):
        return found
    for part in node.get_nodes():
        for result in filter(_has_memory, part.get_outputs()):
            for name in dict.fromkeys(read.name for read in part.read_writes.reads):
                operand = _operand(name, node, part)
                if operand is None or not can_match_buffer_size(operand.node, result.node):
                    continue
                if name in node.get_buffer_names() and _is_inner(operand, node):
                    break
                found.append((result.get_name(), name))
    return found


# ---- what a schedule takes ----

def _calls(nodes) -> list[tuple[int, int]]:
    """By node: (first, last) of the nodes that run in its call. On a CPU a call runs all kernels between two ops of PyTorch,
    but from level APART on."""
    calls: list[tuple[int, int, bool]] = []
    for place, node in enumerate(nodes):
        device = node.get_device()
        joins = inductor.level() < inductor.APART and device is not None and device.type == "cpu" and _is_written(node)
        if joins and place and calls[-1][2]:
            calls.append((calls[-1][0], place, True))
        else:
            calls.append((place, place, joins))
    ends = {first: last for first, last, _ in calls}
    return [(first, ends[first]) for first, _, _ in calls]


def live_bytes(nodes, inputs, outputs) -> list[int]:
    """Bytes during each node of a schedule. Arguments as those of memory.estimate_peak_memory."""
    calls, change, inner = _calls(nodes), [0] * (len(nodes) + 1), set()
    ends: dict[str, int] = {}
    for row in memory.compute_memory_timeline(nodes, inputs, outputs)[0]:
        name, given = row.buffer.get_name(), isinstance(row.buffer, memory.FreeableInputBuffer)
        if not given and row.start_step == row.end_step and _is_inner(row.buffer, nodes[row.start_step]):
            inner.add(name)
            continue
        change[0 if given else calls[row.start_step][0]] += row.size_alloc
        if row.end_step != -1:
            ends[name] = row.end_step
            change[calls[row.end_step][1] + 1] -= row.size_free
    live, now = [], 0
    for place, node in enumerate(nodes):
        now += change[place]
        live.append(now + _workspace(node))
    for place, node in enumerate(nodes):
        taken = set(inner)
        for result, operand in _overwritten(node):
            if ends.get(operand) == place and operand not in taken and result not in taken:
                taken |= {result, operand}
                n_bytes = node.scheduler.name_to_buf[result].mpi_buffer.size_alloc
                for step in range(calls[place][0], calls[place][1] + 1):
                    live[step] -= n_bytes
    return [*live, now + change[-1]]


def estimate(nodes, inputs, outputs) -> tuple[int, list[int]]:
    """In place of memory.estimate_peak_memory: (the peak, bytes during each node and after the last)."""
    try:
        live = live_bytes(nodes, inputs, outputs)
    except Exception:  # what is private in PyTorch may change
        return _estimate(nodes, inputs, outputs)
    return max(live), live


# ---- the order of the least peak ----

class _Program:
    """The kernels of one graph as a graph of the planner: each runs once, so that only the order is free."""

    def __init__(self, nodes, inputs, outputs):
        self.graph, self.nodes, self.outputs = Graph("kernels"), nodes, outputs
        self.storage: dict[str, int] = {}
        self.reads: dict = {node: [] for node in nodes}
        for name, given in inputs.items():
            role = "param" if name in outputs else "input"
            self._add(name, role, given.mpi_buffer.size_free, given.mpi_buffer.succ_nodes)
        writes = {node: self._written(node) for node in nodes}
        done = {node: self.graph.add_storage("activation", 0) for node in nodes}
        for node in nodes:
            reads = dict.fromkeys(self.reads[node] + [done[before] for before in node.mpi_node.pred_nodes])
            written = writes[node] + [done[node]]
            pairs = [(self.storage.get(a, -1), self.storage.get(b, -1)) for a, b in _overwritten(node)]
            pairs = [(a, b) for a, b in pairs if a in written and b in reads and self._may_overwrite(a, b)]
            self.graph.add_op(
                node.get_name(), list(reads), written, 1, _workspace(node), cls="once", in_place=pairs[: _library.MOST_PAIRS]
            )

    def _add(self, name: str, role: str, n_bytes: int, readers) -> int:
        self.storage[name] = self.graph.add_storage(role, n_bytes)
        for reader in readers:
            self.reads[reader].append(self.storage[name])
        return self.storage[name]

    def _may_overwrite(self, result: int, operand: int) -> bool:
        role, n_bytes = self.graph.storages[operand]
        return role == "activation" and n_bytes == self.graph.storages[result][1]

    def _written(self, node) -> list[int]:
        """Storages that a node writes. An op's several results are one; more than an op may write share the last."""
        rows = []
        for buffer in node.get_outputs():
            if buffer.mpi_buffer.size_alloc and not _is_inner(buffer, node):
                readers, stays = self._readers(buffer)
                readers.discard(node)
                rows.append((buffer.get_name(), buffer.mpi_buffer.size_alloc, readers, stays))
        rows.sort(key=lambda row: -row[1])
        most = _library.MOST_OUTPUTS - 1
        alone, rest = (rows, []) if len(rows) <= most else (rows[: most - 1], rows[most - 1 :])
        found = [self._add(name, "output" if stays else "activation", n, readers) for name, n, readers, stays in alone]
        if rest:
            readers = OrderedSet(reader for row in rest for reader in row[2])
            role = "output" if any(row[3] for row in rest) else "activation"
            found.append(self._add(f"rest of {node.get_name()}", role, sum(row[1] for row in rest), readers))
        return found

    def _readers(self, buffer):
        """(the nodes that read it, or one of the results that it holds, whether it stays to the end)."""
        readers, stays = OrderedSet(buffer.mpi_buffer.succ_nodes), buffer.get_name() in self.outputs
        if buffer.mpi_buffer.size_free == 0:
            for part in list(readers):
                for result in part.get_outputs():
                    if result.mpi_buffer.size_alloc == 0 and result.mpi_buffer.size_free:
                        readers |= result.mpi_buffer.succ_nodes
                        stays |= result.get_name() in self.outputs
        return readers, stays


def _is_order(nodes) -> bool:
    place = {node: i for i, node in enumerate(nodes)}
    return all(place[before] < place[node] for node in nodes for before in node.mpi_node.pred_nodes)


def ordered(nodes, name_to_buf, name_to_fused_node, graph_inputs, graph_outputs, *rest):
    """In place of memory.reorder_for_peak_memory. From level APART on the planner's order, where its peak is lower."""
    theirs = _reorder(nodes, name_to_buf, name_to_fused_node, graph_inputs, graph_outputs, *rest)
    if inductor.level() < inductor.APART or len(nodes) < 2:
        return theirs
    try:
        _, inputs = memory.prepare_planning_info(theirs, name_to_buf, name_to_fused_node, graph_inputs, graph_outputs)
        found, _, _ = _Program(theirs, inputs, graph_outputs).graph.plan_smallest()
        ours = [theirs[op] for op in found.order]
        lower = max(live_bytes(ours, inputs, graph_outputs)) < max(live_bytes(theirs, inputs, graph_outputs))
    except Exception:  # what is private in PyTorch may change
        return theirs
    return ours if lower and _is_order(ours) else theirs
