"""Step graphs of programs as they are sent to another process, and their comparison with what arrives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.graph.ir.serialize import from_bytes, to_bytes
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph
from thalweg._src.runtime import passes
from thalweg._src.runtime.passes import PASSES, Compilation, Pass

Partitions = dict[str, StepGraph]


def after_partition(monkeypatch: pytest.MonkeyPatch, run: Callable[[Compilation], None]) -> None:
    """Adds a pass to the pipeline where a step is sent to other processes."""
    place = next(i for i, rewrite in enumerate(PASSES) if rewrite.name == "partition") + 1
    monkeypatch.setattr(passes, "PASSES", (*PASSES[:place], Pass("observed", run), *PASSES[place:]))


class _Partitioned(Exception):
    """Ends a compilation before later passes change the partitions."""


def partitions_of(fetches: Any, feeds: Sequence[Any] = (), config: Any = None) -> Partitions:
    """Returns the partitions of a step of the default graph."""
    partitions: Partitions = {}

    def keep(c: Compilation) -> None:
        partitions.update(c.partitions)
        raise _Partitioned

    with pytest.MonkeyPatch.context() as patch, tf.Session(config=config) as session:
        after_partition(patch, keep)
        with pytest.raises(_Partitioned):
            session.show_passes(fetches, feeds)
    return partitions


def through_bytes(partitions: Partitions) -> Partitions:
    """Returns the partitions as they arrive, with the user's lines, which are not sent."""
    arrived = from_bytes(to_bytes(partitions))
    for name, graph in partitions.items():
        for sent, node in zip(_nodes(graph), _nodes(arrived[name]), strict=True):
            node.stack = sent.stack
    return arrived


def _nodes(graph: StepGraph) -> list[Node]:
    return [*graph.everything(), *graph.feeds]


def assert_same(sent: Partitions, arrived: Partitions) -> None:
    """Checks that partitions are equal in everything that is sent."""
    assert list(sent) == list(arrived)
    pairs: dict[Node, Node] = {}
    for name in sent:
        _assert_same_graph(sent[name], arrived[name], pairs)
    assert len(set(pairs.values())) == len(pairs)


def _assert_same_graph(a: StepGraph, b: StepGraph, pairs: dict[Node, Node]) -> None:
    for x, y in zip(_nodes(a), _nodes(b), strict=True):
        assert pairs.setdefault(x, y) is y
    for x, y in zip([*a.nodes, *a.feeds], [*b.nodes, *b.feeds], strict=True):
        assert (x.name, x.type, x.device, x.order) == (y.name, y.type, y.device, y.order)
        assert (list(x.dtypes), list(x.shapes)) == (list(y.dtypes), list(y.shapes))
        assert [Output(pairs[node], i) for node, i in x.inputs] == y.inputs
        assert [pairs[node] for node in x.controls] == y.controls
        assert tuple((Output(pairs[node], i), side) for (node, i), side in x.guard) == y.guard
        assert x.attrs.keys() == y.attrs.keys()
        for key, value in x.attrs.items():
            if isinstance(value, Region):
                for inner, other in zip(value.graphs(), y.attrs[key].graphs(), strict=True):
                    _assert_same_graph(inner, other, pairs)
            else:
                assert_same_value(value, y.attrs[key])
    assert [Output(pairs[node], i) for node, i in a.fetches] == b.fetches
    assert [pairs[node] for node in a.feeds] == b.feeds
    assert [pairs[node] for node in a.targets] == b.targets
    assert (a.positions, a.is_unstructured) == (b.positions, b.is_unstructured)


def assert_same_value(a: Any, b: Any) -> None:
    """Checks that two values of attributes are equal in type, value and, of arrays, in bits."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray | np.generic):
        assert a.shape == b.shape
        assert a.dtype.newbyteorder("=") == b.dtype
        assert a.tolist() == b.tolist() if a.dtype == object else a.astype(b.dtype).tobytes() == b.tobytes()
        if isinstance(a, np.ndarray) and a.dtype == object:
            assert list(map(type, a.ravel())) == list(map(type, b.ravel()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same_value(x, y)
    elif isinstance(a, dict):
        assert_same_value(list(a.items()), list(b.items()))
    elif isinstance(a, float):
        assert a.hex() == b.hex()
    else:
        assert a == b
