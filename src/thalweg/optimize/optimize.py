"""Optimize: the rewrites in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.graph.step_graph import Node, StepGraph

Evaluate = Callable[[Node], Any]


def optimize(step: StepGraph, options: Any, evaluate: Evaluate) -> None:
    """Rewrites a step graph so that it computes the same with less."""
