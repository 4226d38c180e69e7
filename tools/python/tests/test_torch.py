"""plimsoll.torch on small models: the measured peak keeps the budget, and the bits are those of eager training."""

import copy
import json
import operator
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
try:
    import torch
    import torch.nn.functional as F

    import plimsoll.torch as pt
except ImportError as missing:
    raise unittest.SkipTest(f"no PyTorch here: {missing}") from None
import plimsoll  # noqa: E402
from plimsoll.torch.versions import is_at_least  # noqa: E402

from_2_15 = unittest.skipUnless(is_at_least(2, 15), "for PyTorch 2.15 and newer")


class WithLoss(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y)


class Attention(torch.nn.Module):
    def __init__(self, width, drop):
        super().__init__()
        self.norm, self.drop = torch.nn.LayerNorm(width), drop
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        return x + F.dropout(F.gelu(self.out(a)), self.drop, self.training)


def convolutions():
    layers, wide = [], 3
    for width in (8, 16, 16):
        layers += [torch.nn.Conv2d(wide, width, 3, padding=1), torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
        wide = width
    layers += [torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(16 * 64, 10)]
    return torch.nn.Sequential(*layers), (torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,)))


def grouped_of(node):
    from plimsoll.torch import grouped

    return grouped.can_be_divided(node)


def transformer(drop=0.0):
    width, length = 32, 64
    layers = [torch.nn.Embedding(50, width), *(Attention(width, drop) for _ in range(3))]
    layers += [torch.nn.Linear(width, 50), torch.nn.Flatten(0, 1)]
    return torch.nn.Sequential(*layers), (torch.randint(0, 50, (4, length)), torch.randint(0, 50, (4 * length,)))


def shared_weights():
    inner = torch.nn.Linear(64, 64)
    net = torch.nn.Sequential(*(torch.nn.Sequential(inner, torch.nn.Tanh()) for _ in range(6)), torch.nn.Linear(64, 10))
    return net, (torch.randn(256, 64), torch.randint(0, 10, (256,)))


def recurrent(kind=torch.nn.GRU, layers_of_it=1):
    """A GRU, which is in no graph of the compiler, and layers that may be recomputed."""

    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = kind(32, 32, layers_of_it, batch_first=True)
            layers = [torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU()) for _ in range(6)]
            self.layers = torch.nn.Sequential(*layers)

        def forward(self, x, y):
            return F.mse_loss(self.layers(self.net(x)[0]), y)

    torch.manual_seed(0)
    return Recurrent(), (torch.randn(64, 12, 32), torch.randn(64, 12, 32))


