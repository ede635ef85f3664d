"""Layout propagation: sinks permutes of an FX graph through pointwise ops and reductions, where most cancel out.

Images are NHWC here and NCHW in torch, so each convolution is between two permutes. These are views, but a compiler
that finds one between a convolution and a ReLU writes the intermediate values to memory, often twice. Here pointwise
ops, reductions, concatenations and slices are applied in the layout of their inputs, and a permute is materialized only
where an op needs it; most never are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

_aten = torch.ops.aten
_ELEMENTWISE = {
    _aten.clone.default,
    _aten._to_copy.default,
    torch.ops.prims.convert_element_type.default,
    _aten.relu.default,
    _aten.threshold_backward.default,
}
_REDUCING = {_aten.sum.dim_IntList, _aten.mean.dim, _aten.amax.default, _aten.amin.default}


@dataclass(frozen=True, slots=True)
class Permuted:
    """A deferred permute of a tensor: `value.permute(order)`."""

    value: torch.Tensor
    order: tuple[int, ...]

    def whole(self) -> torch.Tensor:
        return self.value if self.order == tuple(range(len(self.order))) else self.value.permute(self.order)


def propagate_layouts(graph: fx.GraphModule) -> Callable[..., Any]:
    """Returns an equivalent function of a graph, with fewer permutes."""
    return lambda *inputs: _Propagation(graph).run(*inputs)


class _Propagation(fx.Interpreter):
    """Interprets a graph on tensors with deferred permutes."""

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # The invariant: a `Permuted` stands for `value.permute(order)`. A permute only composes orders. An op that
        # commutes with permutes computes on `value` and passes on `order`, with its dimensions translated; any other op
        # gets the materialized tensor. So the results are the same numbers, computed in another memory order, and two
        # opposite permutes with only such ops between them leave none.
        if target is _aten.permute.default:
            return _permute(args[0], args[1])
        if target is _aten.view.default:  # may have another layout now
            return _materialized(args, {})[0][0].reshape(args[1])
        tensors = [a for a in args if isinstance(a, Permuted)]
        if tensors and _is_elementwise(target):
            moved = _elementwise(target, args, kwargs, tensors)
        elif tensors and target in _REDUCING:
            moved = _reduce(target, *args)
        elif tensors and target is _aten.slice.Tensor:
            source, dim = tensors[0], args[1] if len(args) > 1 else 0
            moved = Permuted(target(source.value, source.order[dim], *args[2:]), source.order)
        elif tensors and target is _aten.split_with_sizes.default:
            source, dim = tensors[0], args[2] if len(args) > 2 else 0
            moved = [Permuted(piece, source.order) for piece in target(source.value, args[1], source.order[dim])]
        elif target is _aten.cat.default and _is_one_order(args[0]):
            order = args[0][0].order
            moved = Permuted(target([a.value for a in args[0]], order[args[1] if len(args) > 1 else 0]), order)
        elif target.__module__ == "_operator":
            moved = target(*args, **kwargs)
        else:
            moved = None
        return super().call_function(target, *_materialized(args, kwargs)) if moved is None else moved

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return super().output(target, *_materialized(args, kwargs))


def _materialized(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Materializes the permutes of arguments for an op that needs them."""

    def make(value: Any) -> Any:
        if isinstance(value, Permuted):
            return value.whole()
        return type(value)(map(make, value)) if type(value) in (list, tuple) else value

    return make(args), {key: make(value) for key, value in kwargs.items()}


def _permute(source: Any, dims: Sequence[int]) -> Permuted:
    value, order = (source.value, source.order) if isinstance(source, Permuted) else (source, range(source.dim()))
    return Permuted(value, tuple(order[dim] for dim in dims))


def _is_elementwise(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    if schema is None or schema.is_mutable:
        return False
    return target in _ELEMENTWISE or torch.Tag.pointwise in target.tags


def _elementwise(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Permuted]) -> Any:
    """Computes in the layout of the largest permuted operand; returns None if another operand has more dimensions."""
    # The result keeps the order of the operand with most dimensions. Operands in that very order are used as they are;
    # the others, biases mostly, get leading dimensions of size 1 as broadcasting does, and the inverse permute, which
    # is a view. An operand with more dimensions would change the shape of the result, so that case is not handled.
    order = max((t.order for t in tensors), key=len)
    inverse = sorted(range(len(order)), key=order.__getitem__)

    def in_layout(value: object) -> Any:
        if isinstance(value, Permuted) and value.order == order:
            return value.value
        tensor = value.whole() if isinstance(value, Permuted) else value
        if not isinstance(tensor, torch.Tensor) or tensor.dim() == 0:
            return tensor
        tensor = tensor.reshape((1,) * (len(order) - tensor.dim()) + tuple(tensor.shape))
        return tensor.permute(inverse)

    if any(isinstance(a, torch.Tensor) and a.dim() > len(order) for a in args):
        return None
    options = {key: value for key, value in kwargs.items() if key != "memory_format"}  # the compiler chooses layouts
    return Permuted(target(*map(in_layout, args), **options), order)


def _reduce(target: Any, source: Any, dims: Sequence[int] | None = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """Reduces a value in its own layout; the result may have a deferred permute."""
    if not isinstance(source, Permuted):
        return None
    # The reduced tensor has the remaining dimensions in memory order, `sorted(left)`, the caller expects them in the
    # order of `left`: its permute is the place of each in the former.
    count = len(source.order)
    gone = [dim % count for dim in dims] if dims else list(range(count))
    result = target(source.value, [source.order[dim] for dim in gone], keepdim, **kwargs)
    if keepdim:
        return Permuted(result, source.order)
    left = [source.order[dim] for dim in range(count) if dim not in gone]
    return Permuted(result, tuple(sorted(left).index(dim) for dim in left))


def _is_one_order(operands: Any) -> bool:
    return all(isinstance(operand, Permuted) and operand.order == operands[0].order for operand in operands)
