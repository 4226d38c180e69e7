"""The compiler's kernels as ops of the planner: what a schedule of them takes, and their order of the least peak.

Inductor's own estimate counts a buffer that lives inside one kernel, a kernel's result beside the operand that it is written
over, and nothing of what ops of PyTorch take for themselves. live_bytes() counts as the compiler allocates: a buffer inside one
part of a kernel has no bytes, a result takes the place of an operand that nothing reads later, and what kernels of one call
on a CPU read and write is there together. It reads what the compiler decides by, and decides nothing itself.
"""

from __future__ import annotations

from torch._inductor import ir, memory
from torch._inductor.codegen.cpp import OuterLoopFusedSchedulerNode
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, can_match_buffer_size
from torch._inductor.scheduler import SchedulerNode
from torch._inductor.virtualized import V

from ..planning import Graph, _library
from . import inductor
from .joint import tensors

_estimate, _reorder = memory.estimate_peak_memory, memory.reorder_for_peak_memory
_generate = PythonWrapperCodegen.generate
SEARCHES = 4  # for the order of the least peak
_NO_MEMORY = (ir.NoneLayout, ir.MultiOutputLayout, ir.MutationLayoutSHOULDREMOVE)


def _is_written(node) -> bool:
    """The compiler writes a kernel for it; other nodes call ops of PyTorch."""
    return all(isinstance(part, SchedulerNode) for part in node.get_nodes())


def _unread(part) -> int:
    """Bytes of results of an op of PyTorch that nothing reads, as where it is repeated for one of them: it makes all."""
    op = getattr(part.node, "op_overload", None)
    values = next((origin.meta.get("val") for origin in part.node.origins if origin.target is op), None)
    if not isinstance(part.node.get_output_spec(), ir.MultiOutputLayout) or not isinstance(values, (tuple, list)):
        return 0
    made = sum(value.numel() * value.element_size() for value in tensors(values))
    return max(0, made - sum(buffer.mpi_buffer.size_alloc for buffer in part.get_outputs()))


def _workspace(node) -> int:
    """What the op of PyTorch that a node calls takes for itself, results that nothing reads included; 0 for kernels that the
    compiler writes."""
    most = 0
    for part in node.get_nodes():
        if isinstance(part.node, ir.ExternKernel) and not isinstance(part.node, ir.MultiOutput):
            rows = (origin.meta.get(inductor.WORKSPACES) for origin in part.node.origins)
            most = max([most, *(row[inductor.level()] for row in rows if row)]) + _unread(part)
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


# ---- what no kernel reads ----


def unread_inputs() -> list[str]:
    """Names of the tensors given to the compiled graph that no kernel reads and no result is: of these an op reads the
    shape alone."""
    graph = V.graph
    used = {access.name for node in graph.scheduler.nodes for access in node.read_writes.reads_and_writes()}
    used.update(graph.get_output_names(), graph.mutated_inputs)
    given = graph.graph_inputs.items()
    tensors_given = [name for name, value in given if isinstance(value, ir.IRNode) and value.has_tensor_output()]
    return [name for name in tensors_given if name not in used]


def generate(wrapper, is_inference):
    """In place of PythonWrapperCodegen.generate, which keeps what no kernel reads until the last one has run: it ends
    before the first one."""
    unread = unread_inputs()
    if unread:
        wrapper.lines.insert(0, wrapper.make_free_by_names(unread))
    return _generate(wrapper, is_inference)


# ---- what a schedule takes ----

def _with_whole_sizes(inputs):
    """Inputs with the bytes of their tensors: the compiler's are those of what one kernel reads of them, perhaps a part."""
    for name, given in inputs.items():
        tensor = V.graph.graph_inputs.get(name)
        if isinstance(tensor, ir.IRNode) and tensor.has_tensor_output():
            given.mpi_buffer.size_free = int(tensor.get_layout().storage_size()) * tensor.get_dtype().itemsize
    return inputs


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
    for row in memory.compute_memory_timeline(nodes, _with_whole_sizes(inputs), outputs)[0]:
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

def _groups(nodes) -> list[list]:
    """Nodes that run one after the other: an op of several results, and those that name its results."""
    group_of: dict = {}
    found: list[list] = []
    for node in nodes:
        before = list(node.mpi_node.pred_nodes)
        names_a_result = all(isinstance(part.node, ir.MultiOutput) for part in node.get_nodes())
        if names_a_result and len(before) == 1 and before[0] in group_of:
            group_of[node] = group_of[before[0]]
            group_of[node].append(node)
        else:
            group_of[node] = [node]
            found.append(group_of[node])
    return found


