"""Declarations of ops without a gradient."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.op_def import OpDef, op


def nondifferentiable_op(name: str, signature: str, doc: str = "", **attrs_and_facts: Any) -> OpDef:
    """Registers an operation at which gradients stop."""
    return op(name, signature, doc=doc, differentiable=False, **attrs_and_facts)


def stateful_op(name: str, signature: str, doc: str = "", **attrs_and_facts: Any) -> OpDef:
    """Registers an operation that keeps or changes state outside of the graph, and at which gradients stop."""
    return op(name, signature, doc=doc, stateful=True, differentiable=False, **attrs_and_facts)
