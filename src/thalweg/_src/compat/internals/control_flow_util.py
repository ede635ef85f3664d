"""`tensorflow.python.ops.control_flow_util`: the branches and loops that operations belong to."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.control_flow.context import Branch, Context, Loop
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation


def GetContainingWhileContext(ctxt: Context | None, stop_ctxt: Context | None = None) -> Context | None:
    """Returns the innermost loop around a context, the context included; None if there is none before `stop_ctxt`."""
    return _innermost(ctxt, Loop, stop_ctxt)


def GetContainingCondContext(ctxt: Context | None) -> Context | None:
    """Returns the innermost branch around a context, the context included; None if there is none."""
    return _innermost(ctxt, Branch, None)


def _innermost(context: Context | None, kind: type[Context], stop: Context | None) -> Context | None:
    for enclosing in context.chain() if context is not None else ():
        if isinstance(enclosing, kind) or enclosing is stop:
            return enclosing
    return None


def GetContainingXLAContext(ctxt: Context | None) -> None:
    """Returns None: no context is compiled by XLA."""


def GraphOrParentsInXlaContext(graph: Graph) -> bool:
    """Returns False: no graph is compiled by XLA."""
    return False


def IsInXLAContext(op: Operation) -> bool:
    """Returns False: no operation is compiled by XLA."""
    return False


def IsInWhileLoop(op: Operation) -> bool:
    """Returns whether an operation belongs to a loop."""
    return GetContainingWhileContext(op.context) is not None  # type: ignore[arg-type]


def IsInCond(op: Operation) -> bool:
    """Returns whether an operation belongs to a branch."""
    return GetContainingCondContext(op.context) is not None  # type: ignore[arg-type]


def GetOutputContext(op: Operation) -> Any:
    """Returns the context of an operation's outputs: outside of the loop for an Exit."""
    context: Any = op.context
    return context.outer if context is not None and IsLoopExit(op) else context


def IsSwitch(op: Operation) -> bool:
    """Returns whether an operation is a Switch."""
    return op.type in ("Switch", "RefSwitch")


def IsMerge(op: Operation) -> bool:
    """Returns whether an operation is a Merge."""
    return op.type in ("Merge", "RefMerge")


def IsLoopEnter(op: Operation) -> bool:
    """Returns whether an operation takes a value into a loop."""
    return op.type in ("Enter", "RefEnter")


def IsLoopExit(op: Operation) -> bool:
    """Returns whether an operation takes a value out of a loop."""
    return op.type in ("Exit", "RefExit")


def IsLoopConstantEnter(op: Operation) -> bool:
    """Returns whether an operation takes a value into a loop that does not change in it."""
    return IsLoopEnter(op) and bool(op.get_attr("is_constant"))
