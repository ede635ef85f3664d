"""Optimize: the rewrites in their order."""

from __future__ import annotations

from typing import Any

from thalweg._src.config import RewriterConfig
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.optimize.constant_folding import Evaluate, fold
from thalweg._src.optimize.control_edges import relax
from thalweg._src.optimize.cse import merge
from thalweg._src.optimize.fusion import fuse
from thalweg._src.optimize.loop_batching import batch
from thalweg._src.optimize.loop_invariants import hoist
from thalweg._src.optimize.loop_pruning import narrow
from thalweg._src.optimize.simplify import simplify


def optimize(step: StepGraph, options: Any, evaluate: Evaluate) -> None:
    """Rewrites a step graph so that it computes the same with less; `options` is a GraphOptions.

    `opt_level` L0 (-1) leaves it as it is. In `rewrite_options`, `loop_optimization` OFF leaves everything in the loop
    it was written in, and `arithmetic_optimization` OFF every matrix product of a loop as it was written.
    """
    if options.optimizer_options.opt_level < 0 or step.is_free:
        return
    _open_loops(step, options.rewrite_options)
    _reduce(step, evaluate)


def _open_loops(step: StepGraph, options: Any) -> None:
    """Takes out of loops, innermost first, what need not be in them."""
    narrow(step)
    regions = list(step.regions())
    for region in regions:
        for part in region.parts():
            simplify(part)
            relax(part)
            _open_loops(part, options)
    if regions and options.loop_optimization != RewriterConfig.OFF:
        hoist(step)
        if options.arithmetic_optimization != RewriterConfig.OFF:
            batch(step)
        narrow(step)


def _reduce(step: StepGraph, evaluate: Evaluate) -> None:
    for region in step.regions():
        for part in region.parts():
            _reduce(part, evaluate)
    fold(step, evaluate)
    simplify(step)
    fold(step, evaluate)  # what simplifying left constant
    relax(step)
    merge(step)
    fuse(step)
