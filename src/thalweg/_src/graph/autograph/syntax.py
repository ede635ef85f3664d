"""Syntax trees of gast: new nodes are written as templates and take the source location of the user's statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from thalweg._src.graph.autograph.failures import ConversionError

Node = Any  # a node of gast, which has no type information
RETURN_VALUE = "ag__value"  # the variable of the value that a function returns
FUNCTIONS = ("FunctionDef", "AsyncFunctionDef", "Lambda")


class _Gast:
    """The package gast, loaded on first use: `import thalweg` does without it."""

    def __getattr__(self, name: str) -> Any:
        try:
            import gast
        except ImportError:
            raise ConversionError("Functions are converted with the package gast: `pip install gast`.") from None
        return getattr(gast, name)


gast: Any = _Gast()


def kind(node: Node) -> str:
    """Returns the name of a node's class."""
    return type(node).__name__


def statements(text: str, at: Node, **substitutes: Any) -> list[Node]:
    """Returns statements from a template, located at a node.

    A substitute replaces the name it is passed under: by an expression, or by a list of statements where the name is a
    statement of its own.
    """
    # New statements take the location of the user's, so that errors and tracebacks show the user's line.
    tree = gast.parse(text)
    for node in ast.walk(tree):
        locate(node, at)
    return list(_Fill(substitutes).visit(tree).body)


def expression(text: str, at: Node, **substitutes: Node) -> Node:
    """Returns an expression from a template, located at a node."""
    return statements(text, at, **substitutes)[0].value


def locate(node: Node, at: Node) -> Node:
    """Gives a node the source location of another one."""
    node.lineno, node.col_offset = at.lineno, at.col_offset
    node.end_lineno, node.end_col_offset = at.end_lineno, at.end_col_offset
    return node


class _Fill(ast.NodeTransformer):
    """Replaces the names in a template."""

    def __init__(self, substitutes: dict[str, Any]) -> None:
        self._substitutes = substitutes

    def visit_Name(self, node: Node) -> Node:
        return self._substitutes.get(node.id, node)

    def visit_Expr(self, node: Node) -> Any:
        substitute = self._substitutes.get(getattr(node.value, "id", ""))
        return substitute if isinstance(substitute, list) else self.generic_visit(node)


def walk_function(nodes: list[Node]) -> Iterator[Node]:
    """Yields nodes and all below them, but nothing inside of nested functions and classes."""
    for node in nodes:
        yield node
        if kind(node) not in FUNCTIONS and kind(node) != "ClassDef":
            yield from walk_function(list(ast.iter_child_nodes(node)))


def blocks(node: Node) -> Iterator[list[Node]]:
    """Yields the blocks of statements directly inside a statement."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body
