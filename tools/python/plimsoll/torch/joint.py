"""A joint graph of AOTAutograd (forward and backward of one step) as ops over storages, and a plan of them as a new
joint graph.

An op is a node that makes a storage. A view makes none: it is made anew beside each of its readers. So is a node that
a compiler computes inside the kernels of its readers (fusion.py). Between forward and backward stands an op of class
once, the boundary: it reads what the forward returns and writes the tangents.
"""

from __future__ import annotations

import dataclasses
import operator
import typing

import torch
from torch import fx
from torch._functorch.partitioners import _extract_fwd_bwd_outputs, _is_tangent
from torch.utils import _pytree as pytree

from ..planning import Error, Graph, _library
from . import grouped, masks
from .memory import rounded

if typing.TYPE_CHECKING:
    from .costs import Cost

aten = torch.ops.aten
BATCH_NORM = aten._native_batch_norm_legit_functional.default


class Unsupported(Error):
    """The step has something that cannot be planned yet."""


def argument(node: fx.Node, place: int) -> typing.Any:
    """What the node reads at this place of its arguments: a node, or a number, a text or a list of them."""
    return node.args[place]


def draws(node: fx.Node) -> bool:
    """Numbers of the generator, so that it has other results each time. Attention whose dropout is 0 draws none."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    schema = getattr(node.target, "_schema", None)
    for place, about in enumerate(schema.arguments if schema else ()):
        if about.name == "dropout_p":
            share = node.args[place] if place < len(node.args) else node.kwargs.get("dropout_p", about.default_value)
            return not isinstance(share, (int, float)) or share != 0
    return True


def tensors(value) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def storage_of(tensor: torch.Tensor) -> int:
    """Equal for a view and its base."""
    return tensor.untyped_storage()._cdata


def storage_bytes(tensor: torch.Tensor) -> int:
    n_bytes = tensor.untyped_storage().nbytes()
    if isinstance(n_bytes, int):
        return rounded(n_bytes, tensor.device)
    raise Unsupported("a tensor has a size that is not known yet (a dynamic shape); compile for one shape at a time")


def _aliased(node: fx.Node):
    """What a view, or one of an op's results, is of its source's value. None: neither."""
    schema = getattr(node.target, "_schema", None)
    if node.target is operator.getitem:
        return argument(node, 0).meta["val"][argument(node, 1)]
    if schema is None or not any(row.alias_info and not row.alias_info.is_write for row in schema.returns):
        return None
    own = {storage_of(t) for source in node.all_input_nodes for t in tensors(source.meta.get("val"))}
    if all(storage_of(t) in own for t in tensors(node.meta["val"])):
        return None
    op: typing.Any = node.target
    fake: typing.Any = tensors(node.meta["val"])[0]
    arguments, keywords = fx.map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
    with fake.fake_mode:
        return op(*arguments, **keywords)


def _share_storages(node: fx.Node):
    """A pass of the compiler may give new tensors to a view, and to one of an op's results, that have storages of their own."""
    value = _aliased(node)
    if [t.shape for t in tensors(value)] == [t.shape for t in tensors(node.meta["val"])]:
        node.meta["val"] = value


def _is_update(node: fx.Node) -> bool:
    """Inductor's graphs write new values of primals; elsewhere the forward returns them."""
    return node.target is aten.copy_.default and argument(node, 0).op == "placeholder" and not node.users


@dataclasses.dataclass
class Storage:
    n_bytes: int
    node: fx.Node | None  # that makes it; None: a primal, a constant or a tangent
    tangent: bool = False
    returned: bool = False  # by the forward or the backward, and kept by the caller
    by_forward: bool = False  # returned by the forward, to be kept or as the new value of a primal


