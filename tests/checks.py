"""Checks an op against torch: value, dtype, static shape and gradient, with known and unknown shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base.shapes import compatible
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session import Session


def check_op(
    build: Callable[..., Any],
    reference: Callable[..., Any],
    *arrays: np.ndarray,
    grad: bool | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """Compares an op, built from placeholders for the arrays, with a torch function of the same arrays.

    Runs with static shapes, with unknown dimensions and with unknown rank; gradients are compared for floating inputs
    unless grad is False.
    """
    expected = _as_tuple(reference(*[torch.from_numpy(np.array(a)) for a in arrays]))
    for shapes in (
        [a.shape for a in arrays],
        [(None,) * a.ndim for a in arrays],
        [None] * len(arrays),
    ):
        with Graph().as_default():
            inputs = [placeholder(a.dtype, shape) for a, shape in zip(arrays, shapes)]
            outputs = _as_tuple(build(*inputs))
            assert len(outputs) == len(expected)
            with Session() as session:
                feeds = dict(zip(inputs, arrays))
                _compare_values(outputs, session.run(list(outputs), feeds), expected, rtol, atol)
                if grad is not False:
                    _compare_gradients(reference, session, inputs, outputs, arrays, rtol, atol)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _compare_values(
    outputs: Sequence[Tensor], values: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float
) -> None:
    for output, value, wanted in zip(outputs, values, expected):
        wanted = wanted.numpy() if isinstance(wanted, torch.Tensor) else np.asarray(wanted)
        assert np.asarray(value).dtype == np.dtype(output.dtype.as_numpy_dtype)
        assert np.asarray(value).dtype == wanted.dtype, f"{np.asarray(value).dtype} is not {wanted.dtype}"
        assert compatible(output.dims, np.shape(value)), f"inferred {output.dims}, got {np.shape(value)}"
        np.testing.assert_allclose(value, wanted, rtol=rtol, atol=atol)


def _compare_gradients(
    reference: Callable[..., Any],
    session: Session,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    arrays: Sequence[np.ndarray],
    rtol: float,
    atol: float,
) -> None:
    sources = [i for i, a in enumerate(arrays) if a.dtype.kind in "fc"]
    targets = [i for i, t in enumerate(outputs) if t.dtype.is_floating or t.dtype.is_complex]
    if not sources or not targets:
        return
    tensors = [torch.from_numpy(np.array(a)) for a in arrays]
    for i in sources:
        tensors[i].requires_grad_(True)
    results = _as_tuple(reference(*tensors))
    rng = np.random.default_rng(7)
    weights = [rng.normal(size=tuple(results[i].shape)).astype(results[i].detach().numpy().dtype) for i in targets]
    expected = torch.autograd.grad(
        [results[i] for i in targets if results[i].requires_grad],
        [tensors[i] for i in sources],
        [torch.from_numpy(w) for w, i in zip(weights, targets) if results[i].requires_grad],
        allow_unused=True,
    )
    with session.graph.as_default():
        grads = gradients([outputs[i] for i in targets], [inputs[i] for i in sources], weights)
    for wanted, grad, index in zip(expected, grads, sources):
        if wanted is None:
            continue
        assert grad is not None, f"no gradient by input {index}"
        value = session.run(grad, dict(zip(inputs, arrays)))
        value = _dense(value, arrays[index].shape)
        np.testing.assert_allclose(value, wanted.resolve_conj().numpy(), rtol=rtol * 10, atol=atol * 10)


def _dense(value: Any, shape: tuple[int, ...]) -> Any:
    if not hasattr(value, "indices"):
        return value
    result = np.zeros(shape, value.values.dtype)
    np.add.at(result, value.indices, value.values)
    return result
