"""Scopes that ask for compiled operations, or forbid them, whatever the session's configuration says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from thalweg._src.export import export
from thalweg._src.graph.default import get_default_graph


@export("xla.experimental.jit_scope", "contrib.compiler.jit.experimental_jit_scope")
@contextlib.contextmanager
def experimental_jit_scope(
    compile_ops: bool | Callable[..., bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Context manager: operations created inside are compiled together where possible."""
    wanted = (lambda node_def: bool(compile_ops(node_def))) if callable(compile_ops) else bool(compile_ops)
    with get_default_graph()._attr_scope({"_XlaCompile": wanted}):
        yield
