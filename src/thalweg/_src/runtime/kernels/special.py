"""Kernels of special functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

_PLAIN: dict[str, Callable[..., Any]] = {
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Erfinv": torch.erfinv,
    "Ndtri": torch.special.ndtri,
    "Lgamma": torch.lgamma,
    "Digamma": torch.digamma,
    "BesselI0e": torch.special.i0e,
    "BesselI1e": torch.special.i1e,
    "Igamma": torch.special.gammainc,
    "Igammac": torch.special.gammaincc,
    "Zeta": torch.special.zeta,
}
_TERMS = 2000


@kernel(*_PLAIN)
def bind_plain(node: Node, device: Device) -> Callable[..., Any]:
    return _PLAIN[node.type]


@kernel("Ndtri", "Igamma", "Igammac", T=(dtypes.float16, dtypes.bfloat16), priority=1)
def bind_narrow(node: Node, device: Device) -> Call:
    wide = tuple(Call(torch.Tensor.to, (Input(i), torch.float32)) for i in range(len(node.inputs)))
    return Call(torch.Tensor.to, (Call(_PLAIN[node.type], wide), TORCH[node.attrs["T"]]))


@plain_kernel("Polygamma")
def _polygamma(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns (-1)^(a + 1) a! zeta(a + 1, x); digamma for order 0, NaN unless a is a non-negative integer."""
    order = torch.add(a, 1)
    sign = torch.where(torch.remainder(order, 2) == 0, 1.0, -1.0).to(a.dtype)
    value = torch.mul(torch.mul(sign, torch.exp(torch.lgamma(order))), torch.special.zeta(order, x))
    value = torch.where(a == 0, torch.digamma(x), value)
    return torch.masked_fill(value, (a < 0) | (torch.floor(a) != a), torch.nan)


@plain_kernel("IgammaGradA")
def _igamma_grad_a(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Differentiates the series igamma(a, x) = x^a exp(-x) sum of x^n / gamma(a + n + 1) term by term."""
    dtype = a.dtype
    a, x = torch.broadcast_tensors(a.to(torch.float64), x.to(torch.float64))  # type: ignore[no-untyped-call]
    log_x = torch.log(x)
    total = torch.zeros_like(a)
    for n in range(_TERMS):
        term = torch.exp((a + n) * log_x - x - torch.lgamma(a + n + 1))
        total = total + term * (log_x - torch.digamma(a + n + 1))
        if n % 16 == 15 and bool(((term <= 1e-17) & (a + n > x)).logical_or(term.isnan()).all()):
            break
    total = torch.masked_fill(total, x == 0, 0.0)
    return torch.masked_fill(total, (a <= 0) | (x < 0), torch.nan).to(dtype)


@plain_kernel("Betainc")
def _betainc(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Evaluates the continued fraction of the incomplete beta function on the side where it converges fast."""
    if len({value.shape for value in (a, b, x) if value.dim()}) > 1:
        raise ShapeError("a, b and x have different shapes", expected="equal shapes, or scalars")
    dtype = a.dtype
    a, b, x = torch.broadcast_tensors(*(value.to(torch.float64) for value in (a, b, x)))  # type: ignore[no-untyped-call]
    swapped = x > (a + 1) / (a + b + 2)
    p, q, y = torch.where(swapped, b, a), torch.where(swapped, a, b), torch.where(swapped, 1 - x, x)
    log_factor = torch.lgamma(p + q) - torch.lgamma(p) - torch.lgamma(q) + p * torch.log(y) + q * torch.log1p(-y)
    value = torch.exp(log_factor) * _beta_fraction(p, q, y) / p
    value = torch.where(y <= 0, 0.0, value)
    value = torch.where(swapped, 1 - value, value)
    return torch.masked_fill(value, (a <= 0) | (b <= 0) | (x < 0) | (x > 1), torch.nan).to(dtype)


def _beta_fraction(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Evaluates the continued fraction by Lentz's method, which keeps numerators and denominators nonzero."""
    tiny = 1e-300

    def nonzero(value: torch.Tensor) -> torch.Tensor:
        return torch.where(value.abs() < tiny, tiny, value)

    c = torch.ones_like(x)
    d = 1 / nonzero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _TERMS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / nonzero(1 + numerator * d)
            c = nonzero(1 + numerator / c)
            result = result * c * d
        if m % 8 == 0 and bool(((c * d - 1).abs() < 1e-15).logical_or(result.isnan()).all()):
            break
    return result
