"""plimsoll.Graph against the library: layouts of structs, plans, refusals, sizes. Needs no PyTorch."""

import dataclasses
import json
import os
import pathlib
import pickle
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import plimsoll  # noqa: E402


def chain(layers=6, n_bytes=1000):
    """Each forward op reads the one before; each backward op reads its own forward op and the backward op before."""
    graph = plimsoll.Graph("chain")
    now = graph.add_storage("input", n_bytes)
    made = []
    for i in range(layers):
        made.append(graph.add_storage("activation", n_bytes))
        graph.add_op(f"layer{i}", [now], [made[-1]], 100)
        now = made[-1]
    for i in reversed(range(layers)):
        out = graph.add_storage("output" if i == 0 else "gradient", n_bytes)
        graph.add_op(f"back{i}", [now, made[i]], [out], 200, workspace_bytes=10 * i, phase="backward")
        now = out
    return graph


class Planning(unittest.TestCase):
    def test_keeps_everything_without_a_budget(self):
        plan = chain().plan()
        self.assertEqual(plan.order, list(range(12)))
        self.assertEqual((plan.time_ns, plan.keep_all_ns, plan.overhead_percent), (1800, 1800, 0))
        self.assertTrue(plan.proved)

    def test_a_smaller_budget_recomputes_and_is_kept(self):
        graph = chain()
        all_bytes = graph.plan().peak_bytes
        plan = graph.plan(all_bytes * 2 // 3)
        self.assertLessEqual(plan.peak_bytes, all_bytes * 2 // 3)
        self.assertGreater(len(plan.order), len(graph.ops))
        self.assertGreater(plan.overhead_percent, 0)
        self.assertLessEqual(plan.bound_ns, plan.time_ns)
        self.assertEqual(plan.order, graph.plan(all_bytes * 2 // 3).order)

    def test_a_brief_search_makes_the_plan_and_a_whole_one_follows_where_there_is_none(self):
        searches = []

        class Watched(plimsoll.Graph):
            def _search(self, documents, budget_bytes, options):
                found = super()._search(documents, budget_bytes, options)
                searches.append((options.brief, found is not None))
                return found

        graph = chain(12)
        graph.__class__ = Watched
        all_bytes = graph.plan().peak_bytes
        self.assertEqual(searches, [(0, True)])
        for percent in (90, 60, 40):
            searches.clear()
            graph.plan(all_bytes * percent // 100)
            self.assertEqual(searches, [(1, True)])
        searches.clear()
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            graph.plan(all_bytes * 20 // 100)
        self.assertEqual(searches, [(1, False), (0, False)])
        searches.clear()
        graph.plan(refused.exception.smallest_bytes)
        self.assertEqual(searches[-1][1], True)
        searches.clear()
        graph.plan(all_bytes * 60 // 100, iterations=20_000)
        self.assertEqual(searches, [(0, True)])

    def test_an_op_may_write_over_what_nothing_reads_later(self):
        peaks = []
        for in_place in ([], [(1, 0)]):
            graph = plimsoll.Graph()
            storages = [graph.add_storage(role, 1000) for role in ("activation", "activation", "output")]
            graph.add_op("make", [], storages[:1], 5)
            graph.add_op("over", storages[:1], storages[1:2], 5, in_place=in_place)
            graph.add_op("last", storages[1:2], storages[2:], 5, in_place=[(2, 1)])
            plan = graph.plan()
            self.assertEqual(plan.peak_bytes, max(graph.live_bytes(plan.order)[0]))
            peaks.append(plan.peak_bytes)
        self.assertEqual(peaks, [2000, 1000])
        self.assertRaises(ValueError, graph.add_op, "wrong", storages[:1], storages[1:2], 5, in_place=[(0, 1)])

    def test_what_is_read_by_structs_is_what_the_documents_say(self):
        with tempfile.TemporaryDirectory() as folder:
            graph = chain()
            plan = graph.plan(graph.plan().peak_bytes * 2 // 3, save=folder)
            saved = json.loads(pathlib.Path(folder, "plan.json").read_text())
            steps = [saved["variants"][row["variant"]]["op"] for row in saved["steps"]]
            self.assertEqual(steps, plan.order)
            for key in ("peak_bytes", "time_ns", "keep_all_ns", "bound_ns", "planner", "proved"):
                self.assertEqual(saved[key], getattr(plan, key), key)
            document = json.loads(pathlib.Path(folder, "graph.json").read_text())
            self.assertEqual([row["bytes"] for row in document["storages"]], [n for _, n in graph.storages])
            self.assertEqual([row["role"] for row in document["storages"]], [role for role, _ in graph.storages])
            self.assertEqual([row["class"] for row in document["ops"]], [op.cls for op in graph.ops])
            self.assertEqual([row["in"] for row in document["ops"]], [op.reads for op in graph.ops])
            profile = json.loads(pathlib.Path(folder, "profile.json").read_text())
            costs = [(row["time_ns"], row["workspace_bytes"]) for row in profile["variants"]]
            self.assertEqual(costs, [(op.time_ns, op.workspace_bytes) for op in graph.ops])

    def test_an_op_of_class_once_is_not_recomputed(self):
        graph = chain()
        for op in graph.ops[:6]:
            op.cls = "once"
        with self.assertRaises(plimsoll.DoesNotFit):
            graph.plan(graph.plan().peak_bytes - 1)

    def test_a_refusal_has_the_smallest_budget_which_has_a_plan(self):
        graph = chain()
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            graph.plan(10)
        smallest = refused.exception.smallest_bytes
        self.assertIn(str(smallest), str(refused.exception))
        self.assertIn(refused.exception.op, [op.name for op in graph.ops])
        self.assertLessEqual(graph.plan(smallest).peak_bytes, smallest)

    def test_an_op_reads_and_writes_any_number_of_storages(self):
        graph, n = plimsoll.Graph(), 100
        first = [graph.add_storage("activation", 1024) for _ in range(n)]
        last = [graph.add_storage("output", 1024) for _ in range(n)]
        graph.add_op("spread", [], first, 1)
        graph.add_op("move", first, last, 1, in_place=[(last[-1], first[-1])])
        self.assertEqual(graph.plan().peak_bytes, (2 * n - 1) * 1024)

    def test_a_wrong_graph_is_refused_with_a_sentence(self):
        from plimsoll import _library

        graph = plimsoll.Graph()
        with self.assertRaises(plimsoll.Error) as refused:
            graph.plan()
        self.assertTrue(str(refused.exception))
        storage = graph.add_storage("activation", 8)
        graph.add_op("reads what nobody wrote", [storage], [graph.add_storage("output", 8)], 1)
        self.assertRaises(plimsoll.Error, graph.plan)
        self.assertRaises(ValueError, graph.add_storage, "heap", 8)
        self.assertRaises(ValueError, graph.add_op, "none", [], [], 1)
        pairs = [(1, 0)] * (_library.MOST_PAIRS + 1)
        self.assertRaises(ValueError, graph.add_op, "pairs", [0], [1], 1, in_place=pairs)

    def test_sizes(self):
        for text, n_bytes in (("8GiB", 8 * 2**30), ("1.5MB", 1500000), ("7", 7), (7, 7), ("50 %", 100), ("12.5%", 25),
                              ("8 GB", 8 * 10**9), ("1TiB", 2**40), ("3kB", 3000)):  # fmt: skip
            self.assertEqual(plimsoll.parse_bytes(text, 200), n_bytes)
        for wrong in ("", "x", "8 gigs", "0", "-1MiB", "1e30GiB", "nan%", "1.5", True, None, 3.5, "9223372036854775808"):
            self.assertRaises(ValueError, plimsoll.parse_bytes, wrong, 200)
        for wrong, words in (("8gb", "'8GB' has 8000000000 bytes"), ("0", "'0' is zero"), ("0%", "'0%' is zero"),
                             ("-8GiB", "as in '8GiB'"), (2**63, "more than 63 bits hold")):  # fmt: skip
            with self.assertRaises(ValueError) as refused:
                plimsoll.parse_bytes(wrong, 200)
            self.assertIn(words, str(refused.exception))
        self.assertRaises(ValueError, plimsoll.parse_bytes, "40%")
        self.assertEqual(plimsoll.parse_bytes("100%", 437336), 437336)
        self.assertEqual(plimsoll.format_bytes(3 * 2**29), "1.5 GiB")

    def test_a_struct_that_has_grown_is_read_where_its_fields_are_now(self):
        from plimsoll import _library

        grown = {("plim_command", ""): (0, 24), ("plim_command", "op"): (12, 4)}
        struct = _library._structure("plim_command", grown)
        self.assertEqual((struct.op.offset, struct.op.size), (12, 4))
        for wrong in ({("plim_command", ""): (0, 24)}, {**grown, ("plim_command", "op"): (16, 8)}):
            self.assertRaises(ImportError, _library._structure, "plim_command", wrong)

    def test_a_trace_of_a_plan_is_written_for_the_program(self):
        graph = chain()
        plan = graph.plan(graph.plan().peak_bytes * 2 // 3)
        with tempfile.TemporaryDirectory() as folder:
            plan.write_trace(f"{folder}/t.jsonl", [10 + i for i in range(len(plan.order))])
            lines = [json.loads(row) for row in pathlib.Path(folder, "t.jsonl").read_text().splitlines()]
            self.assertEqual([row["op"] for row in lines[1:-1]], plan.order)
            self.assertEqual(lines[2]["time_ns"], 11)
            self.assertEqual(max(row["live_bytes"] for row in lines[1:-1]), plan.peak_bytes)
            self.assertTrue(pathlib.Path(folder, "t.plan.graph.json").exists())
        self.assertRaises(ValueError, plan.write_trace, "t.jsonl", [1])

    def test_a_plan_without_documents_says_so(self):
        plan = dataclasses.replace(chain().plan(), documents=None)
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaises(plimsoll.Error, plan.save, folder)
            self.assertRaises(plimsoll.Error, plan.write_trace, f"{folder}/t.jsonl", [1] * len(plan.order))

    def test_live_bytes_are_those_of_the_plan(self):
        graph = chain()
        plan = graph.plan(graph.plan().peak_bytes * 2 // 3)
        live, lives = graph.live_bytes(plan.order)
        self.assertEqual(max(live), plan.peak_bytes)
        self.assertTrue(any(len(rows) > 1 for rows in lives))

    def test_without_pytorch_one_sentence_says_what_is_missing(self):
        import subprocess

        hide = "import sys; sys.modules['torch'] = None; "
        code = hide + f"sys.path.insert(0, {str(pathlib.Path(__file__).parent.parent)!r}); import plimsoll.torch"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("needs PyTorch 2.11 or newer: pip install", run.stderr.splitlines()[-1])

    def test_a_library_that_is_not_there_is_named(self):
        environment = {**os.environ, "PLIMSOLL_LIBRARY": "/nowhere/libplimsoll-plan.so"}
        import subprocess

        code = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent.parent)!r}); import plimsoll"
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nowhere/libplimsoll-plan.so", run.stderr)


class Snapshot(unittest.TestCase):
    """A memory snapshot of PyTorch, as torch.cuda.memory._dump_snapshot writes it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "s.pickle")

    @staticmethod
    def event(action, address, n_bytes, line=0):
        frames = [{"filename": "torch/nn.py", "line": 1, "name": "linear"}] if line else []
        frames += [{"filename": "/home/me/net.py", "line": line, "name": "forward</script>"}] if line else []
        return {"action": action, "addr": address, "size": n_bytes, "stream": 0, "frames": frames}

    def snapshot(self):
        """Weights before the first event, one freed under way, two activations at one address, one alive at the end."""
        event = self.event
        events = [
            event("segment_alloc", 1000, 4000),
            event("alloc", 2000, 700, line=7),
            event("free_requested", 2000, 700),
            event("free_completed", 2000, 700),
            event("alloc", 2000, 500, line=8),
            event("free_completed", 1500, 100),
        ]
        blocks = [
            {"size": 500, "requested_size": 400, "address": 1000, "state": "active_allocated", "frames": []},
            {"size": 500, "requested_size": 0, "address": 1500, "state": "inactive", "frames": []},
            {"size": 500, "requested_size": 500, "address": 2000, "state": "active_allocated", "frames": []},
        ]
        segment = {"device": 0, "address": 1000, "total_size": 4000, "stream": 0, "blocks": blocks}
        return {"segments": [segment], "device_traces": [events, []], "allocator_settings": {}}

    def test_allocations_have_lifetimes_in_events(self):
        self.path.write_bytes(pickle.dumps(self.snapshot()))
        found = plimsoll.read_snapshot(self.path)
        self.assertEqual([row[1:3] + row[4:] for row in found["lives"]], [[0, 1, 700], [2, 4, 500], [0, 3, 100], [0, 4, 400]])
        self.assertEqual((found["events"], found["bytes"]), (4, 1200))
        self.assertEqual(found["labels"][:2], ["forward</script> (net.py:7)", "forward</script> (net.py:8)"])

    def test_blocks_without_addresses_lie_side_by_side(self):
        snapshot = self.snapshot()
        for block in snapshot["segments"][0]["blocks"]:
            del block["address"]
        self.path.write_text(json.dumps(snapshot))  # JSON is read too
        self.assertEqual(plimsoll.read_snapshot(self.path)["bytes"], 1200)

    def test_it_is_drawn_in_a_page_once(self):
        from plimsoll.snapshot import MARK

        self.path.write_bytes(pickle.dumps(self.snapshot()))
        template = pathlib.Path(__file__).parents[2] / "plimsoll" / "trace" / "trace_page.html"
        page = pathlib.Path(self.folder.name, "run.html")
        page.write_text(template.read_text().replace("/*DATA*/", "{}"))
        plimsoll.add_snapshot(page, self.path)
        self.assertNotIn(MARK, page.read_text())
        self.assertIn('"events": 4', page.read_text())
        self.assertEqual(page.read_text().count("</script>"), 1)
        script = template.read_text().split("<script>")[1].split("</script>")[0]
        for begin, end in ("{}", "()", "[]"):
            self.assertEqual(script.count(begin), script.count(end))
        for name in ("show", "draw", "rectangles"):
            self.assertIn(f"function {name}(", script)
        self.assertRaises(plimsoll.Error, plimsoll.add_snapshot, page, self.path)

    def test_other_files_are_refused(self):
        whole = pickle.dumps(self.snapshot())
        broken = [b"", b"{", whole[: len(whole) // 2], b"\x80\x04}.", pickle.dumps(pathlib.Path("/")), pickle.dumps([1])]
        for wrong in ({"segments": [], "device_traces": []}, {"segments": 1, "device_traces": [[{"action": "alloc"}]]}):
            broken.append(pickle.dumps(wrong))
        for text in broken:
            self.path.write_bytes(text)
            with self.assertRaises(plimsoll.Error, msg=text[:40]) as refused:
                plimsoll.read_snapshot(self.path)
            self.assertIn("is no memory snapshot", str(refused.exception))


if __name__ == "__main__":
    unittest.main()
