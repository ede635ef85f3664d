"""Bytes from outside are read as valid step graphs or refused with a ValueError, in little time and memory."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from tests.graph.ir.graphs import GRAPHS, conditionals, devices, loops
from tests.graph.ir.serialized import Partitions
from thalweg._src.graph.ir.lint import problems
from thalweg._src.graph.ir.serialize import _HEADER, _padding, external_nodes, from_bytes, to_bytes
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph
from thalweg._src.graph.ir.varints import decode_varints, encode_varints, unzigzag, zigzag
from thalweg._src.graph.op_def import OPS

MUTANTS = 700  # of each graph and kind


def accept(data: Any) -> bool:
    """Returns whether bytes are read as valid graphs; any other exception than ValueError is an error."""
    try:
        partitions = from_bytes(data)
    except ValueError:
        return False
    assert not [problem for graph in partitions.values() for problem in problems(graph)]
    list(external_nodes(partitions))
    return True


def with_integers(message: bytes, change: Callable[[list[int]], None]) -> bytes:
    """Returns a message with other integers."""
    magic, version, length, text, nodes = _HEADER.unpack_from(message)
    end = _HEADER.size + length
    integers = decode_varints(message[_HEADER.size : end])
    change(integers)
    code = encode_varints(integers)
    head = _HEADER.pack(magic, version, len(code), text, nodes) + code + message[end : end + text]
    orders = end + text + _padding(end + text, 8 * nodes)
    return head + bytes(_padding(len(head), 8 * nodes)) + message[orders:]


@pytest.mark.parametrize("build", [conditionals, devices])
def test_messages_that_end_early_are_refused(build: Callable[[], Partitions]) -> None:
    message = to_bytes(build())
    for length in range(len(message)):
        assert not accept(message[:length])
    assert not accept(message + b"\0")


@pytest.mark.parametrize("build", GRAPHS)
def test_changed_bytes(build: Callable[[], Partitions]) -> None:
    message = to_bytes(build())
    chance = random.Random(build.__name__)
    for _ in range(MUTANTS):
        mutant = bytearray(message)
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            mutant[chance.randrange(8, len(mutant))] = chance.randrange(256)
        accept(mutant)


@pytest.mark.parametrize("build", GRAPHS)
def test_changed_integers(build: Callable[[], Partitions]) -> None:
    """Changes numbers behind the framing, so that most mutants are well-formed up to the changed place."""
    message = to_bytes(build())
    chance = random.Random(build.__name__)
    accepted = 0

    def change(integers: list[int]) -> None:
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(len(integers))
            old = integers[place]
            near = (
                old + 1,
                max(old - 1, 0),
                chance.choice(integers),
                0,
                chance.randrange(20),
                2 ** chance.randrange(64),
            )
            integers[place] = chance.choice(near) % 2**64

    for _ in range(MUTANTS):
        accepted += accept(with_integers(message, change))
    assert accepted


def test_integers_are_read_as_they_were_written() -> None:
    numbers = [0, 1, 127, 128, 2**14 - 1, 2**14, 2**63, 2**64 - 1, *(2**k - 1 for k in range(64)), 5]
    assert decode_varints(encode_varints(numbers)) == numbers
    assert decode_varints(encode_varints([])) == []
    signed = [0, -1, 1, 2**63 - 1, -(2**63)]
    assert [unzigzag(zigzag(number)) for number in signed] == signed
    for wrong in (b"\x80", b"\x01\xff", b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01"):
        with pytest.raises(ValueError, match=r"cut short|more than 64 bits"):
            decode_varints(wrong)


# -- graphs that a program would not build ----------------------------------------------------------------------------


def node(op: str, *inputs: Node, name: str = "n", attrs: dict[str, Any] | None = None, **changes: Any) -> Node:
    fields: dict[str, Any] = {"dtypes": [tf.float32], "shapes": [()], **changes}
    attrs = {"T": tf.float32} if attrs is None else attrs
    return Node(name, OPS.lookup(op), [Output(producer, 0) for producer in inputs], attrs, **fields)


def arg(**changes: Any) -> Node:
    return node("_Arg", name="x", attrs={"T": tf.float32, "index": 0}, **changes)


def step(*nodes: Node, feeds: tuple[Node, ...] = ()) -> Partitions:
    return {"/device:CPU:0": StepGraph(list(nodes), list(feeds), [Output(nodes[-1], 0)])}


def _cyclic() -> Partitions:
    first, second = node("Exp"), node("Exp", name="m")
    first.inputs, second.inputs = [Output(second, 0)], [Output(first, 0)]
    return step(first, second)


def _deep_guard() -> Partitions:
    x, p = arg(), arg(dtypes=[tf.bool])
    p.name, p.attrs = "p", {"T": tf.bool, "index": 1}
    return step(x, p, node("Exp", x, guard=((Output(p, 0), True),) * 200), feeds=(x, p))


def _named(name: str) -> Partitions:
    x = arg()
    return step(x, node("Exp", x, name=name), feeds=(x,))


def _with(attrs: dict[str, Any], op: str = "Exp", *, inputs: int = 1, **changes: Any) -> Partitions:
    x = arg()
    return step(x, node(op, *[x] * inputs, attrs=attrs, **changes), feeds=(x,))


def _fed(**changes: Any) -> Partitions:
    x = arg()
    y = node("_Arg", name="y", attrs={"T": tf.float32, "index": 1}, **changes)
    y.controls = [x]
    return step(x, y, feeds=(x, y))


REFUSED: list[tuple[str, Callable[[], Partitions]]] = [
    ("on which it depends", _cyclic),
    ("nested more than 100 levels", _deep_guard),
    ("the invalid name 'a\\\\nb'", lambda: _named("a\nb")),
    ("invalid name", lambda: _named("a" * 5000)),
    ("invalid name", lambda: _named("")),
    ("Invalid device name", lambda: _with({"T": tf.float32}, device="/gpu:x")),
    ("invalid device", lambda: _with({"T": tf.float32}, device="a b")),
    ("invalid device", lambda: {"no device\n": StepGraph([], [], [])}),
    ("Attr 'T' of 'Exp' Op.* int32", lambda: _with({"T": tf.int32})),
    ("Attr 'T' of 'Exp' Op.*Cannot convert", lambda: _with({"T": "float33"})),
    ("has no attribute 'T'", lambda: _with({})),
    ("invalid name of an attribute", lambda: _with({"T": tf.float32, "a b": 1})),
    ("Attr '_class' of 'Exp' Op", lambda: _with({"T": tf.float32, "_class": 3})),
    ("2 inputs, expected 1", lambda: _with({"T": tf.float32}, inputs=2)),
    ("2 outputs, expected 1", lambda: _with({"T": tf.float32}, dtypes=[tf.float32] * 2, shapes=[()] * 2)),
    ("an output of float64, expected float32", lambda: _with({"T": tf.float32}, dtypes=[tf.float64])),
    ("1 outputs and 2 shapes", lambda: _with({"T": tf.float32}, shapes=[(), ()])),
    ("more than 254", lambda: _with({"T": tf.float32}, shapes=[(1,) * 255])),
    ("64 bits cannot count", lambda: _with({"T": tf.float32}, shapes=[(1 << 32, 1 << 32)])),
    ("1 inputs, expected 4611686018427387904", lambda: _with({"T": tf.float32, "N": 1 << 62}, "AddN")),
    ("depends on another node", _fed),
    (
        "has a node twice",
        lambda: step(*[node("Const", attrs={"value": np.zeros((), np.float32), "dtype": tf.float32})] * 2),
    ),
    ("more than 64 attributes", lambda: _with({"T": tf.float32, **{f"_{i}": 0 for i in range(64)}})),
    ("Attr 'value' of 'Const' Op: expected an array", lambda: _with({"value": 1, "dtype": tf.float32}, "Const")),
    ("no finite place", lambda: _with({"T": tf.float32}, order=float("nan"))),
]


@pytest.mark.parametrize(("words", "build"), REFUSED, ids=[f"{i} {words[:30]}" for i, (words, _) in enumerate(REFUSED)])
def test_invalid_graphs_are_refused(words: str, build: Callable[[], Partitions]) -> None:
    message = to_bytes(build())
    with pytest.raises(ValueError, match=words):
        from_bytes(message)


def test_an_unknown_op_is_named() -> None:
    message = to_bytes(step(arg(), feeds=()))
    with pytest.raises(ValueError, match="the op type '_Brg' of node 'x' is not registered"):
        from_bytes(message.replace(b"_Arg", b"_Brg"))


@pytest.mark.parametrize("change", [(b"region", b"Region"), (b"_While", b"Square")])
def test_a_loop_and_nothing_else_has_a_region(change: tuple[bytes, bytes]) -> None:
    message = to_bytes({"": _nested(1)})
    with pytest.raises(ValueError, match="a loop, and nothing else, has a region"):
        from_bytes(message.replace(*change))


def _loop(condition: StepGraph, body: StepGraph) -> Node:
    return node("_While", attrs={"region": Region(condition, body)}, name="loop", dtypes=[], shapes=[])


def test_loops_in_loops_take_bounded_time() -> None:
    """Each level has its inner loop in condition and body: a walk through all visits it 2 ** 90 times."""
    graph = StepGraph([], [], [])
    for _ in range(90):
        loop = _loop(graph, graph)
        graph = StepGraph([loop], [], [], [loop])
    with pytest.raises(ValueError, match="nested too deep"):
        from_bytes(to_bytes({"": graph}))


def test_a_loop_that_contains_itself_is_refused() -> None:
    message = to_bytes({"": _nested(1)})
    count = 0
    for place in _places(message):

        def change(integers: list[int], place: int = place) -> None:
            integers[place] += 1

        try:
            from_bytes(with_integers(message, change))
        except ValueError as error:
            count += "contains itself" in str(error)
    assert count


def _nested(levels: int) -> StepGraph:
    graph = StepGraph([], [], [])
    for _ in range(levels):
        loop = _loop(StepGraph([], [], []), graph)
        graph = StepGraph([loop], [], [], [loop])
    return graph


def _places(message: bytes) -> Iterator[int]:
    _, _, length, _, _ = _HEADER.unpack_from(message)
    return iter(range(len(decode_varints(message[_HEADER.size : _HEADER.size + length]))))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        from_bytes(to_bytes({"": _nested(150)}))


def test_shared_outputs_are_bounded() -> None:
    types = [tf.float32] * 50_000
    attrs = {"Tin": (), "Tout": tuple(types)}
    nodes = [node("_Cluster", attrs=attrs, dtypes=types, shapes=[()] * len(types), name=f"n{i}") for i in range(30)]
    message = to_bytes({"": StepGraph(nodes, [], [], nodes)})
    with pytest.raises(ValueError, match="more than 1048576 outputs"):
        from_bytes(message)


def test_announced_sizes_are_not_allocated() -> None:
    message = bytearray(to_bytes(loops()))
    for place in (8, 16, 24):
        for size in (1 << 40, (1 << 64) - 1):
            mutant = bytearray(message)
            struct.pack_into("<Q", mutant, place, size)
            assert not accept(mutant)
    huge = np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))
    constant = node("Const", attrs={"value": huge, "dtype": tf.float32}, shapes=[huge.shape])
    assert accept(to_bytes(step(constant)))  # one value in memory