class Joint:
    """The ops and storages of a joint graph.

    nodes      the ops, in the order of the program
    boundary   its place in the list of ops: it runs before nodes[boundary]
    storage    by storage_of
    fused      the backend fuses kernels, and find_inlined says what
    inlined    nodes that make a storage and are no ops: their readers compute them
    in_place   ops whose kernel may write over what it reads
    masks      ops whose result the backward reads from bytes, by masks.py; these three of find_inlined(joint)
    """

    def __init__(self, module: fx.GraphModule, n_forward_outputs: int, find_inlined=None):
        self.module, self.graph = module, module.graph
        forward, backward, *_ = _extract_fwd_bwd_outputs(module, num_fwd_outputs=n_forward_outputs)
        self.forward_outputs, self.backward_outputs = list(forward), list(backward)
        self.workspaces: dict[fx.Node, tuple[int, ...]] = {}  # by level of inductor.set_level(), where they are known
        self.at_once: dict[fx.Node, int] = {}  # of grouped.py: the groups of a part; 0: not divided
        self.storage: dict[int, Storage] = {}
        self.nodes: list[fx.Node] = []
        self.updates: set[fx.Node] = set()  # nodes that write a new value of a primal, as a running mean
        self._keep: list[list[torch.Tensor]] = []  # storages are compared by address: their tensors must live
        for node in self.graph.nodes:
            self._add(node)
        self.is_backward = self._reached_by_tangents()
        self.mutated = self._mutated_primals()
        self._mark_returned()
        self.fused = find_inlined is not None
        self.inlined: set[fx.Node] = set()
        self.in_place: set[fx.Node] = set()
        self.masks: set[fx.Node] = set()
        if find_inlined:
            self.inlined, self.in_place, self.masks = find_inlined(self)
        self.nodes = [node for node in self.nodes if node not in self.inlined]
        self.is_op = set(self.nodes)
        self.boundary = next((i for i, n in enumerate(self.nodes) if n in self.is_backward), len(self.nodes))

    def _add(self, node: fx.Node):
        found = tensors(node.meta.get("val"))
        for tensor in found:
            if tensor.layout != torch.strided:
                layout = str(tensor.layout).removeprefix("torch.")
                raise Unsupported(f"'{node.name}' makes a tensor of the layout {layout}; a plan is for dense tensors")
        if node.op == "call_function" and found:
            _share_storages(node)
            found = tensors(node.meta["val"])
        self._keep.append(found)
        if node.op in ("placeholder", "get_attr"):
            for tensor in found:
                tangent = node.op == "placeholder" and _is_tangent(node)
                self.storage.setdefault(storage_of(tensor), Storage(storage_bytes(tensor), None, tangent))
        elif node.op == "call_function":
            new = [tensor for tensor in found if storage_of(tensor) not in self.storage]
            schema = getattr(node.target, "_schema", None)
            if _is_update(node):
                self.updates.add(node)
                self.nodes.append(node)
                return
            if schema is not None and schema.is_mutable:
                raise Unsupported(f"'{node.name}' ({node.target}) writes over its input inside the step")
            if isinstance(node.target, torch._ops.HigherOrderOperator):
                raise Unsupported(f"'{node.name}' is a '{node.target}', which holds ops of its own")
            for tensor in new:
                self.storage.setdefault(storage_of(tensor), Storage(storage_bytes(tensor), node))
            if new or not found:
                self.nodes.append(node)
        elif node.op != "output":
            raise Unsupported(f"'{node.name}' is a '{node.op}', which holds ops of its own")

    def _reached_by_tangents(self) -> set[fx.Node]:
        reached = {n for n in self.graph.nodes if n.op == "placeholder" and _is_tangent(n)}
        for node in self.graph.nodes:
            if any(source in reached for source in node.all_input_nodes):
                reached.add(node)
        return reached

    def _updates(self) -> set[int]:
        """Places among the forward's outputs of new values of primals, which the caller copies and drops."""
        output = next(n for n in self.graph.nodes if n.op == "output")
        kinds = [type(description).__name__ for description in output.meta.get("desc", ())]
        return {place for place, kind in enumerate(kinds[: len(self.forward_outputs)]) if kind == "InputMutationAOTOutput"}

    def _mutated_primals(self) -> set[int]:
        """Storages of the primals that are updated after the forward, as the running statistics of a batch norm."""
        output = next(n for n in self.graph.nodes if n.op == "output")
        by_place = {}
        for node in self.graph.nodes:
            if node.op == "placeholder":
                by_place[repr(node.meta.get("desc"))] = node
        mutated = {storage_of(argument(node, 0).meta["val"]) for node in self.updates}
        for description in output.meta.get("desc", ()):
            if type(description).__name__ == "InputMutationAOTOutput":
                node = by_place.get(repr(description.mutated_input))
                if node is not None:
                    mutated.update(storage_of(t) for t in tensors(node.meta["val"]))
        return mutated

    def _mark_returned(self):
        updates = self._updates()
        for outputs, forward in ((self.forward_outputs, True), (self.backward_outputs, False)):
            for place, node in enumerate(outputs):
                for tensor in tensors(node.meta.get("val")) if isinstance(node, fx.Node) else []:
                    storage = self.storage[storage_of(tensor)]
                    update = forward and place in updates
                    if update:
                        self.mutated.add(storage_of(tensor))
                    storage.returned |= not update
                    storage.by_forward |= forward

    @staticmethod
    def is_last(node: fx.Node) -> bool:
        """Do the images of the backward of a convolution have the layout channels last in the model's own step? Of one pixel
        they have both layouts, and count as the model's."""
        images = argument(node, 1).meta["val"]
        return images.is_contiguous(memory_format=torch.channels_last) and not images.is_contiguous()

    def primal_bytes(self) -> int:
        return sum(s.n_bytes for s in self.storage.values() if s.node is None and not s.tangent)

    # ---- what an op reads and writes ----

    def reads(self, node: fx.Node, inlined: set[fx.Node] | None = None) -> list[int]:
        """Storages, each once. Running statistics count for nothing where training does not use their values.
        inlined: what is computed inside it, where that is not known yet."""
        inlined = self.inlined if inlined is None else inlined
        skip = self.mutated if node.target in (BATCH_NORM, aten.native_batch_norm_backward.default) else set()
        found: dict[int, None] = {}
        for source in node.all_input_nodes:
            if not isinstance(source.meta.get("val"), (tuple, list)):
                for tensor in tensors(source.meta.get("val")):
                    key = storage_of(tensor)
                    maker = self.storage[key].node
                    if maker in inlined:
                        found.update(dict.fromkeys(self.reads(maker, inlined)))
                    elif key not in skip:
                        found[key] = None
        return list(found)

    def class_of(self, node: fx.Node, writes: list[int]) -> str:
        """once for what may not run again: it draws, it is returned by the forward, or it reads what is updated."""
        again = not (
            draws(node)
            or not writes
            or any(self.storage[s].by_forward for s in writes)
            or any(s in self.mutated for s in self.reads(node))
        )
        if node.target is BATCH_NORM:  # repeated as another op, which makes no statistics
            again = not any(self.storage[s].by_forward for s in writes if self._is_result(node, s, 0))
        return "pure" if again else "once"

    @staticmethod
    def _is_result(node: fx.Node, storage: int, index: int) -> bool:
        return storage_of(node.meta["val"][index]) == storage

    # ---- as a graph of the planner ----

    def _group(self, keys: list[int]) -> list[list[int]]:
        """One group less than an op may have outputs, or fewer: the smallest storages share the last one."""
        keys = sorted(keys, key=lambda k: -self.storage[k].n_bytes)
        most = _library.MOST_OUTPUTS - 1
        return [[k] for k in keys[: most - 1]] + ([keys[most - 1 :]] if len(keys) >= most else [])

    def _write(self, graph: Graph, keys: list[int], number: dict[int, int], role: str) -> list[int]:
        writes = []
        for group in self._group(keys):
            here = "output" if any(self.storage[k].returned for k in group) else role
            n_bytes = sum(self.storage[k].n_bytes for k in group)
            writes.append(graph.add_storage(here, max(n_bytes, here == "output")))
            number.update(dict.fromkeys(group, writes[-1]))
        return writes or [graph.add_storage(role, 0)]

    def planner_graph(
        self, costs: list[Cost], extra_bytes: int, in_place: bool = False, copies: typing.Mapping[int, int] | None = None
    ) -> Graph:
        """The graph of the whole step. costs: of each node. extra_bytes: what is there all the time beside the primals.
        in_place: count on it that fused kernels write over what nothing reads later, wherever they may.
        copies: bytes by storage of a primal; backwards of convolutions read a copy, which counts from the boundary on.
        Op i of the graph is nodes[i] before the boundary, then the boundary, then nodes[i - 1]."""
        graph, number, drawn = Graph("joint"), {}, None
        made: dict[fx.Node, list[int]] = {}
        readers: dict[int, list[int]] = {}  # of primals that are updated: what has to run before
        copied: dict[int, int] = {}
        for key, storage in self.storage.items():
            if storage.node in self.inlined:
                continue
            if storage.node is not None:
                made.setdefault(storage.node, []).append(key)
            elif not storage.tangent:
                number[key] = graph.add_storage("param", max(storage.n_bytes, 1))
        if extra_bytes > 0:
            graph.add_storage("param", extra_bytes)
        for i, node in enumerate([*self.nodes, None]):
            if i == self.boundary:
                copied = self._add_boundary(graph, number, copies or {})
            if node is None:
                break
            phase = "backward" if node in self.is_backward else "forward"
            writes = made.get(node, [])
            for key, n_bytes in zip(writes, costs[i].outputs):
                self.storage[key].n_bytes = max(self.storage[key].n_bytes, n_bytes)
            reads = list(dict.fromkeys(number[k] for k in self.reads(node)))
            if node.target is aten.convolution_backward.default:
                reads += [copied[k] for k in self.reads(node) if k in copied]
            out = self._write(graph, writes, number, "gradient" if phase == "backward" else "activation")
            cls = self.class_of(node, writes)
            drew = draws(node)
            if cls == "once" and (phase == "forward" or drew):  # no bytes: the boundary reads it, and so runs later
                out.append(graph.add_storage("activation" if phase == "forward" else "gradient", 0))
            if drew:  # the next draw reads it: numbers are drawn in the order of the program
                reads += [drawn] if drawn is not None else []
                drawn = out[-1]
            for key in self.mutated.intersection(self.reads(node)) if phase == "forward" else ():
                reads += readers.get(key, []) if node in self.updates else []
                readers.setdefault(key, []).append(out[-1])
            pairs = [(out[0], number[k]) for k in self._overwritten(node, writes)] if in_place else []
            graph.add_op(
                node.name, reads, out, costs[i].time_ns, costs[i].workspace_bytes, cls=cls, phase=phase, in_place=pairs
            )
        return graph

    def _overwritten(self, node: fx.Node, writes: list[int]) -> list[int]:
        """What a fused kernel may write its result over: as many bytes of the same type, made on this side."""
        if node not in self.in_place or len(writes) != 1:
            return []
        result, most = node.meta["val"], _library.MOST_PAIRS
        found = []
        for key in self.reads(node):
            storage = self.storage[key]
            maker = storage.node
            if maker is None or storage.returned or storage.n_bytes != self.storage[writes[0]].n_bytes:
                continue
            same_side = (maker in self.is_backward) == (node in self.is_backward)
            value = maker.meta["val"]
            if same_side and isinstance(value, torch.Tensor) and value.dtype == result.dtype:
                found.append(key)
        return found[:most]

    def _add_boundary(self, graph: Graph, number: dict[int, int], copies: typing.Mapping[int, int]) -> dict[int, int]:
        """Reads what the forward returns, and the last output of each op that only the forward may run. Autograd holds
        the tangents until the backward has returned. Copies count from here on. Returns the storages of these."""
        reads: dict[int, None] = {}
        for node in self.forward_outputs:
            for tensor in tensors(node.meta.get("val")) if isinstance(node, fx.Node) else []:
                if storage_of(tensor) not in number:
                    raise Unsupported(f"the forward returns '{node.name}', which is computed from gradients of its own results")
                reads[number[storage_of(tensor)]] = None
        for op in graph.ops:
            if op.cls == "once":
                reads[op.writes[-1]] = None
        tangents = [key for key, storage in self.storage.items() if storage.tangent]
        writes = self._write(graph, tangents, number, "output")
        copied = {key: graph.add_storage("activation", n_bytes) for key, n_bytes in copies.items()}
        graph.add_op("boundary", list(reads), [*copied.values(), *writes], 0, cls="once")
        return copied