class Program:
    """The kernels of one graph as a graph of the planner: each runs once, so that only the order is free.

    nodes, inputs, outputs  as those of memory.estimate_peak_memory
    """

    def __init__(self, nodes, inputs, outputs):
        self.graph, self.groups, self.outputs = Graph("kernels"), _groups(nodes), outputs
        self.place = {node: place for place, group in enumerate(self.groups) for node in group}
        self.storage: dict[str, int] = {}
        self.reads: list[list[int]] = [[] for _ in self.groups]
        first = self._add_inputs(inputs, {operand for node in nodes for _, operand in _overwritten(node)})
        self.n_first = len(self.graph.ops)
        writes = [self._written(group) for group in self.groups]
        done = [self.graph.add_storage("activation", 0) for _ in self.groups]
        for place, group in enumerate(self.groups):
            before = {self.place[other] for node in group for other in node.mpi_node.pred_nodes} - {place}
            reads = list(dict.fromkeys(self.reads[place] + [done[other] for other in sorted(before)] + first))
            written = writes[place] + [done[place]]
            pairs = [(self.storage.get(a, -1), self.storage.get(b, -1)) for node in group for a, b in _overwritten(node)]
            pairs = [(a, b) for a, b in pairs if a in written and b in reads and self._may_overwrite(a, b)]
            workspace = max(_workspace(node) for node in group)
            self.graph.add_op(
                group[0].get_name(), reads, written, 1, workspace, cls="once", in_place=pairs[: _library.MOST_PAIRS]
            )

    def best_order(self, room: int | None) -> list[int]:
        """Of the least peak in a few searches, or the first within the room, or whose peak is proved to be the least."""
        best, least = [], None
        for seed in range(1, SEARCHES + 1):
            found, bound, _ = self.graph.plan_smallest(seed=seed)
            if least is None or found.peak_bytes < least:
                best, least = found.order, found.peak_bytes
            if least <= max(bound, room or 0):
                break
        return best

    def nodes_of(self, order: list[int]) -> list:
        return [node for op in order if op >= self.n_first for node in self.groups[op - self.n_first]]

    def _add_inputs(self, inputs, overwritten: set[str]) -> list[int]:
        """Inputs that a kernel may write over are results of ops that run before all others; returns what those read."""
        given: list[int] = []
        for name, row in _with_whole_sizes(inputs).items():
            role = "param" if name in self.outputs else "activation" if name in overwritten else "input"
            storage = self._add(name, role, row.mpi_buffer.size_free, row.mpi_buffer.succ_nodes)
            given += [storage] if role == "activation" else []
        last: list[int] = []
        most = _library.MOST_OUTPUTS - 1
        for begin in range(0, len(given), most):
            done = self.graph.add_storage("activation", 0)
            self.graph.add_op(f"given {begin}", last, [*given[begin : begin + most], done], 1, cls="once")
            last = [done]
        return last

    def _add(self, name: str, role: str, n_bytes: int, readers) -> int:
        self.storage[name] = self.graph.add_storage(role, n_bytes)
        for place in sorted({self.place[reader] for reader in readers}):
            self.reads[place].append(self.storage[name])
        return self.storage[name]

    def _may_overwrite(self, result: int, operand: int) -> bool:
        role, n_bytes = self.graph.storages[operand]
        return role == "activation" and n_bytes == self.graph.storages[result][1]

    def _written(self, group) -> list[int]:
        """Storages that a group writes; more than an op may write share the last."""
        rows = []
        for node in group:
            for buffer in node.get_outputs():
                if buffer.mpi_buffer.size_free and not _is_inner(buffer, node):
                    readers = {reader for reader in buffer.mpi_buffer.succ_nodes if reader not in group}
                    stays = buffer.get_name() in self.outputs
                    rows.append((buffer.get_name(), buffer.mpi_buffer.size_free, readers, stays))
        rows.sort(key=lambda row: -row[1])
        most = _library.MOST_OUTPUTS - 1
        alone, rest = (rows, []) if len(rows) <= most else (rows[: most - 1], rows[most - 1 :])
        found = [self._add(name, "output" if stays else "activation", n, readers) for name, n, readers, stays in alone]
        if rest:
            role = "output" if any(row[3] for row in rest) else "activation"
            readers = {reader for row in rest for reader in row[2]}
            found.append(self._add(f"rest of {group[0].get_name()}", role, sum(row[1] for row in rest), readers))
        return found


def _is_order(nodes) -> bool:
    place = {node: i for i, node in enumerate(nodes)}
    return all(place[before] < place[node] for node in nodes for before in node.mpi_node.pred_nodes)


def ordered(nodes, name_to_buf, name_to_fused_node, graph_inputs, graph_outputs, *rest):
    """In place of memory.reorder_for_peak_memory. From level APART on the planner's order, where the compiler's has no
    room and the planner's peak is lower."""
    theirs = _reorder(nodes, name_to_buf, name_to_fused_node, graph_inputs, graph_outputs, *rest)
    if inductor.level() < inductor.APART or len(nodes) < 2:
        return theirs
    try:
        _, inputs = memory.prepare_planning_info(theirs, name_to_buf, name_to_fused_node, graph_inputs, graph_outputs)
        peak, room = max(live_bytes(theirs, inputs, graph_outputs)), inductor.room()
        if room is not None and peak <= room:
            return theirs
        program = Program(theirs, inputs, graph_outputs)
        ours = program.nodes_of(program.best_order(room))
        lower = max(live_bytes(ours, inputs, graph_outputs)) < peak
    except Exception:  # what is private in PyTorch may change
        return theirs
    return ours if lower and _is_order(ours) else theirs
