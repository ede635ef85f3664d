"""The graph of a step as most passes see it: pruned, with resource variables and structured control flow."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.compiler.optimize.functionalize import functionalize
from thalweg._src.compiler.optimize.inline_functions import inline_functions
from thalweg._src.compiler.optimize.lower_references import lower_references
from thalweg._src.compiler.optimize.prune import prune
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor


def step_graph(feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation]) -> StepGraph:
    """Builds the graph of a step by the first passes of a compilation."""
    step = prune(feeds, fetches, targets)
    inline_functions(step)
    lower_references(step)
    return functionalize(step)
