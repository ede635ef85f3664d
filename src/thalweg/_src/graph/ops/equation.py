"""Parser of Einsum equations: the labels of each input's dimensions and of the output's."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base.errors import ShapeError
from thalweg._src.base.shapes import Shape, broadcast, show

ELLIPSIS = "..."
_MAX_LABELS = 52


@dataclass(frozen=True, slots=True)
class Term:
    """The labels before and after an ellipsis, or all of them if there is none."""

    before: str
    after: str = ""
    ellipsis: bool = False

    @property
    def labels(self) -> str:
        return self.before + self.after

    @property
    def unique(self) -> str:
        return "".join(dict.fromkeys(self.labels))

    def position(self, label: str) -> int:
        """Returns the axis of a label, counted from the end if it follows the ellipsis."""
        index = self.before.find(label)
        return index if index >= 0 else self.after.index(label) - len(self.after)

    def __str__(self) -> str:
        return self.before + (ELLIPSIS if self.ellipsis else "") + self.after


@dataclass(frozen=True, slots=True)
class Equation:
    """The terms of an Einsum's inputs and of its output."""

    inputs: tuple[Term, ...]
    output: Term

    def sizes(self, shapes: Sequence[Shape]) -> tuple[dict[str, int | None], Shape]:
        """Returns the size of each label and the shape that the ellipses represent; all must agree."""
        sizes: dict[str, int | None] = {}
        dots: Shape = ()
        for number, (term, shape) in enumerate(zip(self.inputs, shapes)):
            count = len(term.labels)
            if shape is None:
                for label in term.labels:
                    sizes.setdefault(label, None)
                dots = None if term.ellipsis else dots
                continue
            if len(shape) < count or (len(shape) > count and not term.ellipsis):
                raise ShapeError(
                    f"input {number} has rank {len(shape)}",
                    expected=f"rank {'at least ' if term.ellipsis else ''}{count} for the subscripts {term}",
                )
            end = len(shape) - len(term.after)
            for label, size in zip(term.labels, [*shape[: len(term.before)], *shape[end:]]):
                previous = sizes.setdefault(label, size)
                if previous is None:
                    sizes[label] = size
                elif size is not None and previous != size:
                    raise ShapeError(
                        f"the dimensions labeled {label} differ: {previous} and {size}", expected="one size per label"
                    )
            if term.ellipsis:
                dots = broadcast(dots, shape[len(term.before) : end])
        return sizes, dots

    def result(self, shapes: Sequence[Shape]) -> Shape:
        sizes, dots = self.sizes(shapes)
        if dots is None:
            return None if self.output.ellipsis else tuple(sizes[label] for label in self.output.labels)
        if dots and not self.output.ellipsis:
            raise ShapeError(f"the output has no ellipsis for {show(dots)}", expected="'...' in the output subscripts")
        before, after = ([sizes[label] for label in labels] for labels in (self.output.before, self.output.after))
        return (*before, *(dots if self.output.ellipsis else ()), *after)


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Equation:
    """Parses an equation with an explicit output."""
    left, arrow, right = text.partition("->")
    if not arrow or "->" in right:
        raise ShapeError(f"equation {text!r} must have exactly one '->'")
    equation = Equation(tuple(_term(operand, text) for operand in left.split(",")), _term(right, text))
    if len(equation.inputs) > 2:
        raise ShapeError(f"equation {text!r} has {len(equation.inputs)} inputs", expected="1 or 2 inputs")
    labels = {label for term in equation.inputs for label in term.labels}
    unknown = [label for label in equation.output.labels if label not in labels]
    if unknown:
        raise ShapeError(f"equation {text!r}: no input has the label {unknown[0]!r}")
    if len(labels) > _MAX_LABELS:
        raise ShapeError(f"equation {text!r} has {len(labels)} labels", expected=f"at most {_MAX_LABELS}")
    return equation


def _term(subscripts: str, text: str) -> Term:
    before, dots, after = subscripts.partition(ELLIPSIS)
    if "." in before + after or "," in before + after:
        raise ShapeError(f"equation {text!r} has invalid subscripts: {subscripts!r}")
    return Term(before, after, bool(dots))


def write(*terms: Any) -> str:
    """Returns the equation string of inputs and, last, the output."""
    return f"{','.join(str(term) for term in terms[:-1])}->{terms[-1]}"
