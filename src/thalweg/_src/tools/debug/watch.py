"""What a debugger watches: the tensors that a step computes and a session can return."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.feeds import expand_keys, feed_tensor
from thalweg._src.runtime.session.fetches import flatten

_NO_VALUE = (dtypes.resource, dtypes.variant)


class WatchOptions:
    """Which tensors are watched: those whose node name, op type and dtype match all given patterns."""

    def __init__(
        self,
        debug_ops: Any = None,
        node_name_regex_whitelist: str | None = None,
        op_type_regex_whitelist: str | None = None,
        tensor_dtype_regex_whitelist: str | None = None,
        tolerate_debug_op_creation_failures: bool = False,
    ) -> None:
        self.debug_ops = debug_ops or ["DebugIdentity"]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def matches(self, tensor: Tensor) -> bool:
        """Returns whether a tensor is watched."""
        pairs = (
            (self.node_name_regex_whitelist, tensor.op.name),
            (self.op_type_regex_whitelist, tensor.op.type),
            (self.tensor_dtype_regex_whitelist, tensor.dtype.base_dtype.name),
        )
        return all(pattern is None or re.match(pattern, text) for pattern, text in pairs)


def watched(graph: Graph, fetches: object, feed_dict: Any = None, options: WatchOptions | None = None) -> list[Tensor]:
    """Returns the tensors that a step computes, inputs first; not those in branches and loops, which may be dead."""
    flat = flatten(graph, fetches)
    feeds = [feed_tensor(graph, key) for key in expand_keys(feed_dict or ())]
    fed = set(feeds)
    starts = [*flat.operations, *(tensor.op for tensor in flat.tensors if tensor not in fed)]
    outputs = [tensor for operation in _ancestors(starts, fed) for tensor in operation.outputs]
    chosen = dict.fromkeys([*feeds, *(tensor for tensor in outputs if tensor not in fed and _has_value(graph, tensor))])
    return [tensor for tensor in chosen if options is None or options.matches(tensor)]


def _ancestors(starts: Iterable[Operation], fed: set[Tensor]) -> list[Operation]:
    """Returns operations and all that they depend on, in topological order."""
    ancestors: dict[Operation, None] = {}
    stack = [(operation, False) for operation in starts]
    seen: set[Operation] = set()
    while stack:
        operation, is_done = stack.pop()
        if is_done:
            ancestors[operation] = None
        elif operation not in seen:
            seen.add(operation)
            stack.append((operation, True))
            before = [*operation.control_inputs, *(x.op for x in operation.inputs if x not in fed)]
            stack += [(op, False) for op in before if op not in seen]
    return list(ancestors)


def _has_value(graph: Graph, tensor: Tensor) -> bool:
    operation = tensor.op
    if tensor.dtype.base_dtype in _NO_VALUE or operation.context is not None:
        return False
    return operation.type not in ("Switch", "RefSwitch", "Placeholder") and graph.is_fetchable(tensor)
