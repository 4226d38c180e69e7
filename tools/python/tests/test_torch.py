"""plimsoll.torch on small models: the measured peak keeps the budget, and the bits are those of eager training."""

import copy
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
try:
    import torch
    import torch.nn.functional as F

    import plimsoll.torch as pt
except ImportError as missing:
    raise unittest.SkipTest(f"no PyTorch here: {missing}") from None
import plimsoll  # noqa: E402


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


def transformer(drop=0.0):
    width, length = 32, 64
    layers = [torch.nn.Embedding(50, width), *(Attention(width, drop) for _ in range(3))]
    layers += [torch.nn.Linear(width, 50), torch.nn.Flatten(0, 1)]
    return torch.nn.Sequential(*layers), (torch.randint(0, 50, (4, length)), torch.randint(0, 50, (4 * length,)))


def shared_weights():
    inner = torch.nn.Linear(64, 64)
    net = torch.nn.Sequential(*(torch.nn.Sequential(inner, torch.nn.Tanh()) for _ in range(6)), torch.nn.Linear(64, 10))
    return net, (torch.randn(256, 64), torch.randint(0, 10, (256,)))


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

    def check(self, make, budget, slack=64):
        """slack: bytes that ops may take less than when they were measured; those of convolutions vary from run to run"""
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
        self.assertLessEqual(report.measured_bytes, planned + 64)
        self.assertLessEqual(planned - report.measured_bytes, slack)
        return report

    def test_convolutions_and_batch_norm_at_several_budgets(self):
        for budget in ("90%", "75%"):
            report = self.check(convolutions, budget, slack=100_000)
            self.assertTrue(report.planned.recomputed())
        self.assertIn("overhead, predicted", str(report))

    def test_attention(self):
        self.assertTrue(self.check(transformer, "60%").planned.recomputed())

    def test_dropout_draws_what_eager_training_draws(self):
        self.assertTrue(self.check(lambda: transformer(0.2), "75%").planned.recomputed())

    def test_shared_weights(self):
        self.assertTrue(self.check(shared_weights, "70%").planned.recomputed())

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

    def test_bad_input_is_refused(self):
        net, batch = shared_weights()
        for budget in ("lots", 0, "0%", None):
            self.assertRaises(ValueError, pt.compile, WithLoss(net), budget)
        self.assertRaises(ValueError, pt.compile, WithLoss(net), "1GiB", backend="none")
        self.assertRaises(TypeError, pt.compile, F.relu, "1GiB")
        step = pt.compile(WithLoss(net), budget="100%")
        self.assertRaises(plimsoll.Error, step.report)
        step(*batch)
        with self.assertRaises(plimsoll.Error):
            pt.compile(net, budget="1GiB")(batch[0])  # returns no loss


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

    def test_what_is_planned_alone_is_what_the_step_takes(self):
        net, batch = convolutions()
        model = WithLoss(net)
        alone = pt.plan(model, batch, measure=True).keep_all_bytes
        step = pt.compile(model, budget="100%")
        step(*batch)
        self.assertLessEqual(abs(step.report().measured_bytes - alone), alone // 100)

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
        self.assertRaises(ValueError, pt.sweep, WithLoss(net), batch, points=1)


if __name__ == "__main__":
    unittest.main()
