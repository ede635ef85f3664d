"""Kernels of Bessel functions, special integrals (Dawson, Fresnel, Spence), and quasi-random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Function = Callable[..., Any]

_BESSEL: dict[str, Function] = {
    "BesselI0": torch.special.i0,
    "BesselI1": torch.special.i1,
    "BesselJ0": torch.special.bessel_j0,
    "BesselJ1": torch.special.bessel_j1,
    "BesselY0": torch.special.bessel_y0,
    "BesselY1": torch.special.bessel_y1,
    "BesselK0": torch.special.modified_bessel_k0,
    "BesselK1": torch.special.modified_bessel_k1,
    "BesselK0e": torch.special.scaled_modified_bessel_k0,
    "BesselK1e": torch.special.scaled_modified_bessel_k1,
}


_POLE = {"BesselY0": -math.inf, "BesselY1": -math.inf}
_POLE |= dict.fromkeys(("BesselK0", "BesselK1", "BesselK0e", "BesselK1e"), math.inf)


@kernel(*_BESSEL)
def bind_bessel(node: Node, device: Device) -> Function | Call:
    """Widens half precision; functions of the second kind return their pole at 0 for all x below."""
    function, dtype = _BESSEL[node.type], node.attrs["T"]
    if dtype is dtypes.float64:
        function = _PRECISE.get(node.type, function)
    x = Input(0) if dtype.size >= 4 else Call(torch.Tensor.to, (Input(0), torch.float32))
    result = Call(function, (x,))
    if node.type in _POLE:
        result = Call(torch.masked_fill, (result, Call(torch.le, (x, 0)), _POLE[node.type]))
    return result if dtype.size >= 4 else Call(torch.Tensor.to, (result, TORCH[dtype]))


def _by_power_series(x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Returns J and Y of order 0 or 1 for x up to 5; torch's are accurate to single precision only."""
    quarter, term = -x * x / 4, (x / 2) ** order
    j, y, harmonic = torch.zeros_like(x), torch.zeros_like(x), -2 * np.euler_gamma + order
    for n in range(30):
        j, y = j + term, y + term * harmonic
        harmonic += 1 / (n + 1) + 1 / (n + 1 + order)
        term = term * quarter / ((n + 1) * (n + 1 + order))
    pole = 2 / x if order else 0.0
    return j, (2 * torch.log(x / 2) * j - y - pole) / math.pi


