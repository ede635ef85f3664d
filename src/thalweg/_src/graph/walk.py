"""Walks over directed graphs, without recursion, since graphs are deeper than Python's stack."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Edges = Callable[[T], Iterable[T]]  # from a node to its neighbours: predecessors or consumers


def reachable(roots: Iterable[T], edges: Edges[T]) -> set[T]:
    """Returns the nodes to which edges lead from the roots, themselves included."""
    reached: set[T] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            stack += edges(node)
    return reached


def preorder(roots: Iterable[T], edges: Edges[T]) -> Iterator[T]:
    """Yields the nodes to which edges lead from the roots, each once, depth first."""
    reached: set[T] = set()
    stack = [*roots][::-1]
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            yield node
            stack += [*edges(node)][::-1]


def postorder(roots: Iterable[T], edges: Edges[T]) -> list[T]:
    """Returns the nodes to which edges lead from the roots, each after all that its own edges lead to.

    In a cycle, one edge is not followed.
    """
    order: dict[T, None] = {}
    opened: set[T] = set()
    stack = [*roots][::-1]
    while stack:
        node = stack[-1]
        if node in opened:  # all above it on the stack has its place now; it may be there twice
            order.setdefault(stack.pop())
            continue
        opened.add(node)
        stack += [neighbour for neighbour in edges(node) if neighbour not in opened][::-1]
    return list(order)
