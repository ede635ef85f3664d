"""Linear operators composed of others: product, adjoint, inverse, block diagonal, Kronecker product."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, broadcast
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat, split, stack
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.diagonal import eye
from thalweg._src.graph.ops.math import add, conj, multiply, pow
from thalweg._src.graph.ops.pad_tile import broadcast_to
from thalweg._src.graph.ops.reshape import expand_dims, matrix_transpose, reshape, shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.linear_operators.base import LinearOperator, common_batch, hinted


def _operators(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    result = list(operators)
    if not result or not all(isinstance(op, LinearOperator) for op in result):
        raise ValueError(f"operators: expected one LinearOperator or more, received {result}")
    kinds = {op.dtype for op in result}
    if len(kinds) > 1:
        raise TypeError(f"Operators must have one dtype, got {', '.join(sorted(kind.name for kind in kinds))}.")
    return result


_HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite")


def _inherited(operators: Sequence[LinearOperator], key: str, hint: bool | None) -> bool | None:
    """Returns a hint for the whole: the requested one, or True if it is True for all operators."""
    for operator in operators:
        require_kind("operators", operator, LinearOperator, "linear operators")
    if hint is not None:
        return hint
    return True if all(getattr(op, key) for op in operators) else None


def _inherited_hints(operators: Sequence[LinearOperator], hints: dict[str, Any]) -> dict[str, bool | None]:
    return {key: _inherited(operators, key, hints[key]) for key in _HINTS}


def _common(operators: Sequence[LinearOperator]) -> Shape:
    result: Shape = ()
    for op in operators:
        dims = op._shape()
        result = None if dims is None or result is None else broadcast(result, dims[:-2])
    return result


class _ComposedOperator(LinearOperator):
    """The base class of operators composed of several."""

    operators = ReadOnly[list[LinearOperator]]("The operators that this one is composed of.")

    def _keep(self, operators: Sequence[LinearOperator], join: str, hints: dict[str, Any]) -> None:
        """Stores the parts; the hints are those of LinearOperator, with its name."""
        self._operators = _operators(operators)
        parents = [tensor for op in self._operators for tensor in op.graph_parents]
        whole = hints.pop("name") or join.join(op.name for op in self._operators)
        LinearOperator.__init__(self, self._operators[0].dtype, parents, name=whole, **hints)

    def _batch_tensor(self) -> Tensor:
        return common_batch(*(op.batch_shape_tensor() for op in self._operators))


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(_ComposedOperator):
    """The product of operators."""

    @hinted()
    def __init__(self, operators: Sequence[LinearOperator], **hints: Any) -> None:
        hints["is_non_singular"] = _inherited(operators, "is_non_singular", hints["is_non_singular"])
        self._keep(operators, "_o_", hints)
        for left, right in zip(self._operators, self._operators[1:]):
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(
                    f"Operators do not compose: {left.name} takes {left.domain_dimension} rows, "
                    f"{right.name} gives {right.range_dimension}."
                )

    def _shape(self) -> Shape:
        batch, first, last = _common(self._operators), self._operators[0]._shape(), self._operators[-1]._shape()
        return None if batch is None or first is None or last is None else (*batch, first[-2], last[-1])

    def _shape_tensor(self) -> Tensor:
        ends = self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()
        return concat([self._batch_tensor(), list(ends)], 0)

    def _to_dense(self) -> Tensor:
        *others, last = self._operators
        return functools.reduce(lambda x, op: op.matmul(x), reversed(others), last.to_dense())

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        order = self._operators if adjoint else self._operators[::-1]
        x = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for op in order[1:]:
            x = op.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        order = self._operators[::-1] if adjoint else self._operators
        rhs = order[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for op in order[1:]:
            rhs = op.solve(rhs, adjoint=adjoint)
        return rhs

    def _determinant(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._determinant()
        return functools.reduce(multiply, [op.determinant() for op in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._log_abs_determinant()
        return functools.reduce(add, [op.log_abs_determinant() for op in self._operators])


class _DerivedOperator(LinearOperator):
    """The base class of operators derived from one."""

    operator = ReadOnly[LinearOperator]("The operator that this one is derived from.")

    @hinted()
    def __init__(self, operator: LinearOperator, **hints: Any) -> None:
        self._operator = operator
        hints |= _inherited_hints([operator], hints)
        if hints["is_square"] is None:
            hints["is_square"] = operator.is_square
        hints["name"] = hints["name"] or operator.name + self._SUFFIX
        super().__init__(operator.dtype, operator.graph_parents, **hints)

    _SUFFIX = ""

    def _shape(self) -> Shape:
        dims = self._operator._shape()
        return None if dims is None else (*dims[:-2], dims[-1], dims[-2])

    def _shape_tensor(self) -> Tensor:
        dims = self._operator.shape_tensor()
        return concat([dims[:-2], dims[-1:], dims[-2:-1]], 0)

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self._operator.assert_self_adjoint()


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(_DerivedOperator):
    """The adjoint of an operator."""

    _SUFFIX = "_adjoint"

    def _to_dense(self) -> Tensor:
        return matrix_transpose(self._operator.to_dense(), conjugate=True)

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return result

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return result

    def _determinant(self) -> Tensor:
        return conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()

    def _diag_part(self) -> Tensor:
        return conj(self._operator.diag_part())

    def _adjoint(self) -> LinearOperator:
        return self._operator


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(_DerivedOperator):
    """The inverse of an operator."""

    _SUFFIX = "_inv"

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return result

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return result

    def _to_dense(self) -> Tensor:
        return self._matmul(eye(self._operator.range_dimension_tensor(), dtype=self.dtype))

    def _determinant(self) -> Tensor:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator.log_abs_determinant()

    def _inverse(self) -> LinearOperator:
        return self._operator


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(_ComposedOperator):
    """A block-diagonal matrix of operators."""

    @hinted(is_square=True)
    def __init__(self, operators: Sequence[LinearOperator], **hints: Any) -> None:
        if any(op.is_square is False for op in _operators(operators)):
            raise ValueError("Only square blocks are supported.")
        self._keep(operators, "_ds_", {**hints, **_inherited_hints(operators, hints)})

    def _shape(self) -> Shape:
        batch, sizes = _common(self._operators), [op.domain_dimension.value for op in self._operators]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        return None if batch is None else (*batch, total, total)

    def _shape_tensor(self) -> Tensor:
        total = functools.reduce(add, [op.domain_dimension_tensor() for op in self._operators])
        return concat([self._batch_tensor(), [total, total]], 0)

    def _blocks(self, x: Tensor) -> list[Tensor]:
        sizes = stack([op.domain_dimension_tensor() for op in self._operators])
        return split(x, sizes, axis=-2, num=len(self._operators))

    def _joined(self, blocks: Sequence[Tensor]) -> Tensor:
        """Returns the parts concatenated along the rows, with common batch dimensions."""
        batch = common_batch(*(shape_of(block)[:-2] for block in blocks))
        return concat([broadcast_to(block, concat([batch, shape_of(block)[-2:]], 0)) for block in blocks], -2)

    def _matmul(self, x: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        blocks = self._blocks(matrix_transpose(x, conjugate=True) if adjoint_arg else x)
        return self._joined([op.matmul(block, adjoint=adjoint) for op, block in zip(self._operators, blocks)])

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        blocks = self._blocks(matrix_transpose(rhs, conjugate=True) if adjoint_arg else rhs)
        return self._joined([op.solve(block, adjoint=adjoint) for op, block in zip(self._operators, blocks)])

    def _diag_part(self) -> Tensor:
        return self._joined([expand_dims(op.diag_part(), -1) for op in self._operators])[..., 0]

    def _eigvals(self) -> Tensor:
        return self._joined([expand_dims(op.eigvals(), -1) for op in self._operators])[..., 0]

    def _trace(self) -> Tensor:
        return functools.reduce(add, [op.trace() for op in self._operators])

    def _determinant(self) -> Tensor:
        return functools.reduce(multiply, [op.determinant() for op in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return functools.reduce(add, [op.log_abs_determinant() for op in self._operators])

    def _inverse(self) -> LinearOperator:
        return LinearOperatorBlockDiag([op.inverse() for op in self._operators])

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorBlockDiag([op.adjoint() for op in self._operators])

    def _assert_non_singular(self) -> Any:
        return group(*(op.assert_non_singular() for op in self._operators))

    def _assert_positive_definite(self) -> Any:
        return group(*(op.assert_positive_definite() for op in self._operators))

    def _assert_self_adjoint(self) -> Any:
        return group(*(op.assert_self_adjoint() for op in self._operators))


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(_ComposedOperator):
    """The Kronecker product of operators."""

    @hinted()
    def __init__(self, operators: Sequence[LinearOperator], **hints: Any) -> None:
        self._keep(operators, "_x_", {**hints, **_inherited_hints(operators, hints)})

    def _shape(self) -> Shape:
        batch = _common(self._operators)
        if batch is None:
            return None
        sides: list[int | None] = []
        for key in ("range_dimension", "domain_dimension"):
            sizes = [getattr(op, key).value for op in self._operators]
            sides.append(None if None in sizes else functools.reduce(int.__mul__, sizes))
        return (*batch, *sides)

    def _shape_tensor(self) -> Tensor:
        rows = functools.reduce(multiply, [op.range_dimension_tensor() for op in self._operators])
        columns = functools.reduce(multiply, [op.domain_dimension_tensor() for op in self._operators])
        return concat([self._batch_tensor(), [rows, columns]], 0)

    def _to_dense(self) -> Tensor:
        def product(a: Tensor, b: Tensor) -> Tensor:
            outer = multiply(expand_dims(expand_dims(a, -1), -3), expand_dims(expand_dims(b, -2), -4))
            batch = common_batch(shape_of(a)[:-2], shape_of(b)[:-2])
            return reshape(outer, concat([batch, multiply(shape_of(a)[-2:], shape_of(b)[-2:])], 0))

        return functools.reduce(product, [op.to_dense() for op in self._operators])

    def _solve(self, rhs: Tensor, /, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        inverse = LinearOperatorKronecker([op.inverse() for op in self._operators])
        return inverse._matmul(rhs, adjoint, adjoint_arg)

    def _diag_part(self) -> Tensor:
        def product(a: Tensor, b: Tensor) -> Tensor:
            outer = multiply(expand_dims(a, -1), expand_dims(b, -2))
            return reshape(outer, concat([shape_of(outer)[:-2], [-1]], 0))

        return functools.reduce(product, [op.diag_part() for op in self._operators])

    def _trace(self) -> Tensor:
        return functools.reduce(multiply, [op.trace() for op in self._operators])

    def _powers(self) -> list[Tensor]:
        """Returns the exponent of the determinant of each operator."""
        sizes = [op.domain_dimension_tensor() for op in self._operators]
        whole = functools.reduce(multiply, sizes)
        return [whole // size for size in sizes]

    def _determinant(self) -> Tensor:
        factors = [pow(op.determinant(), cast(n, self.dtype)) for op, n in zip(self._operators, self._powers())]
        return functools.reduce(multiply, factors)

    def _log_abs_determinant(self) -> Tensor:
        logs = [op.log_abs_determinant() for op in self._operators]
        return functools.reduce(add, [multiply(x, cast(n, x.dtype)) for x, n in zip(logs, self._powers())])

    def _inverse(self) -> LinearOperator:
        return LinearOperatorKronecker([op.inverse() for op in self._operators])

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorKronecker([op.adjoint() for op in self._operators])

    def _assert_non_singular(self) -> Any:
        return group(*(op.assert_non_singular() for op in self._operators))

    def _assert_self_adjoint(self) -> Any:
        return group(*(op.assert_self_adjoint() for op in self._operators))


LinearOperator._adjoint_of = LinearOperatorAdjoint
LinearOperator._inversion_of = LinearOperatorInversion
LinearOperator._composition_of = LinearOperatorComposition
