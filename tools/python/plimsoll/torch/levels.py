"""The graph of a fused step at each level of inductor.set_level(): what convolutions take there, and how long.

Below level PLAIN images lie in the layout channels last. There the forward keeps copies of filters, ops take other bytes
for themselves, and a backward of many groups runs in parts of them (grouped.py), the more parts the less room there is.
"""

from __future__ import annotations

import torch

from ..planning import Graph
from . import inductor
from .costs import Cost, Costs, copied_primals
from .joint import Joint

RATES = (1.2, 1.6, 3.0)  # times the fastest parts: a graph is planned for each, whose ops may be so slow to take less


class Levels:
    """top     the highest level that differs from the others; first: the one to begin with
    ns         by how much a step takes longer at each level
    longer_ns  by how much the parts that were taken last take longer than the fastest ones
    """

    def __init__(self, joint: Joint, costs: Costs, plain: list[Cost], extra_bytes: int, device: torch.device):
        self.joint, self.extra_bytes = joint, extra_bytes
        last = costs.of_channels_last(joint)
        self.ways = costs.ways(joint)
        self.whole = [last.get(node, cost) for node, cost in zip(joint.nodes, plain)]
        self.plain = plain
        self.top = inductor.PLAIN if last else inductor.APART
        self.copies = copied_primals(joint)
        fastest = {node: self.ways[node][0][0] if node in self.ways else cost for node, cost in last.items()}
        longer = costs.channels_last_ns(joint, plain, fastest) if last and device.type == "cpu" else 0
        self.ns = (max(0, longer), max(0, longer), max(0, -longer))
        self.first = self.top if longer > 0 else inductor.ALL
        self._graphs: dict[tuple[bool, float], tuple[Graph, Graph]] = {}
        self.take([])

    def rates(self, level: int) -> tuple[float, ...]:
        """With which graphs of this level differ."""
        divided = self.ways if self.is_last(level) else [node for node in self.ways if self.joint.is_last(node)]
        return RATES if divided else RATES[:1]

    def is_last(self, level: int) -> bool:
        """Do images of convolutions have the layout channels last?"""
        return level < inductor.PLAIN <= self.top

    def _divided(self, level: int, rate: float) -> list[Cost]:
        found = list(self.whole if self.is_last(level) else self.plain)
        for place, node in enumerate(self.joint.nodes):
            if node in self.ways and (self.is_last(level) or self.joint.is_last(node)):
                fastest = self.ways[node][0][0]
                near = [cost.workspace_bytes for cost, _ in self.ways[node] if cost.time_ns <= rate * fastest.time_ns]
                found[place] = fastest._replace(workspace_bytes=near[-1])
        return found

    def graphs(self, level: int, rate: float) -> tuple[Graph, Graph]:
        """The graph at a level, and one that counts on kernels that write over what nothing reads later. rate: each op that runs
        in parts has the workspace of the least that take so many times as long as the fastest; plans may run faster
        ones."""
        key = self.is_last(level), rate
        if key not in self._graphs:
            costs, copies = self._divided(level, rate), self.copies if key[0] else {}
            made = [self.joint.planner_graph(costs, self.extra_bytes, in_place, copies) for in_place in (False, True)]
            self._graphs[key] = made[0], made[1]
        return self._graphs[key]

    def divide(self, order: list[int], level: int, rate: float, limit_bytes: int) -> list[list[int]]:
        """Each backward of many groups runs in the fastest parts for whose workspace the plan has room within the limit, where
        its images have the layout channels last. Returns what take() takes: (place in joint.nodes, groups at once) of each."""
        graph, joint, found = self.graphs(level, rate)[0], self.joint, []
        live = graph.live_bytes(order)[0] if self.ways else []
        for node, ways in self.ways.items():
            if not self.is_last(level) and not joint.is_last(node):
                continue
            place = joint.nodes.index(node)
            op = place + (place >= joint.boundary)
            most = max(live[step] for step, other in enumerate(order) if other == op)
            room = limit_bytes - most + graph.ops[op].workspace_bytes
            way = next((way for way in ways if way[0].workspace_bytes <= room), ways[-1])
            found.append([place, way[1]])
        self.take(found)
        return found

    def parts_ns(self, parts: list[list[int]]) -> int | None:
        """By how much these parts take longer than the fastest ones. None: they are not of this step, or not among its ways
        any more, as those of a file that is damaged or older than the times."""
        by_place = {self.joint.nodes.index(node): ways for node, ways in self.ways.items()}
        places = [place for place, _ in parts]
        if len(set(places)) < len(places) or not by_place.keys() >= set(places):
            return None
        found = [next((cost for cost, n in by_place[place] if n == at_once), None) for place, at_once in parts]
        if None in found:
            return None
        return sum(cost.time_ns - by_place[place][0][0].time_ns for cost, place in zip(found, places) if cost)

    def take(self, parts: list[list[int]]):
        """Sets how ops are divided; those that are not named are whole."""
        joint, self.longer_ns = self.joint, 0
        joint.at_once.clear()
        for place, node in enumerate(joint.nodes):
            whole = self.whole[place].workspace_bytes
            joint.workspaces[node] = (whole, whole, self.plain[place].workspace_bytes)
        for place, at_once in parts:
            node = joint.nodes[place]
            ways = self.ways[node]
            cost, joint.at_once[node] = next((way for way in ways if way[1] == at_once), ways[-1])
            own = cost.workspace_bytes
            joint.workspaces[node] = (own, own, own if joint.is_last(node) else self.plain[place].workspace_bytes)
            self.longer_ns += cost.time_ns - ways[0][0].time_ns