def _by_recurrence(x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Returns J and Y for x between 5 and 25 from J of all orders, by Miller's downward recurrence."""
    orders = [torch.zeros_like(x), torch.full_like(x, 1e-200)]
    for n in range(80, 0, -1):
        orders.append(2 * n / x * orders[-1] - orders[-2])
    orders.reverse()
    scale = orders[0] + 2 * torch.stack(orders[2::2]).sum(0)
    y = (torch.log(x / 2) + np.euler_gamma - order) * orders[order]
    for k in range(1, 38):
        weight = (2 * k + 1) / (k * (k + 1)) if order else 2 / k
        y = y + (weight if k % 2 else -weight) * orders[2 * k + order]
    pole = orders[0] / x if order else 0.0
    return orders[order] / scale, 2 / math.pi * (y - pole) / scale


def _by_asymptotic_series(x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Returns J and Y for x from 25 on, by Hankel's asymptotic expansion."""
    p, q, term = torch.zeros_like(x), torch.zeros_like(x), torch.ones_like(x)
    for n in range(0, 24, 2):
        sign = 1.0 if n % 4 == 0 else -1.0
        p = p + sign * term
        term = term * (4 * order**2 - (2 * n + 1) ** 2) / ((n + 1) * 8 * x)
        q = q + sign * term
        term = term * (4 * order**2 - (2 * n + 3) ** 2) / ((n + 2) * 8 * x)
    phase, size = x - (2 * order + 1) * math.pi / 4, torch.sqrt(2 / (math.pi * x))
    c, s = torch.cos(phase), torch.sin(phase)
    return size * (p * c - q * s), size * (p * s + q * c)


def _precise(order: int, kind: int) -> Function:
    def function(x: Tensor) -> Tensor:
        size = x.abs()
        near = _by_power_series(size.clamp(max=5), order)[kind]
        middle = _by_recurrence(size.clamp(5, 25), order)[kind]
        far = _by_asymptotic_series(size.clamp(min=25), order)[kind].masked_fill(torch.isinf(size), 0.0)
        result = torch.where(size < 5, near, torch.where(size < 25, middle, far))
        return torch.where(x < 0, -result, result) if order and not kind else result

    return function


_PRECISE = {f"Bessel{'JY'[kind]}{order}": _precise(order, kind) for kind in (0, 1) for order in (0, 1)}


def _dawsn(x: Tensor) -> Tensor:
    """Sums Gaussians at odd multiples of a step (Rybicki): the error decreases as exp(-(pi / 2 step)^2).

    Uses a power series near 0, where the sum would cancel, and a series in 1 / x for large x.
    """
    step, terms = 0.25, 15
    near = torch.where(x.abs() < 50, x, 1.0)
    start = 2 * torch.round(near / (2 * step))
    rest = near - start * step
    total = torch.zeros_like(x)
    for n in range(1 - 2 * terms, 2 * terms, 2):
        total = total + torch.exp(-((rest - n * step) ** 2)) / (start + n)
    inverse = 1 / (2 * x * x)
    far = (1 + inverse * (1 + 3 * inverse * (1 + 5 * inverse * (1 + 7 * inverse * (1 + 9 * inverse))))) / (2 * x)
    square = torch.where(x.abs() < 0.2, x * x, 0.0)
    series = torch.ones_like(x)
    for n in range(9, 0, -1):
        series = 1 - 2 * square / (2 * n + 1) * series
    middle = total / math.sqrt(math.pi)
    return torch.where(x.abs() < 0.2, x * series, torch.where(x.abs() < 50, middle, far))


def _expint(x: Tensor) -> Tensor:
    """Sums the power series, whose terms are all positive, and the asymptotic series in 1 / x from 40 on."""
    near, far = torch.clamp(x, 0, 40), torch.clamp(x, min=40)
    term, total = torch.ones_like(x), torch.zeros_like(x)
    for n in range(1, 161):
        term = term * near / n
        total = total + term / n
    small = np.euler_gamma + torch.log(near) + total
    term, total = torch.ones_like(x), torch.ones_like(x)
    for n in range(1, 40):
        term = term * n / far
        total = total + term
    result = torch.where(x < 40, small, torch.exp(far) / far * total)
    return torch.where(x < 0, math.nan, torch.where(x == math.inf, math.inf, result))


@cache
def _legendre() -> tuple[list[float], list[float]]:
    """Returns the nodes and weights of Gauss-Legendre quadrature over [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()


def _fresnel(x: Tensor, wave: Function, shifted: Function, sign: int) -> Tensor:
    """Integrates over a few periods by quadrature; beyond them expands around the limit 1/2."""
    near = torch.clamp(x, -4.5, 4.5)
    total = torch.zeros_like(x)
    for place, weight in zip(*_legendre()):
        total = total + weight * wave(math.pi / 2 * (near * place) ** 2)
    size = torch.clamp(x.abs(), min=4.5)
    phase, t = math.pi / 2 * size**2, 1 / (math.pi * size**2)
    f, g, term = torch.zeros_like(x), torch.zeros_like(x), torch.ones_like(x)
    for n in range(12):  # (4n - 1)!! and (4n + 1)!!, with alternating signs
        f = f + term
        g = g + term * (4 * n + 1) * t
        term = -term * (4 * n + 1) * (4 * n + 3) * t * t
    slow = 1 / (math.pi * size)
    far = 0.5 + sign * slow * f * shifted(phase) - slow * g * wave(phase)
    far = torch.where(torch.isinf(size), 0.5, far)
    return torch.where(x.abs() <= 4.5, near * total, torch.copysign(far, x)).masked_fill(x.isnan(), math.nan)


def _fresnel_cos(x: Tensor) -> Tensor:
    return _fresnel(x, torch.cos, torch.sin, 1)


def _fresnel_sin(x: Tensor) -> Tensor:
    return _fresnel(x, torch.sin, torch.cos, -1)


# B(2n) / (2n + 1)! of the Bernoulli numbers.
_BERNOULLI = [1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 5 / 66 / 39916800, -691 / 2730 / 6227020800]
_BERNOULLI += [7 / 6 / 1307674368000, -3617 / 510 / 355687428096000]


def _spence(x: Tensor) -> Tensor:
    """Maps to [1/2, 2] and sums the series in log(x) there."""
    large = x > 2
    u = torch.where(large, 1 / x, x)
    small = u < 0.5
    w = -torch.log(torch.where(small, 1 - u, u))
    square, series = w * w, torch.zeros_like(x)
    for coefficient in reversed(_BERNOULLI):
        series = coefficient + square * series
    value = w - square / 4 + w * square * series
    value = torch.where(small, math.pi**2 / 6 - torch.xlogy(torch.log1p(-u), u) - value, value)
    return torch.where(large, -value - torch.log(x) ** 2 / 2, value)


_WIDE: dict[str, Function] = {
    "Dawsn": _dawsn,
    "Expint": _expint,
    "FresnelCos": _fresnel_cos,
    "FresnelSin": _fresnel_sin,
    "Spence": _spence,
}


@kernel(*_WIDE)
def bind_in_double(node: Node, device: Device) -> Function:
    function, dtype = _WIDE[node.type], TORCH[node.attrs["T"]]
    return lambda x: function(x.double()).to(dtype)


@kernel("SobolSample")
def bind_sobol(node: Node, device: Device) -> Function:
    dtype = TORCH[node.attrs["dtype"]]

    def sample(dim: Tensor, num_results: Tensor, skip: Tensor) -> Tensor:
        values = {i: value.numpy() for i, value in enumerate((dim, num_results, skip))}
        check(node, dim.shape, num_results.shape, skip.shape, values=values)
        engine = torch.quasirandom.SobolEngine(int(dim))  # type: ignore[no-untyped-call]
        engine.fast_forward(int(skip) + 1)  # type: ignore[no-untyped-call]
        return engine.draw(int(num_results), dtype=dtype).to(device.torch)

    return sample
