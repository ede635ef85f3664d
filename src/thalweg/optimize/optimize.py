"""Optimize: the rewrites in their order."""

from __future__ import annotations

from typing import Any

from thalweg.graph.step_graph import StepGraph
from thalweg.optimize.fold import Evaluate, fold
from thalweg.optimize.fuse import fuse
from thalweg.optimize.loops import narrow
from thalweg.optimize.merge import merge
from thalweg.optimize.simplify import simplify


def optimize(step: StepGraph, options: Any, evaluate: Evaluate) -> None:
    """Rewrites a step graph so that it computes the same with less. `opt_level` L0 (-1) leaves it as it is."""
    if options.opt_level < 0 or step.is_free:
        return
    narrow(step)
    for region in step.regions():
        for part in region.parts():
            optimize(part, options, evaluate)
    fold(step, evaluate)
    simplify(step)
    fold(step, evaluate)  # what simplifying left constant
    merge(step)
    fuse(step)
