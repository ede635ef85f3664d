"""Graph optimizations, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thalweg._src.base.config import GraphOptions, RewriterConfig
from thalweg._src.compiler.optimize.constant_folding import Evaluate, fold
from thalweg._src.compiler.optimize.control_edges import remove_control_edges
from thalweg._src.compiler.optimize.cse import eliminate_common_subexpressions
from thalweg._src.compiler.optimize.fusion import fuse
from thalweg._src.compiler.optimize.loop_batching import batch
from thalweg._src.compiler.optimize.loop_invariants import hoist
from thalweg._src.compiler.optimize.loop_pruning import narrow
from thalweg._src.compiler.optimize.pooling import simplify_pooling
from thalweg._src.compiler.optimize.simplify import simplify
from thalweg._src.graph.ir.step_graph import StepGraph


@dataclass(frozen=True, slots=True)
class Optimization:
    """A rewrite of a step graph that preserves every fetched value; options configure or disable it."""

    name: str
    apply: Callable[[StepGraph, GraphOptions, Evaluate], None]


def everywhere(function: Callable[[StepGraph], None], step: StepGraph) -> None:
    """Applies a rewrite to the bodies of loops, innermost first, then to the step itself."""
    for region in step.regions():
        for graph in region.graphs():
            everywhere(function, graph)
    function(step)


def _optimize_loops(step: StepGraph, options: GraphOptions, evaluate: Evaluate) -> None:
    """Optimizes loops, innermost first.

    This is one pass: a product that is batched before an inner loop may be invariant in the enclosing loop.
    """
    narrow(step)
    regions = list(step.regions())
    for region in regions:
        for graph in region.graphs():
            simplify(graph)
            remove_control_edges(graph)
            _optimize_loops(graph, options, evaluate)
    rewrite = options.rewrite_options
    if regions and rewrite.loop_optimization != RewriterConfig.OFF:
        hoist(step)
        if rewrite.arithmetic_optimization != RewriterConfig.OFF:
            batch(step)
        narrow(step)


def _plain(name: str, function: Callable[[StepGraph], None]) -> Optimization:
    return Optimization(name, lambda step, options, evaluate: everywhere(function, step))


def _fold(step: StepGraph, options: GraphOptions, evaluate: Evaluate) -> None:
    everywhere(lambda graph: fold(graph, evaluate), step)


OPTIMIZATIONS = (
    Optimization("loop-invariant code motion", _optimize_loops),
    Optimization("constant folding", _fold),
    _plain("algebraic simplification", simplify),
    Optimization("constant folding after simplification", _fold),
    _plain("redundant control edges", remove_control_edges),
    _plain("common-subexpression elimination", eliminate_common_subexpressions),
    _plain("fusion", fuse),
    _plain("pooling", simplify_pooling),
)


def optimize(step: StepGraph, options: GraphOptions, evaluate: Evaluate) -> None:
    """Applies all optimizations to a step graph, unless `opt_level` is L0 (-1)."""
    if options.optimizer_options.opt_level >= 0 and not step.is_unstructured:
        for optimization in OPTIMIZATIONS:
            optimization.apply(step, options, evaluate)