class Rebuilt:
    """A plan of a joint graph as a new joint graph: nodes in the order of the plan, repeats as nodes of their own.

    module  the new joint graph; meta["plimsoll_step"] of a node is the place of its run in the order, and
            meta["plimsoll_workspaces"] what it takes for itself
    saved   its nodes that the forward makes, or is given, and that the backward reads
    """

    def __init__(self, joint: Joint, order: list[int]):
        self.joint = joint
        self.graph = fx.Graph()
        self.now: dict[fx.Node, fx.Node] = {}  # the newest copy of an op's node
        self.views: dict[tuple, fx.Node] = {}
        self.after: set[fx.Node] = set()  # nodes behind the boundary
        self.saved: dict[fx.Node, None] = {}
        self.stored: dict[fx.Node, fx.Node] = {}  # the bytes of masks
        self.behind = False
        for node in joint.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.now[node] = self.graph.node_copy(node, lambda source: self.now[source])
                if node.op == "placeholder" and _is_tangent(node):
                    self.after.add(self.now[node])
        for step, op in enumerate(order):
            self._run(step, op)
        backward = [self._newest(n) for n in joint.backward_outputs]
        for node in backward:
            self._save(node)
        output = next(n for n in joint.graph.nodes if n.op == "output")
        copy = self.graph.output(tuple(self.forward + backward))
        copy.meta = dict(output.meta)
        self.module = fx._lazy_graph_module._make_graph_module(joint.module, self.graph)

    def _run(self, step: int, op: int):
        boundary = self.joint.boundary
        if op == boundary:
            self.forward = [self._newest(n) for n in self.joint.forward_outputs]
            self.behind = True
            self.views.clear()
            return
        node = self.joint.nodes[op - (op > boundary)]
        results = [user for user in node.users if user.target is operator.getitem]
        repeat = node in self.now and node.target is BATCH_NORM
        if repeat:
            copy = self._without_statistics(node)
        else:
            copy = self.graph.node_copy(node, self._newest)
        if self.joint.at_once.get(node):
            self._divide(copy, self.joint.at_once[node])
        if node.target is aten.native_batch_norm_backward.default:
            self._forget_statistics(node, copy)
        copy.meta = {**copy.meta, "plimsoll_step": step, "plimsoll_workspaces": self.joint.workspaces.get(node, ())}
        self._place(node, copy)
        for user in results:
            if not (repeat and argument(user, 1) > 2):
                self._place(user, self.graph.node_copy(user, lambda source: self.now[source]))
        for made in (node, *results):
            if self.joint.fused and made in self.joint.backward_outputs:
                self._keep_layout(made)

    def _place(self, node: fx.Node, copy: fx.Node):
        self.now[node] = copy
        if self.behind:
            self.after.add(copy)
            for source in copy.all_input_nodes:
                self._save(source)

    def _save(self, node):
        if isinstance(node, fx.Node) and node not in self.after:
            self.saved[node] = None

    def _newest(self, node):
        """The newest copy of an op; of a view, one made for this side of the boundary."""
        if not isinstance(node, fx.Node):
            return node
        if node in self.joint.masks and self.now[node] not in self.after:
            return self._mask(self.now[node])
        if node in self.joint.is_op or node.op in ("placeholder", "get_attr"):
            return self.now[node]
        if node.target is operator.getitem and node.args[0] in self.joint.is_op:
            return self.now[node]
        key = (node, *(self._newest(source) for source in node.all_input_nodes))
        if key not in self.views:
            copy = self.graph.node_copy(node, self._newest)
            self.views[key] = copy
            if self.behind:
                self.after.add(copy)
                for source in copy.all_input_nodes:
                    self._save(source)
        return self.views[key]

    def _mask(self, copy: fx.Node) -> fx.Node:
        """A mask of the forward, for this side of the boundary. The forward reads it from bytes, too: kernels would else
        compute it twice."""
        if copy not in self.stored:
            self.stored[copy] = masks.as_bytes(self.graph, copy)
        key = (copy, self.behind)
        if key not in self.views:
            made = masks.as_mask(self.graph, self.stored[copy])
            self.views[key] = made[-1]
            if self.behind:
                self.after.update(made)
                self._save(self.stored[copy])
        return self.views[key]

    @staticmethod
    def _divide(copy: fx.Node, at_once: int):
        copy.target, copy.args = grouped.IN_PARTS, grouped.arguments(copy.args, at_once)

    def _without_statistics(self, node: fx.Node) -> fx.Node:
        x, weight, bias, _mean, _variance, training, momentum, epsilon = node.args
        arguments = (self._newest(x), self._newest(weight), self._newest(bias), training, momentum, epsilon)
        copy = self.graph.call_function(aten._native_batch_norm_legit.no_stats, arguments)
        copy.meta = {**node.meta, "val": node.meta["val"][:3]}
        return copy

    def _keep_layout(self, gradient: fx.Node):
        """The compiler may make the gradient of a filter in the layout channels last. Autograd would copy it when all are
        there."""
        from torch._inductor.inductor_prims import force_stride_order

        value = gradient.meta["val"]
        if value.dim() == 4 and value.is_contiguous() and not value.is_contiguous(memory_format=torch.channels_last):
            self._place(gradient, self._made(force_stride_order, self.now[gradient], value.stride()))

    def _made(self, op, *arguments) -> fx.Node:
        made = self.graph.call_function(op, arguments)
        with arguments[0].meta["val"].fake_mode:
            made.meta["val"] = op(*(a.meta["val"] if isinstance(a, fx.Node) else a for a in arguments))
        if self.behind:
            self.after.add(made)
            for source in made.all_input_nodes:
                self._save(source)
        return made

    def _forget_statistics(self, node: fx.Node, copy: fx.Node):
        """The backward of a training step does not read the running statistics, which the forward has updated."""
        arguments = list(copy.args)
        if node.args[7]:  # training
            arguments[3] = arguments[4] = None
            copy.args = tuple(arguments)