def train(model, batch, step, steps=3):
    """Losses, parameters and buffers after some steps of SGD. Random numbers are drawn from one seed."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(5)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        losses.append(step(*batch))
        optimizer.step()
    return losses + [p.detach() for p in model.parameters()] + list(model.buffers())


def eager(model):
    def run(*batch):
        loss = model(*batch)
        loss.backward()
        return loss.detach()

    return run


class Compile(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(1)

    def check(self, make, budget):
        net, batch = make()
        model = WithLoss(net)
        reference = copy.deepcopy(model)
        step = pt.compile(model, budget=budget)
        ours = train(model, batch, lambda *b: step(*b)[0])
        theirs = train(reference, batch, eager(reference))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)))
        report = step.report()
        planned = report.planned.plan.peak_bytes
        self.assertLessEqual(report.measured_bytes, report.budget_bytes)
        self.assertLessEqual(abs(report.measured_bytes - planned), 64)
        return report

    def test_convolutions_and_batch_norm_at_several_budgets(self):
        for budget in ("90%", "75%"):
            report = self.check(convolutions, budget)
            self.assertTrue(report.planned.recomputed())
        self.assertIn("overhead, predicted", str(report))

    def test_attention(self):
        self.assertTrue(self.check(transformer, "60%").planned.recomputed())

    def test_ops_that_tracing_takes_apart_have_the_bits_of_eager_training(self):
        """Interpolations and a few losses have kernels of their own, and their pieces have other bits."""

        class Scaled(torch.nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.first, self.mode = torch.nn.Conv2d(3, 4, 3, padding=1), mode
                self.head = torch.nn.Linear(4 * 81, 10)

            def forward(self, x):
                x = torch.nn.functional.softshrink(self.first(x), 0.1)
                return self.head(F.interpolate(x, scale_factor=2.3, mode=self.mode).flatten(1))

        op = torch.ops.aten.upsample_bilinear2d.default
        kernels = dict(op.py_kernels)
        for mode in ("nearest", "bilinear", "bicubic"):
            with self.subTest(mode):
                torch._dynamo.reset()
                batch = torch.randn(8, 3, 4, 4), torch.randint(0, 10, (8,))
                self.check(lambda: (Scaled(mode), batch), "100%")  # noqa: B023
        self.assertEqual(op.py_kernels, kernels)

    def test_ops_stay_whole_until_the_last_thread_has_traced(self):
        from plimsoll.torch import native

        op = torch.ops.aten.upsample_bilinear2d.default
        kernels = dict(op.py_kernels)
        first, second = native.kept_whole(), native.kept_whole()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        self.assertNotEqual(op.py_kernels, kernels)
        second.__exit__(None, None, None)
        self.assertEqual(op.py_kernels, kernels)

    def test_dropout_of_two_byte_types_has_the_bits_of_eager_training(self):
        net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Dropout(0.3), torch.nn.Linear(64, 10)).bfloat16()
        batch = torch.randn(64, 32, dtype=torch.bfloat16), torch.randint(0, 10, (64,))
        self.check(lambda: (net, batch), "100%")

    def test_dropout_draws_what_eager_training_draws(self):
        self.assertTrue(self.check(lambda: transformer(0.2), "75%").planned.recomputed())

    def test_random_numbers_are_drawn_in_the_order_of_the_program(self):
        class Depths(torch.nn.Module):  # blocks are left out at random; no draw needs a result of the step
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(4))

            def forward(self, x):
                for layer in self.layers:
                    x = x + torch.empty(len(x), 1).bernoulli_(0.7) * torch.tanh(layer(x))
                return x

        from plimsoll.torch import capture
        from plimsoll.torch.costs import Costs

        batch = shared_weights()[1]
        self.assertTrue(self.check(lambda: (Depths(), batch), "85%").planned.recomputed())
        joint = capture.trace(WithLoss(Depths()), batch)
        draws = [op for op in joint.planner_graph(Costs().of(joint, False), 0).ops if op.name.startswith("bernoulli")]
        self.assertEqual(len(draws), 4)
        for one, other in zip(draws, draws[1:]):
            self.assertIn(one.writes[-1], other.reads)

    def test_measuring_sets_back_the_generators_of_the_gpus_on_which_it_draws(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from plimsoll.torch.costs import gpus_of

        graph = torch.fx.Graph()
        operand = graph.placeholder("x")
        result = graph.call_function(torch.ops.aten.neg.default, (operand,))
        for device in ("cuda:0", "cpu"):
            with FakeTensorMode():
                operand.meta["val"] = torch.empty(2, device=device)
            result.meta["val"] = operand.meta["val"]
            self.assertEqual(gpus_of([result]), [torch.device(device)] if device != "cpu" else [])

    def test_shared_weights(self):
        self.assertTrue(self.check(shared_weights, "70%").planned.recomputed())

    def test_gradients_that_autograd_would_copy_at_the_end_are_counted(self):
        class ChannelsLast(torch.nn.Module):  # the filter's gradient has the strides of the images, not the filter's
            def __init__(self):
                super().__init__()
                self.filter = torch.nn.Conv2d(64, 256, 2, stride=2)

            def forward(self, x):
                return self.filter(x.permute(0, 3, 1, 2)).mean((2, 3))

        class Sums(torch.nn.Module):  # two parameters have one gradient
            def __init__(self):
                super().__init__()
                self.first, self.second = (torch.nn.Parameter(torch.randn(64, 512)) for _ in range(2))

            def forward(self, x):
                return torch.tanh(x + self.first + self.second)

        target = torch.tensor([1])
        for net, batch in (
            (ChannelsLast(), (torch.randn(1, 4, 4, 64), target)),
            (Sums(), (torch.randn(64, 512), torch.randint(0, 512, (64,)))),
        ):
            torch._dynamo.reset()
            report = self.check(lambda net=net, batch=batch: (net, batch), "100%")
            self.assertEqual(report.rounds, 1)

    def test_an_output_that_holds_more_bytes_than_its_shape_says(self):
        class Squares(WithLoss):  # the loss keeps the storage of all squares
            def forward(self, x, y):
                return F.mse_loss(self.net(x), y)

        step = pt.compile(Squares(shared_weights()[0]), budget="75%")
        step(torch.randn(256, 64), torch.randn(256, 10))
        report = step.report()
        self.assertEqual(report.rounds, 1)
        self.assertLessEqual(abs(report.measured_bytes - report.planned.plan.peak_bytes), 64)

    def test_gradients_are_returned_by_name(self):
        net, batch = shared_weights()
        model = WithLoss(net)
        loss, gradients = pt.compile(model, budget="100%")(*batch)
        self.assertEqual(set(gradients), {name for name, _ in model.named_parameters()})
        self.assertEqual(loss.dim(), 0)

    def test_a_budget_that_is_too_small_is_refused_with_the_smallest(self):
        net, batch = shared_weights()
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            pt.compile(WithLoss(net), budget=1000)(*batch)
        self.assertGreater(refused.exception.smallest_bytes, 1000)

    def test_a_batch_that_cannot_be_cut_is_refused_without_one_that_fits(self):
        net, batch = transformer()  # the target has batch times length numbers
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            pt.compile(WithLoss(net), budget=1000)(*batch)
        self.assertNotIn("a batch of", str(refused.exception))

    def test_bad_input_is_refused(self):
        net, batch = shared_weights()
        for budget in ("lots", 0, -1, "0", "0%", "-8GiB", "8 gb", "1e9", "nan", 0.5, True, None):
            self.assertRaises(ValueError, pt.compile, WithLoss(net), budget)
        self.assertRaises(ValueError, pt.compile, WithLoss(net), "1GiB", backend="none")
        self.assertRaises(TypeError, pt.compile, F.relu, "1GiB")
        self.assertRaises(TypeError, pt.plan, WithLoss(net), batch[0])
        step = pt.compile(WithLoss(net), budget="100%")
        self.assertRaises(plimsoll.Error, step.report)
        step(*batch)
        with self.assertRaises(plimsoll.Error):
            pt.compile(net, budget="1GiB")(batch[0])  # returns no loss

    def test_a_plan_that_was_within_the_budget_is_taken_where_later_ones_are_not(self):
        from plimsoll.torch import step

        net, batch = transformer()
        model = WithLoss(net)
        budget = int(0.7 * pt.plan(model, batch, measure=True).keep_all_bytes)
        measured, orders = iter([int(0.9 * budget), budget + 1000, budget + 1000, budget]), []
        plan_piece = step._Shaped.plan_piece

        def noted(shaped, joint, split):
            orders.append(plan_piece(shaped, joint, split))
            return orders[-1]

        with (
            unittest.mock.patch.object(step._Shaped, "_measure", lambda _: next(measured)),
            unittest.mock.patch.object(step._Shaped, "plan_piece", noted),
        ):
            found = pt.compile(model, budget=budget)
            found(*batch)
        self.assertEqual(len(orders), 4)
        self.assertEqual(orders[3], orders[0])
        self.assertEqual(found.report().measured_bytes, budget)
        self.assertEqual(found.report().planned.plan.order, orders[0])


class Refusals(unittest.TestCase):
    """The remedy of a refusal is one for what went wrong."""

    def test_an_index_that_is_none(self):
        net = torch.nn.Sequential(torch.nn.Embedding(10, 4), torch.nn.Flatten(), torch.nn.Linear(8, 3))
        with self.assertRaises(plimsoll.Error) as refused:
            pt.compile(WithLoss(net), "1GiB")(torch.full((2, 2), 10), torch.zeros(2, dtype=torch.int64))
        self.assertIn("index out of range", str(refused.exception))
        self.assertIn("is no index of what the model looks up", str(refused.exception))

    @from_2_15
    def test_a_failure_of_the_package_is_not_told_as_one_of_the_forward(self):
        from plimsoll.torch import joint

        net, batch = transformer()
        for backend in ("eager", "inductor"):
            with (
                unittest.mock.patch.object(joint.Joint, "primal_bytes", lambda _: [][0]),
                self.assertRaises(Exception) as failed,
            ):
                pt.compile(WithLoss(net), "1GiB", backend=backend)(*batch)
            self.assertIn("list index out of range", str(failed.exception))
            self.assertNotIn("the model's forward fails", str(failed.exception))

    def test_an_older_pytorch_is_refused_with_what_it_lacks(self):
        net, batch = transformer()
        with unittest.mock.patch.object(torch, "__version__", "2.11.0+cu130"):
            pt.compile(WithLoss(net), "1GiB")
            with self.assertRaises(pt.Unsupported) as refused:
                pt.compile(WithLoss(net), "1GiB", backend="inductor")
        self.assertIn("needs PyTorch 2.15 or newer, this is 2.11.0+cu130", str(refused.exception))
        hide = "import torch; torch.__version__ = '2.10.1'; import plimsoll.torch"
        run = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, cwd=ROOT)
        self.assertIn("needs PyTorch 2.11 or newer, this is 2.10.1", run.stderr.splitlines()[-1])

    def test_a_time_is_that_of_two_runs_that_agree(self):
        from plimsoll.torch import costs

        lasts = iter(n * 1_000_000 for n in (90, 200, 1, 60, 1))  # the others waited for threads of other programs
        clock = [0]

        def run():
            clock[0] += next(lasts)

        with unittest.mock.patch.object(costs.time, "perf_counter_ns", lambda: clock[0]):
            self.assertEqual(costs._time(run, torch.device("cpu")), 1_000_000)
        self.assertEqual(list(lasts), [])

    def test_attention_without_dropout_draws_nothing(self):
        from plimsoll.torch.joint import draws

        q = torch.zeros(1, 1, 4, 4)
        attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
        for op, arguments, named, expected in (
            (attention, (q, q, q), {}, False),
            (attention, (q, q, q, 0.0), {}, False),
            (attention, (q, q, q, 0.1), {}, True),
            (attention, (q, q, q), {"dropout_p": 0.1}, True),
            (torch.ops.aten.native_dropout.default, (q, 0.0, True), {}, True),
            (torch.ops.aten.relu.default, (q,), {}, False),
        ):
            node = torch.fx.Graph().call_function(op, arguments, named)
            self.assertIs(draws(node), expected, (op, arguments, named))

    def test_a_forward_with_a_backward_of_its_own(self):
        class Penalty(torch.nn.Linear):
            def forward(self, x):
                loss = super().forward(x).sum()
                (gradient,) = torch.autograd.grad(loss, self.weight, create_graph=True)
                return loss + gradient.pow(2).sum()

        with self.assertRaises(pt.Unsupported) as refused:
            pt.compile(Penalty(4, 1), "1GiB")(torch.randn(8, 4))
        words = {True: "torch.compile(model, fullgraph=True)(*batch) says what", False: "computed from gradients of its own"}
        self.assertIn(words[is_at_least(2, 15)], str(refused.exception))


class Uses(unittest.TestCase):
    """What a step may be used for, and what is refused with a sentence."""

    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(1)

    def refuses(self, words, kind, run, *arguments, **named):
        with self.assertRaises(kind) as refused:
            run(*arguments, **named)
        self.assertIn(words, str(refused.exception))
        self.assertNotIn("\n", str(refused.exception))

    def test_a_budget_that_plan_calls_feasible_is_kept_by_compile(self):
        net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 256))
        batch = (torch.randn(2, 256), torch.randint(0, 256, (2,)))  # the peak is at the end, where gradients are
        for budget in ("100%", "99%"):
            try:
                alone = pt.plan(WithLoss(net), batch, budget=budget, measure=True)
            except plimsoll.DoesNotFit as refusal:
                alone = pt.plan(WithLoss(net), batch, budget=refusal.smallest_bytes, measure=True)
            step = pt.compile(WithLoss(net), budget=alone.plan.budget_bytes)
            step(*batch)
            self.assertEqual(step.report().rounds, 1)
            self.assertEqual(step.report().planned.plan.peak_bytes, alone.plan.peak_bytes)
            self.assertEqual(step.report().measured_bytes, alone.plan.peak_bytes)

    def test_each_shape_has_a_plan(self):
        net, (x, y) = shared_weights()
        step = pt.compile(WithLoss(net), budget="80%")
        peaks = []
        for n in (256, 128, 64, 256):
            step(x[:n], y[:n])
            peaks.append(step.report().planned.plan.peak_bytes)
        self.assertEqual(peaks[0], peaks[3])
        self.assertLess(peaks[1], peaks[0])
        self.assertEqual(len(step._shaped), 3)

    def test_graphs_of_a_broken_step_share_the_budget_and_are_told(self):
        class Broken(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = shared_weights()[0][:6], torch.nn.Linear(64, 10)

            def forward(self, x, y):
                x = self.first(x)
                torch._dynamo.graph_break()
                return F.cross_entropy(self.second(torch.tanh(x)), y)

        model, batch = Broken(), shared_weights()[1]
        reference = copy.deepcopy(model)
        step = pt.compile(model, budget="90%")
        ours = train(model, batch, lambda *b: step(*b)[0])
        theirs = train(reference, batch, eager(reference))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)))
        report = step.report()
        self.assertEqual(len(report.pieces), 2)
        self.assertLessEqual(report.measured_bytes, report.budget_bytes)
        self.assertIn("graph break", str(report))

    def test_a_forward_that_sets_something_up_when_it_first_runs_is_planned_as_it_runs_then(self):
        """The compiler breaks the graph at the lock, and when it compiles once more there is none."""
        import threading

        lock = threading.Lock()

        def set_up(model):
            if getattr(model, "is_ready", False):
                return
            with lock:
                model.is_ready = True

        class Lazy(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = torch.nn.Linear(64, 256), torch.nn.Linear(256, 10)

            def forward(self, x, y):
                x = F.gelu(self.first(x))
                set_up(self)
                return F.cross_entropy(self.second(F.gelu(x)), y)

        for budget in ("100%", "90%", 1 << 30):
            with self.subTest(budget):
                torch._dynamo.reset()
                model = Lazy()
                batch = torch.randn(64, 64), torch.randint(0, 10, (64,))
                step = pt.compile(model, budget=budget)
                loss, gradients = step(*batch)
                report = step.report()
                self.assertEqual(len(report.pieces), 1)
                self.assertLessEqual(report.measured_bytes, report.budget_bytes)
                model(*batch).backward()
                self.assertTrue(torch.equal(model(*batch), loss))

    def test_a_budget_for_the_graph_of_later_runs_is_enough(self):
        """The first forward breaks the graph where all branches are there, so that no plan for it would fit."""

        class Once(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.up = torch.nn.ModuleList(torch.nn.Linear(32, 512) for _ in range(10))
                self.down = torch.nn.ModuleList(torch.nn.Linear(512, 1) for _ in range(10))
                self.told = False

            def forward(self, x):
                branches = [torch.tanh(up(x)) for up in self.up]
                if not self.told:
                    self.told = True
                    print(end="")
                return sum(down(branch).pow(2).mean() for down, branch in zip(self.down, branches))

        model, x = Once(), torch.randn(256, 32)
        model.told = True
        budget = int(1.3 * pt.plan(model, (x,)).graph.plan_smallest()[0].peak_bytes)
        model.told = False
        step = pt.compile(model, budget=budget)
        step(x)
        self.assertLessEqual(step.report().measured_bytes, budget)
        self.assertEqual(len(step.report().pieces), 1)

    def test_a_step_that_changes_after_many_others_were_planned_is_planned_anew(self):
        """The compiler counts what lies behind a graph break for all steps together, and above a limit runs it as it is."""

        class Printing(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers, self.depth = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(12)), 12

            def forward(self, x):
                x = torch.tanh(self.layers[0](x))
                print(end="")
                for layer in self.layers[1 : self.depth]:
                    x = torch.tanh(layer(x))
                return x.pow(2).mean()

        model = Printing()
        for n in range(4):
            pt.compile(model, budget="90%")(torch.randn(256 + 16 * n, 64))
        model.depth = 6
        step, x = pt.compile(model, budget=1 << 30), torch.randn(256, 64)
        step(x)
        before = [len(piece.graph.ops) for piece in step.report().pieces]
        model.depth = 12
        step(x)
        self.assertGreater([len(piece.graph.ops) for piece in step.report().pieces], before)

    def test_a_batch_that_is_not_a_number_in_one_place_of_memory_is_planned(self):
        step = pt.compile(WithLoss(torch.nn.Linear(8, 4)), budget="100%")
        loss, _ = step(torch.full((), float("nan")).expand(16, 8), torch.randint(0, 4, (16,)))
        self.assertTrue(loss.isnan())

    def test_planning_leaves_statistics_of_a_norm_in_no_graph_as_they_were(self):
        class Norm(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.norm = torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32)

            @torch._dynamo.disable
            def normed(self, x):
                return self.norm(x)

            def forward(self, x):
                return torch.tanh(self.normed(torch.tanh(self.first(x)))).pow(2).mean()

        model, x = Norm(), torch.randn(64, 16)
        reference = copy.deepcopy(model)
        pt.compile(model, budget="100%")(x)
        reference(x)
        for ours, theirs in zip(model.buffers(), reference.buffers(), strict=True):
            self.assertTrue(torch.equal(ours, theirs))

    def test_a_message_that_a_logger_gives_only_once_breaks_no_graph(self):
        import functools
        import logging

        logger = logging.getLogger("once")
        given = []

        class Talks(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 10)

            def forward(self, x, y):
                x = F.gelu(self.first(x))
                logger.warning_once("said")
                return F.cross_entropy(self.second(x), y)

        once = functools.cache(lambda _, message: given.append(message))
        with unittest.mock.patch.object(logging.Logger, "warning_once", once, create=True):
            batch = torch.randn(8, 16), torch.randint(0, 10, (8,))
            pt.plan(Talks(), batch)
            self.assertEqual(given, [])
            step = pt.compile(Talks(), budget="100%")
            step(*batch)
        self.assertEqual(given, ["said"])
        self.assertEqual(len(step.report().pieces), 1)

    def test_a_share_of_what_a_broken_step_takes_is_not_one_of_its_first_graph(self):
        class Broken(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.small, self.large = torch.nn.Linear(8, 8), torch.nn.Linear(8, 512)

            def forward(self, x):
                x = self.small(x)
                torch._dynamo.graph_break()
                return self.large(x).square().mean()

        step = pt.compile(Broken(), budget="110%")
        step(torch.randn(16, 8))
        report = step.report()
        self.assertEqual(len(report.pieces), 2)
        self.assertLessEqual(report.measured_bytes, report.budget_bytes)

    def test_a_second_backward_is_refused(self):
        net, batch = shared_weights()
        loss, _ = pt.compile(WithLoss(net), budget="100%")(*batch)
        self.refuses("has run its backward", plimsoll.Error, loss.backward)
        self.refuses("has run its backward", plimsoll.Error, loss.backward, retain_graph=True)
        parameters = list(net.parameters())
        self.refuses("gradients of gradients", plimsoll.Error, torch.autograd.grad, loss, parameters, create_graph=True)

    def test_wrappers_that_change_the_step_are_refused(self):
        class DistributedDataParallel(torch.nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

        net, _ = shared_weights()
        for name in ("DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"):
            kind = type(name, (DistributedDataParallel,), {"__module__": "torch.nn.parallel"})
            self.refuses(name, pt.Unsupported, pt.compile, kind(net), "1GiB")
            self.refuses(name, pt.Unsupported, pt.compile, WithLoss(kind(net)), "1GiB")
        self.refuses("the model has no parameters", pt.Unsupported, pt.compile, torch.nn.ReLU(), "1GiB")

    @from_2_15
    def test_a_percentage_of_a_step_with_a_part_in_no_graph_is_of_the_whole_step(self):
        model, batch = recurrent()
        whole = pt.compile(model, budget="100%")
        whole(*batch)
        self.assertEqual(whole.report().measured_bytes, whole.report().budget_bytes)
        self.assertEqual(whole.report().planned.recomputed(), {})
        for percent in (90, 80, 75):  # more plans than the compiler makes of one function by itself
            less = pt.compile(model, budget=f"{percent}%")
            less(*batch)
            self.assertEqual(less.report().budget_bytes, whole.report().budget_bytes * percent // 100)
            self.assertLessEqual(less.report().measured_bytes, less.report().budget_bytes)
            self.assertTrue(less.report().planned.recomputed())

    @from_2_15
    def test_a_step_with_a_part_in_no_graph_is_refused_in_bytes_of_the_whole_step(self):
        model, batch = recurrent()
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            pt.compile(model, budget=700_000)(*batch)
        self.assertNotIn("within 1 B", str(refused.exception))
        self.assertIn("not all of the step is in its graphs", str(refused.exception))
        step = pt.compile(model, budget=refused.exception.smallest_bytes)
        step(*batch)
        self.assertLessEqual(step.report().measured_bytes, refused.exception.smallest_bytes)
        self.assertIn("graph break", str(step.report()))

    @from_2_15
    def test_a_part_in_no_graph_that_takes_the_most_is_refused_with_the_smallest_peak_that_was_measured(self):
        model, batch = recurrent(torch.nn.LSTM, 2)
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            pt.compile(model, budget="85%")(*batch)
        self.assertEqual(str(refused.exception).count("not all of the step is in its graphs"), 1)
        small = refused.exception.smallest_bytes
        self.assertIn(f"({small} bytes)", str(refused.exception))
        step = pt.compile(model, budget=small)
        step(*batch)
        self.assertLessEqual(step.report().measured_bytes, small)

    @from_2_15
    def test_a_round_is_not_spent_on_the_plan_that_was_above_the_budget(self):
        model, batch = recurrent(torch.nn.LSTM, 2)
        step = pt.compile(model, budget="95%")
        step(*batch)
        self.assertEqual(step.report().rounds, 2)

    @from_2_15
    def test_a_fused_step_with_a_part_in_no_graph_is_planned_again_with_what_is_beside_the_plan(self):
        model, batch = recurrent()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict("os.environ", XDG_CACHE_HOME=folder):
            step = pt.compile(model, budget="85%", backend="inductor")
            step(*batch)
        report = step.report()
        self.assertLessEqual(report.measured_bytes, report.budget_bytes)

    def test_hooks_of_parameters_run_once_a_step(self):
        net, batch = shared_weights()
        model = WithLoss(net)
        reference = copy.deepcopy(model)
        for one in (model, reference):
            for parameter in one.parameters():
                optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
                parameter.register_post_accumulate_grad_hook(lambda _, optimizer=optimizer: optimizer.step() and None)
        step = pt.compile(model, budget="80%")
        for _ in range(2):
            step(*batch)
            reference.zero_grad(set_to_none=True)
            reference(*batch).backward()
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(model.parameters(), reference.parameters(), strict=True)))

    def test_the_wrapper_of_several_processes_is_refused_with_what_to_do(self):
        import torch.distributed

        with tempfile.TemporaryDirectory() as folder:
            store = torch.distributed.FileStore(f"{folder}/store", 1)
            torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
            try:
                wrapped = torch.nn.parallel.DistributedDataParallel(WithLoss(shared_weights()[0]))
                self.refuses("plan the module inside it", pt.Unsupported, pt.compile, wrapped, "1GiB")
                pt.compile(wrapped.module, "1GiB")
            finally:
                torch.distributed.destroy_process_group()

    def test_a_model_without_a_loss_is_refused(self):
        net, batch = shared_weights()
        self.refuses("must return the loss", plimsoll.Error, pt.compile(net, budget="1GiB"), batch[0])

        class Detached(WithLoss):
            def forward(self, x, y):
                return super().forward(x, y).detach()

        self.refuses("without detach()", plimsoll.Error, pt.compile(Detached(net), budget="1GiB"), *batch)

    def test_a_batch_that_the_forward_does_not_take_is_refused_with_its_shapes(self):
        net, (x, y) = shared_weights()
        wrong = [
            ("float32 (256, 63), int64 (256,): ", (x[:, :63], y)),
            ("float64 (256, 64), int64 (256,): ", (x.double(), y)),
            ("int64 (256, 64), int64 (256,): ", (x.long(), y)),
            ("float32 (256, 64): ", (x,)),
            ("float32 (256, 64), int64 (256,), int64 (256,): ", (x, y, y)),
            ("float32 (256, 64), str: ", (x, "y")),
        ]
        step = pt.compile(WithLoss(net), budget="1GiB")
        for words, batch in wrong:
            self.refuses(f"the model's forward fails with a batch of {words}", plimsoll.Error, step, *batch)
            if batch[0].dtype == torch.float32:  # fake tensors are not so strict about the types of a linear layer
                self.refuses(words, plimsoll.Error, pt.plan, WithLoss(net), batch)
        self.refuses("one tuple of 2: call step(*batch)", plimsoll.Error, step, (x, y))

    def test_a_call_that_cannot_train_is_refused_with_a_remedy(self):
        net, (x, y) = shared_weights()
        step = pt.compile(WithLoss(net), budget="1GiB")
        self.refuses("as step(x, y)", plimsoll.Error, step)
        self.refuses("tensor 1 of 2 of the batch has the shape (0, 64)", plimsoll.Error, step, x[:0], y[:0])
        self.refuses("tensor 2 of 2 of the batch lies on meta, the model on cpu", plimsoll.Error, step, x, y.to("meta"))
        sparse = "tensor 1 of 2 of the batch has the layout sparse_coo"
        self.refuses(sparse, pt.Unsupported, step, x.to_sparse(), y)
        self.refuses(sparse, pt.Unsupported, pt.plan, WithLoss(net), (x.to_sparse(), y))
        adjacent = WithLoss(copy.deepcopy(net))
        adjacent.register_buffer("edges", torch.eye(4).to_sparse_csr())
        self.refuses("'edges' has the layout sparse_csr", pt.Unsupported, pt.compile, adjacent, "1GiB")
        with torch.no_grad():
            self.refuses("torch.no_grad()", plimsoll.Error, step, x, y)
        elsewhere = copy.deepcopy(net).to("meta")
        self.refuses("model.to_empty", plimsoll.Error, pt.compile(WithLoss(elsewhere), "1GiB"), x, y)
        elsewhere[-1].to_empty(device="cpu")
        self.refuses("2 devices ('net", plimsoll.Error, pt.compile, WithLoss(elsewhere), "1GiB")
        for parameter in net.parameters():
            parameter.requires_grad_(False)
        self.refuses("none of the model's 4 parameters", pt.Unsupported, pt.compile, WithLoss(net), "1GiB")
        self.refuses("none of the model's 4 parameters", pt.Unsupported, pt.plan, WithLoss(net), (x, y))

    def test_options_of_a_search_and_a_backend_are_checked_at_once(self):
        net, batch = shared_weights()
        wrong = [("time_limit", "1"), ("time_limit", -1), ("time_limit", float("nan")), ("effort", "1"), ("effort", -1)]
        for name, value in wrong:
            self.refuses(f"not {value!r}", ValueError, pt.compile, WithLoss(net), "1GiB", **{name: value})
        self.refuses("time_limit is", ValueError, pt.plan, WithLoss(net), batch, time_limit=0)
        self.refuses("'none' is none", ValueError, pt.plan, WithLoss(net), batch, backend="none")
        self.refuses("points is", ValueError, pt.sweep, WithLoss(net), batch, points="3")

    def test_a_plan_of_several_graphs_is_refused_with_what_takes_them(self):
        class Broken(WithLoss):
            def forward(self, x, y):
                torch._dynamo.graph_break()
                return super().forward(x, y)

        net, batch = shared_weights()
        self.refuses("compile() plans the graphs", pt.Unsupported, pt.plan, Broken(net), batch)

    def test_a_plan_of_a_forward_that_counts_its_batches_in_a_buffer(self):
        class Counts(WithLoss):
            def forward(self, x, y):
                self.batches += 1
                return super().forward(x, y)

        net, batch = shared_weights()
        model = Counts(net)
        model.register_buffer("batches", torch.zeros((), dtype=torch.long))
        self.assertGreater(pt.plan(model, batch).plan.peak_bytes, 0)
        self.assertEqual(model.batches, 0)

    def test_a_plan_is_for_a_loss_too(self):
        class Rows(WithLoss):
            def forward(self, x, y):
                return F.cross_entropy(self.net(x), y, reduction="none")

        class Both(WithLoss):
            def forward(self, x, y):
                logits = self.net(x)
                return F.cross_entropy(logits, y), logits

        class Turned(WithLoss):
            def forward(self, x, y):
                return super().forward(x, y) * 1j

        net, batch = shared_weights()
        self.refuses("shape (256,)", plimsoll.Error, pt.plan, Rows(net), batch)
        self.refuses("2 tensors", plimsoll.Error, pt.plan, Both(net), batch)
        self.refuses("complex64", plimsoll.Error, pt.plan, Turned(net), batch)
        self.refuses("complex64", plimsoll.Error, pt.compile(Turned(net), "100%"), *batch)
        self.refuses("no elements", plimsoll.Error, pt.plan, WithLoss(net), (batch[0][:0], batch[1][:0]))

    def test_what_has_no_plan_yet_is_refused_with_a_sentence(self):
        class Words(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(50, 10, sparse=True)

            def forward(self, x, y):
                return F.cross_entropy(self.words(x), y)

        words = (torch.randint(0, 50, (64,)), torch.randint(0, 10, (64,)))
        self.refuses("layout sparse_coo", pt.Unsupported, pt.compile(Words(), "1GiB"), *words)
        lazy = WithLoss(torch.nn.Sequential(torch.nn.LazyLinear(10)))
        self.refuses("'net.0.weight' has no shape", plimsoll.Error, pt.compile, lazy, "1GiB")
        net, (x, y) = shared_weights()
        step = pt.compile(WithLoss(net), "1GiB")
        self.refuses("torch.from_numpy", plimsoll.Error, step, x.numpy(), y)
        self.refuses("holds a set", plimsoll.Error, step, x, y, {1})

    def test_a_model_that_changes_after_planning_is_planned_anew(self):
        net, batch = shared_weights()
        model = WithLoss(net)
        step = pt.compile(model, budget="90%")
        step(*batch)
        before = step.report()
        net[5] = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 64))
        reference = copy.deepcopy(model)
        loss, _ = step(*batch)
        expected = reference(*batch)
        expected.backward()
        self.assertTrue(torch.equal(loss, expected))
        for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
            self.assertTrue(torch.equal(ours.grad, theirs.grad))
        after = step.report()
        self.assertGreater(after.planned.keep_all_bytes, before.planned.keep_all_bytes)
        self.assertLessEqual(after.measured_bytes, after.budget_bytes)
        torch._dynamo.reset()  # what was compiled is gone
        self.assertTrue(torch.equal(step(*batch)[0], expected))

    def test_autocast_and_the_mode_of_one_module_have_plans_of_their_own(self):
        layers = [torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Dropout(0.5), torch.nn.Linear(64, 10)]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), shared_weights()[1]
        step, reference = pt.compile(model, budget="100%"), copy.deepcopy(model)
        for cast, mode in ((False, True), (True, True), (False, False)):
            model.net[1].train(mode), reference.net[1].train(mode)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
                torch.manual_seed(3)
                loss, _ = step(*batch)
                torch.manual_seed(3)
                self.assertTrue(torch.equal(loss, reference(*batch)))
            self.assertLessEqual(step.report().measured_bytes, step.report().budget_bytes)
        self.assertEqual(len(step._shaped), 3)

    def test_a_forward_that_is_another_one_at_each_call_is_refused(self):
        class Counts(WithLoss):
            calls = 0

            def forward(self, x, y):
                self.calls += 1
                return super().forward(x, y) * self.calls

        net, batch = shared_weights()
        self.refuses("model.calls", pt.Unsupported, pt.compile(Counts(net), "100%"), *batch)

    def test_planning_changes_neither_the_batch_nor_its_gradient(self):
        class Doubles(WithLoss):
            def forward(self, x, y):
                with torch.no_grad():
                    y.add_(1)
                return super().forward(x, y - 1)

        net, (x, y) = shared_weights()
        once, x = y + 1, x.requires_grad_()
        model = Doubles(net)
        reference, alone = copy.deepcopy(model), x.detach().clone().requires_grad_()
        reference(alone, y.clone()).backward()
        pt.compile(model, budget="100%")(x, y)
        self.assertTrue(torch.equal(y, once))
        self.assertTrue(torch.equal(x.grad, alone.grad))

    def test_a_step_that_is_interrupted_leaves_no_gradients_and_goes_on(self):
        from plimsoll.torch import step as steps

        net, batch = convolutions()
        model = WithLoss(net)
        reference, step = copy.deepcopy(model), pt.compile(model, budget="90%")
        with unittest.mock.patch.object(steps._Shaped, "_measure", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, step, *batch)
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(model.buffers(), reference.buffers(), strict=True)))
        self.assertTrue(torch.equal(step(*batch)[0], reference(*batch)))

    def test_the_parameters_of_a_step_are_those_of_the_model_each_once(self):
        from plimsoll.torch.step import _Members

        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
        net.add_module("again", net[0])
        net.add_module("none", None)
        net[1][0].weight = net[0].weight
        net[1][0].register_parameter("none", None)
        members = _Members(net)
        self.assertEqual(members.modules, list(net.modules()))
        found = [(name, id(parameter)) for name, parameter in members.parameters.items()]
        self.assertEqual(found, [(name, id(parameter)) for name, parameter in net.named_parameters()])
        self.assertTrue(members.are_those_now())
        net[1][0].bias = torch.nn.Parameter(torch.zeros(4))
        self.assertFalse(members.are_those_now())
        members = _Members(net)
        net[1].append(torch.nn.Linear(4, 4))
        self.assertFalse(members.are_those_now())

    def test_a_parameter_that_a_forward_adds_when_it_first_runs_has_the_gradient_of_one_step(self):
        class Lazy(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear(8, 8)

            @torch._dynamo.disable
            def add(self):
                self.scale = torch.nn.Parameter(torch.full((8,), 2.0))

            def forward(self, x):
                if not hasattr(self, "scale"):
                    self.add()
                return (self.inner(x) * self.scale).pow(2).mean()

        model, batch = Lazy(), (torch.randn(32, 8),)
        reference = copy.deepcopy(model)
        reference(*batch).backward()
        _, gradients = pt.compile(model, budget="200%")(*batch)
        self.assertTrue(torch.equal(model.scale.grad, reference.scale.grad))
        self.assertIs(gradients["scale"], model.scale.grad)

    def test_a_parameter_that_is_replaced_by_another_gets_the_gradient(self):
        net, batch = torch.nn.Sequential(torch.nn.Linear(8, 4)), (torch.randn(16, 8), torch.randint(0, 4, (16,)))
        model = WithLoss(net)
        step = pt.compile(model, budget="200%")
        step(*batch)
        old, net[0].weight = net[0].weight, torch.nn.Parameter(torch.randn(4, 8))
        old.grad = None
        reference = copy.deepcopy(model)
        reference(*batch).backward()
        _, gradients = step(*batch)
        self.assertIsNone(old.grad)
        self.assertTrue(torch.equal(net[0].weight.grad, reference.net[0].weight.grad))
        self.assertIs(gradients["net.0.weight"], net[0].weight.grad)

    def test_a_copy_of_a_step_has_a_model_of_its_own(self):
        net, batch = shared_weights()
        step = pt.compile(WithLoss(net), budget="90%")
        loss, gradients = step(*batch)
        other = copy.deepcopy(step)
        self.assertTrue(torch.equal(other(*batch)[0], loss))
        self.assertIsNot(other.model, step.model)
        self.assertIs(next(step.model.parameters()).grad, next(iter(gradients.values())))

    def test_a_parameter_that_no_longer_trains_has_a_plan_of_its_own(self):
        net, batch = shared_weights()
        model = WithLoss(net)
        step = pt.compile(model, budget="90%")
        step(*batch)
        net[-1].weight.requires_grad_(False)
        net[-1].weight.grad = None
        _, gradients = step(*batch)
        self.assertEqual(set(gradients), {name for name, p in model.named_parameters() if p.requires_grad})
        self.assertEqual(len(step._shaped), 2)

    def test_a_result_with_a_field_loss_is_a_loss(self):
        class Result(WithLoss):
            def forward(self, x, y):
                import types

                logits = self.net(x)
                return types.SimpleNamespace(loss=F.cross_entropy(logits, y), logits=logits)

        net, batch = shared_weights()
        loss, _ = pt.compile(Result(net), budget="90%")(x=batch[0], y=batch[1])
        self.assertEqual(loss.dim(), 0)

    def test_a_refusal_has_the_batch_that_fits(self):
        net, (x, y) = shared_weights()
        model = WithLoss(net)
        low = pt.plan(model, (x, y), measure=True).keep_all_bytes // 3
        step = pt.compile(model, budget=low)
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            step(x, y)
        fits = int(str(refused.exception).split("a batch of ")[1].split()[0])
        step(x[:fits], y[:fits])
        self.assertLessEqual(step.report().measured_bytes, low)

    def test_a_report_says_why_and_a_trace_is_written(self):
        net, batch = shared_weights()
        step = pt.compile(WithLoss(net), budget="70%")
        step(*batch)
        self.assertIn("would exceed the budget by", str(step.report()))
        with tempfile.TemporaryDirectory() as folder:
            step.trace(f"{folder}/t.jsonl")
            rows = pathlib.Path(folder, "t.jsonl").read_text().splitlines()
            self.assertEqual(len(rows), len(step.report().planned.plan.order) + 2)


@from_2_15
class Fused(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(1)
        self.folder = tempfile.TemporaryDirectory()
        self.cache = unittest.mock.patch.dict("os.environ", XDG_CACHE_HOME=self.folder.name)
        self.cache.start()

    def tearDown(self):
        self.cache.stop()
        self.folder.cleanup()

    def test_a_fused_step_keeps_the_budget_and_its_peak_never_rises_as_it_falls(self):
        layers = [torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)) for _ in range(3)]
        model = WithLoss(torch.nn.Sequential(*layers))
        batch = (torch.randn(512, 64), torch.randint(0, 64, (512,)))
        reference = copy.deepcopy(model)
        reference(*batch).backward()
        whole = pt.plan(model, batch, backend="inductor").keep_all_bytes
        peaks = []
        for share in (1.0, 0.85):
            step = pt.compile(model, budget=int(share * whole), backend="inductor")
            _, gradients = step(*batch)
            report = step.report()
            self.assertLessEqual(report.measured_bytes, report.budget_bytes)
            peaks.append(report.measured_bytes)
            for name, parameter in reference.named_parameters():
                difference = (gradients[name] - parameter.grad).abs().max() / parameter.grad.abs().max()
                self.assertLess(difference, 1e-4, name)
        self.assertLessEqual(peaks[1], peaks[0])

    def test_the_scheduler_is_asked_until_a_plan_keeps_the_budget_and_nothing_else_is_compiled(self):
        from torch._inductor import config

        from plimsoll.torch import fused, rehearsal, step

        layers = [torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)) for _ in range(3)]
        model = WithLoss(torch.nn.Sequential(*layers))
        batch = (torch.randn(512, 64), torch.randint(0, 64, (512,)))
        whole = pt.plan(model, batch, backend="inductor").keep_all_bytes
        asked, ask = [], rehearsal.forecast

        class Planned(Exception):
            pass

        def forecast(forward, backward, level, room, sides):
            asked.append((ask(forward, backward, level, 2 * whole)[0], level))
            return whole if len(asked) < 3 else room, True  # the first plans are too large, whatever they are

        def stop(shaped, joint, split):
            plan_piece(shaped, joint, split)
            raise Planned(config.cpp.max_horizontal_fusion_size)  # as the kernels would be compiled

        plan_piece = step._Shaped.plan_piece
        with (
            unittest.mock.patch.object(rehearsal, "forecast", forecast),
            unittest.mock.patch.object(fused, "TIGHT_PERCENT", -1),
            unittest.mock.patch.object(step._Shaped, "plan_piece", stop),
        ):
            with self.assertRaises(torch._dynamo.exc.BackendCompilerFailed) as ended:
                pt.compile(model, budget=int(0.95 * whole), backend="inductor")(*batch)
        self.assertIsInstance(ended.exception.inner_exception, Planned)
        self.assertEqual(ended.exception.inner_exception.args, (0,))
        self.assertNotEqual(config.cpp.max_horizontal_fusion_size, 0)
        self.assertEqual([level for _, level in asked], [1, 1, 1])
        peaks = [n_bytes for n_bytes, _ in asked]  # of the kernels that the scheduler makes
        self.assertTrue(all(0 < n_bytes < whole for n_bytes in peaks), (peaks, whole))
        self.assertLess(peaks[2], peaks[0])

    def test_what_a_forecast_leaves_free_is_planned_for(self):
        """A faster plan is taken where its forecast, too, is within the budget."""
        from plimsoll.torch import rehearsal, step

        net, batch = transformer()
        model = WithLoss(net)
        whole = pt.plan(model, batch, backend="inductor", measure=True).keep_all_bytes
        budget = int(0.5 * whole)

        class Planned(Exception):
            pass

        def stop(shaped, joint, split):
            plan_piece(shaped, joint, split)
            raise Planned(shaped.fused.taken.plan.time_ns)

        plan_piece = step._Shaped.plan_piece
        times = []
        for above in (0, 1):
            rows = [-budget // 5, above]  # beside the budget
            with (
                unittest.mock.patch.object(rehearsal, "forecast", lambda *a, rows=rows: (a[3] + rows.pop(0), True)),
                unittest.mock.patch.object(step._Shaped, "plan_piece", stop),
                self.assertRaises(torch._dynamo.exc.BackendCompilerFailed) as ended,
            ):
                torch._dynamo.reset()
                pt.compile(model, budget=budget, backend="inductor")(*batch)
            self.assertEqual(rows, [])
            times.append(ended.exception.inner_exception.args[0])
        self.assertLess(times[0], times[1])

    def test_a_forecast_is_what_a_transformer_takes_near_the_smallest_budget_that_has_a_plan(self):
        net, batch = transformer(drop=0.1)
        model = WithLoss(net)
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            pt.plan(model, batch, 1, backend="inductor", measure=True)
        step = pt.compile(model, budget=int(1.05 * refused.exception.smallest_bytes), backend="inductor")
        step(*batch)
        report = step.report()
        self.assertLessEqual(report.measured_bytes, report.budget_bytes)
        forecast = step._last.fused.forecast_bytes
        self.assertLess(abs(forecast - report.measured_bytes), 0.01 * report.measured_bytes, (forecast, report))

    def test_a_step_that_is_far_above_with_plans_of_the_smallest_budget_is_not_planned_again(self):
        from plimsoll.torch import rehearsal, step

        net, batch = transformer()
        model = WithLoss(net)
        with self.assertRaises(plimsoll.DoesNotFit) as refused:
            pt.plan(model, batch, 1, backend="inductor", measure=True)
        budget = refused.exception.smallest_bytes
        with (
            unittest.mock.patch.object(rehearsal, "forecast", lambda *_: (2 * budget, True)),
            unittest.mock.patch.object(step._Shaped, "_measure", lambda _: 2 * budget),
            self.assertRaises(plimsoll.DoesNotFit) as ended,
        ):
            pt.compile(model, budget=budget, backend="inductor")(*batch)
        self.assertIn("after 1 plan ", str(ended.exception))

    def test_the_planner_counts_kernels_as_the_forecast_does(self):
        from torch._inductor import config, memory

        from plimsoll.torch import inductor, kernels

        net, batch = convolutions()
        order, peaks = kernels.ordered, []

        def ordered(nodes, *about):
            best = order(nodes, *about)
            _, inputs = memory.prepare_planning_info(best, *about[:4])
            program = kernels.Program(best, inputs, about[3])
            alone = list(range(len(program.graph.ops)))
            live = kernels.live_bytes(program.nodes_of(alone), inputs, about[3])
            if inductor.level() >= inductor.APART:  # below, one call runs many kernels
                peaks.append((max(program.graph.live_bytes(alone)[0]), max(live)))
            return best

        # A kept compilation, of an earlier run too, orders nothing.
        with unittest.mock.patch.object(kernels, "ordered", ordered), config.patch(force_disable_caches=True):
            for budget in ("85%", "75%"):
                pt.compile(WithLoss(net), budget=budget, backend="inductor")(*batch)
        self.assertGreater(len(peaks), 1)
        for planned, forecast in peaks:
            self.assertEqual(planned, forecast)

    def test_a_forecast_counts_the_whole_of_what_a_kernel_reads_in_parts(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        from plimsoll.torch import inductor, rehearsal

        images = torch.randn(16, 64, 2, 2)  # whose four pixels are four reads of a quarter
        module = make_fx(lambda saved: (saved.mean((2, 3)),), tracing_mode="fake")(images)
        with inductor.settings(unittest.mock.Mock(), None):
            peak, _ = rehearsal._peak(module, {})
        self.assertEqual(peak, 4 * (images.numel() + 16 * 64))

    def test_a_forecast_counts_results_of_an_op_that_nothing_reads(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        from plimsoll.torch import inductor, rehearsal

        images, filters = torch.randn(8, 128, 4, 4), torch.randn(32, 128, 1, 1)
        gradient = torch.randn(8, 32, 4, 4)
        sizes = [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1

        def of_filters(gradient, images, filters):  # as a repeat is, of which one result alone is wanted
            op = torch.ops.aten.convolution_backward.default
            return (op(gradient, images, filters, *sizes, [True, True, False])[1],)

        module = make_fx(of_filters, tracing_mode="fake")(gradient, images, filters)
        with inductor.settings(unittest.mock.Mock(), None):
            inductor.set_level(inductor.PLAIN)
            peak, _ = rehearsal._peak(module, {})
        self.assertEqual(peak, gradient.nbytes + 2 * (images.nbytes + filters.nbytes))

    def test_an_input_of_which_a_kernel_reads_the_shape_alone_ends_at_once(self):
        from torch._inductor.compile_fx import compile_fx_inner
        from torch.fx.experimental.proxy_tensor import make_fx

        from plimsoll.torch import inductor, memory

        given = [torch.randn(16, 64, 8, 8), torch.randn(16, 64, 16, 16)]
        window = [2, 2], [2, 2], [0, 0], False, True, None

        def of_images(gradient, images):
            return (torch.ops.aten.avg_pool2d_backward.default(gradient, images, *window),)

        module = make_fx(of_images, tracing_mode="fake")(*given)
        with inductor.settings(unittest.mock.Mock(), None):
            values = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
            run = compile_fx_inner(module, values, is_backward=True, graph_id=0)
        most, (result,) = memory.peak_bytes(lambda: run([tensor.clone() for tensor in given]))
        self.assertEqual(most, sum(tensor.nbytes for tensor in given))  # the result has the room of the images
        self.assertTrue(torch.equal(result, of_images(*given)[0]))

    def test_gradients_of_filters_leave_a_fused_step_in_the_layout_in_which_autograd_keeps_them(self):
        """Also where the compiler makes them in another one: autograd would copy them when all are there."""
        net = torch.nn.Sequential(*(torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(3)), torch.nn.Flatten())
        self.assertEqual(self.copied_gradients(WithLoss(net)), 0)

    def test_a_norm_is_repeated_by_the_statistics_of_its_first_run(self):
        net, batch = convolutions()
        for affine in (True, False):
            for layer in net:
                if isinstance(layer, torch.nn.BatchNorm2d):
                    layer.requires_grad_(affine)
            found = pt.plan(WithLoss(net), batch, budget="75%", backend="inductor")
            self.assertEqual(sum(name.startswith("var_mean") for name in found.ops), 3)
            self.assertTrue(found.recomputed())
            self.assertFalse([name for name in found.recomputed() if name.startswith("var_mean")], found.recomputed())

    def test_variances_are_taken_in_two_passes(self):
        """In one pass they take two to three times as long."""
        from torch._inductor.utils import run_and_get_code

        net, batch = convolutions()  # 4,096 values for each channel
        step = pt.compile(WithLoss(net), budget="200%", backend="inductor")
        _, codes = run_and_get_code(step, *batch)
        self.assertGreater(len(codes), 1)
        self.assertFalse([code for code in codes if "welford" in code.lower()])
        model = WithLoss(copy.deepcopy(net))
        _, codes = run_and_get_code(torch.compile(model), *batch)
        self.assertTrue([code for code in codes if "welford" in code.lower()])  # else the setting is not needed any more

    def test_gradients_of_a_shared_filter_are_kept_in_its_layout(self):
        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = self.second = torch.nn.Conv2d(64, 64, 3, padding=1)

            def forward(self, x):
                return self.second(self.first(x)).flatten(1)

        self.assertEqual(self.copied_gradients(WithLoss(Twice())), 0)

    def copied_gradients(self, model) -> int:
        """How many gradients autograd copies at the end of a fused step."""
        batch = torch.randn(2, 64, 4, 4), torch.randint(0, 1024, (2,))
        step = pt.compile(model, budget="200%", backend="inductor")
        step(*batch)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
            step(*batch)
        return len([event for event in profile.events() if event.name == "aten::new_empty_strided"])

    def test_running_statistics_of_a_fused_step_are_updated_once(self):
        layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten()]
        model = WithLoss(torch.nn.Sequential(*layers, torch.nn.Linear(8 * 36, 10)))
        batch = (torch.randn(16, 3, 8, 8), torch.randint(0, 10, (16,)))
        reference = copy.deepcopy(model)
        reference(*batch).backward()
        step = pt.compile(model, budget="95%", backend="inductor")
        _, gradients = step(*batch)
        self.assertLessEqual(step.report().measured_bytes, step.report().budget_bytes)
        for (name, ours), theirs in zip(model.named_buffers(), reference.buffers(), strict=True):
            self.assertLess((ours - theirs).abs().max(), 1e-5, name)
        for name, parameter in reference.named_parameters():
            self.assertLess((gradients[name] - parameter.grad).abs().max(), 1e-4, name)

    def test_a_forecast_counts_what_convolutions_take_for_themselves(self):
        from plimsoll.torch import kernels, rehearsal

        layers, wide = [], 3
        for width in (64, 128, 128):
            layers += [torch.nn.Conv2d(wide, width, 3, padding=1), torch.nn.ReLU()]
            wide = width
        layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(wide, 10)]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), (torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,)))
        asked, ask = [], rehearsal.forecast

        def forecast(*plan):
            with unittest.mock.patch.object(kernels, "_workspace", lambda node: 0):
                alone = ask(*copy.deepcopy(plan[:2]), *plan[2:])
            now = ask(*plan)
            asked.append((now[0], alone[0]))
            return now

        with unittest.mock.patch.object(rehearsal, "forecast", forecast):
            step = pt.compile(model, budget="95%", backend="inductor")
            step(*batch)
        report = step.report()
        self.assertLessEqual(report.measured_bytes, report.budget_bytes)
        self.assertTrue(all(whole > alone for whole, alone in asked), asked)
        whole = step._last.fused.forecast_bytes
        self.assertLess(abs(whole - report.measured_bytes), 0.05 * report.measured_bytes)

    def test_fused_values_have_no_bytes(self):
        net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 10))
        batch = (torch.randn(256, 64), torch.randint(0, 10, (256,)))
        fused = pt.plan(WithLoss(net), batch, backend="inductor")
        self.assertNotIn("erf", " ".join(fused.ops))  # computed inside the kernel that writes the GELU's result

    def test_an_op_that_inductor_alone_makes_a_kernel_of_takes_nothing_for_itself(self):
        net, batch = convolutions()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict("os.environ", XDG_CACHE_HOME=folder):
            graph = pt.plan(WithLoss(net), batch, backend="inductor", measure=True).graph
        pools = [op for op in graph.ops if "max_pool" in op.name]
        self.assertTrue(pools)
        self.assertEqual([op.workspace_bytes for op in pools], [0] * len(pools))

    def test_what_the_backward_computes_from_saved_sources_has_no_bytes(self):
        layers = [torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 10)]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), (torch.randn(256, 64), torch.randint(0, 10, (256,)))
        fused = pt.plan(model, batch, backend="inductor")
        whole = [op for op in fused.graph.ops if any(fused.graph.storages[s][1] == 256 * 64 * 4 for s in op.writes)]
        forward = [op.name for op in whole if op.phase == "forward"]
        self.assertEqual(len(forward), 2, forward)  # the product and the GELU; its derivative is computed from the product

    def test_what_is_computed_from_what_the_backward_reads_in_any_case_is_not_saved_beside_it(self):
        layers = [torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), (torch.randn(256, 64), torch.randint(0, 10, (256,)))
        ops = pt.plan(model, batch, backend="inductor").ops
        self.assertTrue(any(name.startswith("relu") for name in ops), ops)  # the gradient of the second filter reads it
        self.assertFalse(any(name.startswith("le") for name in ops), ops)  # where it is 0

    def test_the_backward_reads_a_mask_of_the_forward_from_bytes(self):
        from plimsoll.torch import capture, joint

        layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1), torch.nn.Flatten()]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), (torch.randn(4, 3, 18, 18), torch.randint(0, 8 * 8 * 8, (4,)))
        graph = capture.trace(model, batch, "inductor")
        ops = {place + (place >= graph.boundary): node for place, node in enumerate(graph.nodes)}
        first = [op for op, node in ops.items() if node not in graph.is_backward]  # all that a forward can compute
        rebuilt = joint.Rebuilt(graph, [*first, graph.boundary, *(op for op in ops if op not in first)])
        saved = [node.meta["val"].dtype for node in rebuilt.saved if isinstance(node.meta.get("val"), torch.Tensor)]
        self.assertEqual(saved.count(torch.bool), 0, saved)
        self.assertEqual(saved.count(torch.uint8), 1, saved)
        rebuilt.graph.lint()

        reference = copy.deepcopy(model)
        reference(*batch).backward()
        _, gradients = pt.compile(model, budget="200%", backend="inductor")(*batch)
        for name, parameter in reference.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad)

    def test_of_a_dropout_the_mask_is_saved_and_its_random_numbers_have_the_time_they_were_measured_to_take(self):
        from plimsoll.torch import capture, costs, joint

        layers = [torch.nn.Linear(64, 64), torch.nn.Dropout(0.2), torch.nn.ReLU(), torch.nn.Linear(64, 10)]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), (torch.randn(256, 64), torch.randint(0, 10, (256,)))
        graph = capture.trace(model, batch, "inductor")
        random = [place for place, node in enumerate(graph.nodes) if node.name.startswith("inductor_random")]
        self.assertEqual(len(random), 1)
        rebuilt = joint.Rebuilt(graph, list(range(len(graph.nodes) + 1)))
        self.assertIn(torch.uint8, [node.meta["val"].dtype for node in rebuilt.saved])
        self.assertFalse(any("random" in node.name for node in rebuilt.saved), rebuilt.saved)
        measured = unittest.mock.patch.object(costs, "_measure", lambda *_: costs.Cost(123_456_789, 0))
        with tempfile.TemporaryDirectory() as folder, measured:
            self.assertEqual(costs.Costs(folder).of(graph, True)[random[0]].time_ns, 123_456_789)

    def test_convolutions_run_in_the_layout_in_which_they_are_faster(self):
        from torch._inductor import config

        from plimsoll.torch import costs, step

        net, batch = convolutions()

        class Planned(Exception):
            pass

        def stop(shaped, joint, split):
            plan_piece(shaped, joint, split)
            raise Planned(config.layout_optimization)

        plan_piece = step._Shaped.plan_piece
        for longer_ns, expected in ((1, False), (-1, True)):
            with (
                unittest.mock.patch.object(costs.Costs, "channels_last_ns", lambda *_, now=longer_ns: now),
                unittest.mock.patch.object(step._Shaped, "plan_piece", stop),
                self.assertRaises(torch._dynamo.exc.BackendCompilerFailed) as ended,
            ):
                pt.compile(WithLoss(net), budget="300%", backend="inductor")(*batch)
            self.assertEqual(ended.exception.inner_exception.args, (expected,))
        self.assertTrue(config.layout_optimization)

    def test_copies_of_filters_and_batch_in_the_layout_channels_last_end_at_the_backward_of_their_convolution(self):
        from plimsoll.torch import capture, costs

        net, batch = convolutions()
        joint = capture.trace(WithLoss(net), batch, "inductor")
        copies = costs.copied_primals(joint)
        filters = [4 * 9 * 16 * 16, 4 * 9 * 16 * 8, 4 * 9 * 8 * 3]
        self.assertEqual(sorted(copies.values()), sorted([*filters, batch[0].nbytes]))
        each = [costs.Cost(1, 0)] * len(joint.nodes)
        without, graph = joint.planner_graph(each, 0), joint.planner_graph(each, 0, copies=copies)
        order = list(range(len(graph.ops)))
        more = [a - b for a, b in zip(graph.live_bytes(order)[0], without.live_bytes(order)[0])]
        names = [op.name for op in graph.ops]
        backwards = [step for step, name in enumerate(names) if name.startswith("convolution_backward")]
        self.assertEqual(len(backwards), 3)
        begin = names.index("boundary")
        self.assertTrue(all(n == 0 for n in more[:begin]))
        for first, last, n in zip([begin, *[b + 1 for b in backwards]], [*backwards, len(order) - 1], range(4)):
            wanted = sum(filters[n:]) + (batch[0].nbytes if n < 3 else 0)
            self.assertTrue(all(m == wanted for m in more[first : last + 1]), (first, last, more))
        batch = batch[0].to(memory_format=torch.channels_last), batch[1]
        joint = capture.trace(WithLoss(net.to(memory_format=torch.channels_last)), batch, "inductor")
        self.assertEqual(costs.copied_primals(joint), {})

    def test_a_norms_root_is_an_op_and_its_image_is_computed_where_it_is_read(self):
        """Also that of the last norm, which only the loss and the backward need."""
        from plimsoll.torch import capture

        layers = []
        for channels in (3, 16):
            layers += [torch.nn.Conv2d(channels, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.Hardswish()]
        net = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
        batch = torch.randn(8, 3, 12, 12), torch.randint(0, 16, (8,))
        joint = capture.trace(WithLoss(net), batch, "inductor")
        roots = [node for node in joint.nodes if node.target is torch.ops.aten.rsqrt.default]
        self.assertEqual(len(roots), 2)
        sums = [node.meta["val"] for node in joint.nodes if node.target is torch.ops.aten.add.Tensor]
        self.assertTrue(sums and all(value.dim() < 4 for value in sums), "the statistics are sums, too")

    def test_views_and_results_that_the_compiler_gave_storages_of_their_own_are_what_they_are_of(self):
        """As in the graph of norms of single images."""
        torch.manual_seed(2)
        layers = []
        for channels in (3, 8):
            layers += [torch.nn.Conv2d(channels, 8, 3), torch.nn.InstanceNorm2d(8, affine=True), torch.nn.ELU()]
        model = WithLoss(torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()))
        batch = torch.randn(8, 3, 16, 16), torch.randint(0, 8, (8,))
        reference = copy.deepcopy(model)
        reference(*batch).backward()
        _, gradients = pt.compile(model, "1GiB", backend="inductor")(*batch)
        for name, parameter in reference.named_parameters():
            self.assertTrue(torch.allclose(gradients[name], parameter.grad, rtol=1e-3, atol=1e-5), name)

    def test_a_key_for_caches_names_budget_and_effort(self):
        from plimsoll.torch import inductor
        from plimsoll.torch.inductor import Partitioner

        net, _ = shared_weights()
        keys = {pt.compile(WithLoss(net), b, effort=e).key() for b in ("1GiB", "2GiB") for e in (0, 100)}
        self.assertEqual(len(keys), 4)
        self.assertIsNone(pt.compile(WithLoss(net), "1GiB", time_limit=1).key())
        partitioner = Partitioner(unittest.mock.Mock(), "key")  # what decides is the key; the rest cannot be pickled
        self.assertEqual(pickle.loads(pickle.dumps(partitioner)).uuid(), "key")
        keys = set()
        with inductor.settings(unittest.mock.Mock(), "key"):
            for room in (1000, 2000):  # in which kernels may have another order
                inductor.set_level(inductor.APART, room)
                keys.add(partitioner.uuid())
        self.assertEqual(len(keys), 2)

    def test_of_measured_plans_the_fastest_within_a_budget_is_taken(self):
        from plimsoll.torch.front import Front, Row

        graph = plimsoll.Graph()
        now = graph.add_storage("activation", 8)
        graph.add_op("a", [], [now], 5)
        graph.add_op("b", [now], [graph.add_storage("output", 8)], 7)
        front = Front(pathlib.Path(self.folder.name), graph, "here")
        front.add(Row([0, 1], 100, 90))
        front.add(Row([0, 0, 1], 80, 95))
        front.add(Row([0, 0, 1], 80, 60, 1))
        again = Front(pathlib.Path(self.folder.name), graph, "here")
        self.assertEqual(again.fastest(89).order, [0, 0, 1])
        self.assertEqual(again.fastest(90).order, [0, 1])
        self.assertIsNone(again.fastest(59))
        self.assertEqual(Front(pathlib.Path(self.folder.name), graph, "there").rows, [])
        again.add(Row([0, 1], 100, 80, 0, [[1, 16]], 3))  # in parts that take a little longer
        self.assertEqual(Front(pathlib.Path(self.folder.name), graph, "here").fastest(85).parts, [[1, 16]])
        self.assertEqual(again.fastest(95).parts, [])
        slow = Front(pathlib.Path(self.folder.name), graph, "here", (10, 0, 0))  # by so much at its lowest level
        self.assertEqual(slow.fastest(95).order, [0, 0, 1])

    def test_a_measured_plan_of_another_layout_has_no_bound_of_this_one(self):
        from plimsoll.torch import fused, inductor
        from plimsoll.torch.front import Front, Row

        graphs = {}
        for level, time_ns in ((inductor.ALL, 5), (inductor.PLAIN, 50)):
            graph = plimsoll.Graph()
            made = graph.add_storage("activation", 8)
            graph.add_op("a", [], [made], time_ns)
            graph.add_op("b", [made], [graph.add_storage("output", 8)], time_ns)
            graphs[level] = graph, graph
        plans = fused.FusedPlans(None, torch.device("cpu"), 0, None)
        plans.front = Front(pathlib.Path(self.folder.name), graphs[inductor.PLAIN][0], "here")
        plans.front.add(Row([0, 0, 1], 100, 90))
        plans.budget_bytes = 90
        plans.levels = unittest.mock.Mock()
        plans.levels.graphs = lambda level, rate: graphs[level]
        plans.levels.is_last = lambda level: level < inductor.PLAIN
        plans.settled = True
        for level in graphs:
            now = fused.Candidate(graphs[level][0].plan(None), level, [], 0, 1.2)
            found = plans._known(now).plan
            self.assertEqual((found.time_ns, found.keep_all_ns, found.bound_ns), (15, 10, 10))

    def test_rows_of_measured_plans_that_are_damaged_are_ignored(self):
        from plimsoll.torch.front import Front, Row

        graph = plimsoll.Graph()
        now = graph.add_storage("activation", 8)
        graph.add_op("a", [], [now], 5)
        graph.add_op("b", [now], [graph.add_storage("output", 8)], 7, cls="once")
        front = Front(pathlib.Path(self.folder.name), graph, "here")
        front.add(Row([0, 1], 100, 90))
        (good,) = json.loads(front.path.read_text())
        wrong = {
            "order": ([1, 0], [0], [0, 1, 1], [0, 1, 2]),
            "planned": (-1, 1 << 70, float("inf")),
            "measured": (-1, 0, "many"),
            "level": (-1, 3),
            "parts": ("ab", [[1]], 5),
        }
        for name, values in wrong.items():
            for value in values:
                front.path.write_text(json.dumps([{**good, name: value}]))
                self.assertEqual(Front(pathlib.Path(self.folder.name), graph, "here").rows, [], (name, value))
        front.path.write_text(json.dumps([good]))
        self.assertEqual(Front(pathlib.Path(self.folder.name), graph, "here").rows, [Row([0, 1], 100, 90)])

    def test_a_plan_that_was_measured_above_the_budget_is_not_taken_once_more(self):
        layers = [torch.nn.Conv2d(3, 256, 1)]
        for _ in range(3):
            layers += [torch.nn.Conv2d(256, 256, 3, padding=1, groups=256), torch.nn.BatchNorm2d(256), torch.nn.ReLU()]
        model = WithLoss(torch.nn.Sequential(*layers, torch.nn.Flatten()))
        batch = torch.randn(16, 3, 1, 1), torch.randint(0, 256, (16,))  # the layout of 1 x 1 images is not known
        step = pt.compile(model, budget="150%", backend="inductor")
        step(*batch)
        self.assertLessEqual(step.report().measured_bytes, step.report().budget_bytes)

    def test_a_step_whose_last_graph_has_no_convolution_may_be_compiled_at_each_level(self):
        class Two(WithLoss):
            def forward(self, x, y):
                middle = self.net[0](x)
                torch._dynamo.graph_break()
                return torch.nn.functional.cross_entropy(self.net[1](middle), y)

        first = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten())
        step = pt.compile(Two(torch.nn.Sequential(first, torch.nn.Linear(8 * 6 * 6, 4))), "64MiB", backend="inductor")
        step(torch.randn(4, 3, 8, 8), torch.randint(0, 4, (4,)))
        self.assertEqual(len(step.report().pieces), 2)
        self.assertEqual(step._last.fused.top, 2)

    def test_a_plan_that_fits_at_one_level_is_no_refusal_where_none_fits_at_another(self):
        from plimsoll.torch import fused, inductor

        def candidate(level, is_smallest):
            return fused.Candidate(unittest.mock.Mock(overhead_percent=0, order=[0]), level, [], 0, 1.2, is_smallest)

        for fits in ((inductor.ALL,), (inductor.PLAIN,), ()):
            plans = fused.FusedPlans(unittest.mock.Mock(), torch.device("cpu"), 0, unittest.mock.Mock())
            plans.front, plans.levels = unittest.mock.Mock(), unittest.mock.MagicMock()
            plans.front.time_ns = lambda _, level: -level  # nothing is as fast as level PLAIN
            plans.top, plans.plain, plans.refused = inductor.PLAIN, None, plimsoll.DoesNotFit("none", 2, 1, "")
            plans._fitting = lambda level, *_: candidate(level, False) if level in fits else None
            plans._smallest = lambda level: candidate(level, True)
            self.assertEqual(plans._first(1).is_smallest, not fits)
            self.assertEqual(plans.refusal is None, bool(fits), fits)

    def test_a_rate_of_nothing_in_the_file_of_costs_is_measured_anew(self):
        from plimsoll.torch import costs

        book = costs.Costs(self.folder.name)
        book.known["copy"] = [5, 0]
        self.assertGreater(book._bytes_per_ns(torch.device("cpu")), 0)


class Grouped(unittest.TestCase):
    """Backwards of convolutions of many groups, in parts of them."""

    def operands(self, channels, outputs, stride, form):
        images, filters = torch.randn(4, channels, 8, 8), torch.randn(outputs, 1, 3, 3)
        result = torch.nn.functional.conv2d(images, filters, stride=stride, padding=1, groups=channels)
        made = torch.randn_like(result), images, filters
        return [value.contiguous(memory_format=form) for value in made]

    def test_parts_give_the_bits_of_the_whole(self):
        from plimsoll.torch import grouped

        for form in (torch.contiguous_format, torch.channels_last):
            for outputs, stride, biased, at_once in ((48, 1, False, 32), (96, 2, True, 16), (48, 2, True, 48)):
                gradient, images, filters = self.operands(48, outputs, stride, form)
                rest = [stride] * 2, [1, 1], [1, 1]
                whole = grouped.WHOLE(
                    gradient, images, filters, [outputs], *rest, False, [0, 0], 48, [True, True, biased]
                )
                parts = (gradient, images, filters, *rest, 48, biased, at_once)
                found = grouped.IN_PARTS(*parts)
                self.assertTrue(all(map(torch.equal, whole[:2], found)))
                self.assertEqual([value.stride() for value in found[:2]], [images.stride(), filters.stride()])
                if biased:
                    self.assertLess((whole[2] - found[2]).abs().max(), 1e-5 * whole[2].abs().max())
                torch.library.opcheck(grouped.IN_PARTS, parts, test_utils=("test_schema", "test_faketensor"))

    def test_parts_take_less_for_themselves(self):
        from plimsoll.torch import grouped, memory

        gradient, images, filters = self.operands(64, 64, 1, torch.channels_last)
        rest = [1, 1], [1, 1], [1, 1], 64, False

        def peak(at_once):
            return memory.peak_bytes(lambda: grouped.IN_PARTS(gradient, images, filters, *rest, at_once), images.device)[0]

        self.assertLess(peak(16), peak(64))

    def test_parts_are_whole_blocks_and_end_with_one(self):
        from plimsoll.torch import grouped

        for groups in (32, 33, 100, 576, 1000):
            found = grouped.parts(groups)
            self.assertEqual(found, sorted(set(found), reverse=True))
            self.assertTrue(all(n % grouped.PAD == 0 and n < groups for n in found), found)
            self.assertEqual(found[-1], grouped.PAD)

    def levels(self, ways):
        """Of a step with one depthwise backward, which may run in these ways: (ns, bytes, groups at once)."""
        from plimsoll.torch import capture, costs, levels

        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 64, 1), torch.nn.Conv2d(64, 64, 3, padding=1, groups=64), torch.nn.Flatten()
        )
        batch = torch.randn(2, 3, 8, 8), torch.randint(0, 64 * 64, (2,))
        joint = capture.trace(WithLoss(net), batch, "inductor")
        with tempfile.TemporaryDirectory() as folder:
            book = costs.Costs(folder)
            node = next(node for node in joint.nodes if grouped_of(node))
            cost = book.of(joint, False)
            rows = [(costs.Cost(ns, n_bytes), at_once) for ns, n_bytes, at_once in ways]
            with (
                unittest.mock.patch.object(book, "ways", lambda _: {node: rows}),
                unittest.mock.patch.object(book, "of_channels_last", lambda _: {node: rows[0][0]}),
            ):
                return levels.Levels(joint, book, cost, 0, torch.device("cpu")), node

    @from_2_15
    def test_ways_are_compared_by_runs_that_find_nothing_in_the_caches(self):
        from plimsoll.torch import capture, costs

        net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 1), torch.nn.Conv2d(32, 32, 3, groups=32), torch.nn.Flatten())
        joint = capture.trace(WithLoss(net), (torch.randn(2, 3, 8, 8), torch.zeros(2).long()), "inductor")
        alone, after = {0: 100, 16: 120}, {0: 300, 16: 240}
        with unittest.mock.patch.object(
            costs, "_measure", lambda _, last, n=0, cold=False: costs.Cost((after if cold else alone)[n], 1000 - n)
        ):
            (ways,) = costs.Costs(self.enterContext(tempfile.TemporaryDirectory())).ways(joint).values()
        self.assertEqual([(cost.time_ns, n) for cost, n in ways], [(80, 16)])

    def test_each_backward_runs_in_the_fastest_parts_that_the_plan_has_room_for(self):
        ways = [(100, 1 << 22, 0), (150, 1 << 21, 32), (400, 1 << 18, 16)]
        found, node = self.levels(ways)
        for rate, workspace in ((1.2, 1 << 22), (1.6, 1 << 21), (4.0, 1 << 18)):
            graph = found.graphs(0, rate)[0]
            op = next(op for op in graph.ops if op.name == node.name)
            self.assertEqual((op.time_ns, op.workspace_bytes), (100, workspace))
        order = list(range(len(graph.ops)))
        live = graph.live_bytes(order)[0]
        most = live[graph.ops.index(op)] - op.workspace_bytes
        for ns, n_bytes, at_once in ways:
            parts = found.divide(order, 0, 4.0, most + n_bytes)
            self.assertEqual([n for _, n in parts], [at_once])
            self.assertEqual(found.joint.at_once[node], at_once)
            self.assertEqual(found.joint.workspaces[node][0], n_bytes)
            self.assertEqual(found.longer_ns, ns - 100)
        self.assertEqual(found.divide(order, 0, 4.0, most), parts)  # at least the smallest
        self.assertEqual(found.divide(order, 2, 4.0, most), [])  # images are not in the layout channels last there
        self.assertEqual(found.joint.at_once, {})

    @from_2_15
    def test_parts_that_are_none_of_the_step_are_not_taken(self):
        found, node = self.levels([(100, 1 << 22, 0), (150, 1 << 21, 32), (400, 1 << 18, 16)])
        place = found.joint.nodes.index(node)
        for parts in ([[999, 16]], [[-1, 16]], [[place - 1, 16]], [[place, 64]], [[place, 16]] * 2):
            self.assertIsNone(found.parts_ns(parts), parts)
        self.assertEqual(found.parts_ns([[place, 16]]), 300)
        self.assertEqual(found.parts_ns([]), 0)

    @from_2_15
    def test_a_fused_step_in_parts_keeps_the_budget(self):
        from plimsoll.torch import costs

        layers = [torch.nn.Conv2d(3, 96, 1), torch.nn.BatchNorm2d(96), torch.nn.ReLU()]
        for _ in range(3):
            layers += [torch.nn.Conv2d(96, 96, 5, padding=2, groups=96), torch.nn.BatchNorm2d(96), torch.nn.ReLU()]
        layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(96, 10)]
        model, batch = WithLoss(torch.nn.Sequential(*layers)), (torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,)))
        reference = copy.deepcopy(model)
        reference(*batch).backward()
        peaks, parts = [], []
        for budget in ("200%", "120%"):
            step = pt.compile(copy.deepcopy(model), budget=budget, backend="inductor")
            with unittest.mock.patch.object(costs.Costs, "channels_last_ns", lambda *_: -(10**9)):  # whatever is faster here
                _, gradients = step(*batch)
            parts += [n for _, n in step._last.fused.taken.parts]
            report = step.report()
            self.assertLessEqual(report.measured_bytes, report.budget_bytes)
            peaks.append(report.measured_bytes)
            most = max(parameter.grad.abs().max() for parameter in reference.parameters())
            for name, parameter in reference.named_parameters():  # before a norm some are zero but for rounding
                self.assertLess((gradients[name] - parameter.grad).abs().max(), 1e-5 * most, name)
        self.assertLess(peaks[1], peaks[0])
        self.assertEqual(len(parts), 6)
        self.assertTrue(any(parts), parts)


class OnGpu(unittest.TestCase):
    """The counts of a GPU's allocator, without one."""

    def test_a_peak_is_that_of_the_device_beyond_what_was_there(self):
        from plimsoll.torch import memory

        names = ("synchronize", "reset_peak_memory_stats", "memory_allocated", "max_memory_allocated")
        with unittest.mock.patch.multiple(torch.cuda, **{name: unittest.mock.DEFAULT for name in names}) as fake:
            fake["memory_allocated"].return_value, fake["max_memory_allocated"].return_value = 1000, 1700
            self.assertEqual(memory.peak_bytes(lambda: "result", torch.device("cuda:1")), (700, "result"))
            for name in names:
                self.assertTrue(all(call.args == (torch.device("cuda:1"),) for call in fake[name].mock_calls), name)

    def test_storages_take_whole_grains_of_the_allocator(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        from plimsoll.torch import joint, memory

        with FakeTensorMode():
            value, other = torch.empty(129, device="cuda"), torch.empty(129)
        self.assertEqual([joint.storage_bytes(value), joint.storage_bytes(other)], [1024, 516])
        self.assertEqual(memory.resident_bytes([value, value], [other]), 1540)

    def test_a_report_has_the_reserved_bytes(self):
        net, batch = shared_weights()
        step = pt.compile(WithLoss(net), budget="100%")
        step(*batch)
        report = step.report()
        self.assertNotIn("reserved", str(report))
        report.reserved_bytes = 1 << 21
        self.assertIn("2.0 MiB (2097152 bytes)", str(report))


class Knapsack(unittest.TestCase):
    def test_the_most_valuable_that_fits_is_chosen(self):
        from plimsoll.torch.knapsack import choose

        self.assertEqual(choose([6, 5, 5], [10, 6, 6], 10), [1, 2])
        self.assertEqual(choose([6, 5, 5], [13, 6, 6], 10), [0])
        self.assertEqual(choose([6], [1], 5), [])
        sizes = [1000003, 500009, 700001, 300007]
        chosen = choose(sizes, [5, 4, 3, 2], 1600000)
        self.assertLessEqual(sum(sizes[i] for i in chosen), 1600000)
        self.assertEqual(chosen, [0, 1])

    def asked(self, net, batch, budget):
        """The solver, after PyTorch has split the step with it."""
        from torch._dynamo.backends.common import aot_autograd
        from torch._dynamo.backends.debugging import boxed_nop
        from torch._functorch.partitioners import min_cut_rematerialization_partition

        torch._dynamo.reset()
        solver = pt.KnapsackSolver(budget)
        ops = aot_autograd(
            fw_compiler=boxed_nop, bw_compiler=boxed_nop, partition_fn=min_cut_rematerialization_partition
        )
        with solver.settings():
            torch.compile(WithLoss(net), backend=ops, dynamic=False)(*batch).backward()
        return solver

    def test_pytorch_asks_it_in_bytes(self):
        solver = self.asked(*shared_weights(), "200KiB")
        self.assertIsNotNone(solver.saved_bytes)
        self.assertLessEqual(solver.saved_bytes, 200 * 1024)
        self.assertNotEqual(solver.uuid(), pt.KnapsackSolver("1MiB").uuid())

    def test_pytorch_asks_it_where_its_own_cut_saves_little(self):
        net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 10))
        batch = torch.randn(256, 64), torch.randint(0, 10, (256,))
        saved = [self.asked(net, batch, budget).saved_bytes for budget in ("10KiB", "1MiB")]
        self.assertNotIn(None, saved)
        self.assertLessEqual(saved[0], 10 * 1024)
        self.assertLess(saved[0], saved[1])


