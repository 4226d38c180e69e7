"""Training steps of PyTorch models within a number of bytes.

    import plimsoll.torch
    step = plimsoll.torch.compile(model_with_loss, budget="8GiB")
    loss, gradients = step(batch)
    print(step.report())

A model with loss is a torch.nn.Module whose forward takes a batch and returns the loss, one number. The budget holds
for the whole step: parameters, buffers, batch, activations, gradients and what ops take for themselves. An optimizer's
state and its step are beside it.
"""

import os as _os

_os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the memory profiler reads it at its first use, and says nothing then

try:
    import torch as _torch
except ImportError as _missing:
    raise ImportError("plimsoll.torch needs PyTorch 2.11 or newer: pip install 'torch>=2.15'") from _missing
from .versions import is_at_least as _is_at_least

if not _is_at_least(2, 11):
    raise ImportError(f"plimsoll.torch needs PyTorch 2.11 or newer, this is {_torch.__version__}")
from .joint import Unsupported  # noqa: E402
from .knapsack import KnapsackSolver  # noqa: E402
from .plans import StepPlan, Sweep, plan, sweep  # noqa: E402
from .step import Report, Step, compile  # noqa: E402

__all__ = ["KnapsackSolver", "Report", "Step", "StepPlan", "Sweep", "Unsupported", "compile", "plan", "sweep"]
