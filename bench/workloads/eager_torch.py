"""The same eager programs in PyTorch."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import torch

from workloads import data, torch_programs
from workloads.eager_cases import CASES, TAPED, Case, M, X, Y, repeat

Step = Callable[[], Any]


def _names(case: Case) -> dict[str, Any]:
    function = operator.attrgetter(case.torch)(torch) if case.torch else None
    return {"f": function, "y": torch.from_numpy(Y), "m": torch.from_numpy(M), "d": torch.float64}


def operation(case: Case) -> Step:
    x, calls = torch.from_numpy(X), repeat(case.statement, _names(case), data.EAGER_CALLS)
    return lambda: calls(x).sum().item()


def taped(case: Case) -> Step:
    x, calls = _variable(), repeat(case.statement, _names(case), data.EAGER_CALLS, "x")
    return lambda: calls(x).sum().item()


def gradient() -> Step:
    x, y = _variable(), torch.from_numpy(Y)

    def step() -> float:
        for _ in range(data.EAGER_CALLS):
            z = torch.mul(x, y)
            (found,) = torch.autograd.grad(z, x, torch.ones_like(z))
        return found.sum().item()

    return step


def _variable() -> torch.Tensor:
    return torch.from_numpy(X).clone().requires_grad_()


PROGRAMS: dict[str, Callable[[], Step]] = {
    **{name: functools.partial(operation, case) for name, case in CASES.items()},
    **{name: functools.partial(taped, case) for name, case in TAPED.items()},
    "gradient": gradient,
    "mlp": torch_programs.mlp,
    "cnn": torch_programs.cnn,
}