class Plans(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_a_plan_of_fake_tensors_runs_nothing(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode(allow_non_fake_inputs=True):
            net, batch = shared_weights()
            model = WithLoss(net)
        found = pt.plan(model, batch, budget="70%")
        self.assertLessEqual(found.plan.peak_bytes, found.plan.budget_bytes)
        self.assertTrue(found.recomputed())
        self.assertIn("lower bound", str(found))
        self.assertIn(f"{found.plan.overhead_percent - found.plan.bound_percent:.2f} points at most", str(found))
        self.assertIn("what ops take for themselves", str(found))
        self.assertNotIn("what ops take for themselves", str(pt.plan(model, batch, budget="70%", measure=True)))

    def test_a_plan_is_saved_in_a_folder_that_is_made_and_one_that_is_refused_is_not(self):
        net, batch = shared_weights()
        with tempfile.TemporaryDirectory() as folder:
            saved, none = pathlib.Path(folder, "a", "b"), pathlib.Path(folder, "none")
            found = pt.plan(WithLoss(net), batch, budget="70%", save=str(saved))
            self.assertEqual(json.loads((saved / "plan.json").read_text())["time_ns"], found.plan.time_ns)
            self.assertRaises(plimsoll.DoesNotFit, pt.plan, WithLoss(net), batch, budget=1, save=str(none))
            self.assertFalse((none / "plan.json").exists())
            in_the_way = saved / "plan.json"
            self.assertRaises(OSError, pt.plan, WithLoss(net), batch, budget="70%", save=str(in_the_way))

    def test_what_is_planned_alone_is_what_the_step_takes(self):
        net, batch = convolutions()
        model = WithLoss(net)
        alone = pt.plan(model, batch, measure=True).keep_all_bytes
        step = pt.compile(model, budget="100%")
        step(*batch)
        self.assertLessEqual(abs(step.report().measured_bytes - alone), alone // 100)  # workspaces of ops run alone

    def test_a_sweep_never_gets_slower_with_more_bytes_and_is_drawn(self):
        net, batch = shared_weights()
        sweep = pt.sweep(WithLoss(net), batch, points=4, time_limit=1)
        times = [plan.time_ns for plan in sweep.plans]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(times[-1], sweep.plans[-1].keep_all_ns)
        with tempfile.TemporaryDirectory() as folder:
            sweep.plot(f"{folder}/front.svg")
            import xml.etree.ElementTree as xml

            self.assertTrue(xml.parse(f"{folder}/front.svg").getroot().tag.endswith("svg"))
            with self.assertRaises(plimsoll.Error) as refused:
                sweep.plot(f"{folder}/none/front.svg")
            self.assertIn("none/front.svg: the folder is not there", str(refused.exception))
        self.assertRaises(ValueError, pt.sweep, WithLoss(net), batch, points=1)


if __name__ == "__main__":
    unittest.main()
