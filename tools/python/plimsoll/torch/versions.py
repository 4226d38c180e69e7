"""Which PyTorch there is."""

import torch


def is_at_least(major: int, minor: int) -> bool:
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (major, minor)
