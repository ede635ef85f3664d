"""Mutants of real graphs: dropped, duplicated, renamed and rewired nodes end with typed errors or run."""

from __future__ import annotations

import functools
import random
import resource
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef

import thalweg as tf

MEMORY = 2 << 30
TYPED = (tf.errors.OpError, ValueError, TypeError, KeyError)
UNTYPED = (tf.errors.InternalError, tf.errors.UnknownError)


def layers() -> None:
    x = tf.placeholder_with_default(np.ones([2, 8, 8, 1], np.float32), [None, 8, 8, 1], name="x")
    kernel = tf.get_variable("kernel", [3, 3, 1, 4])
    y = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(y, [-1, 64])
    logits = tf.matmul(flat, tf.get_variable("w", [64, 3])) + tf.constant([0.1, 0.2, 0.3])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=logits))
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    tf.train.Saver()


def loops() -> None:
    x = tf.placeholder_with_default(2.0, [], name="x")
    first = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2 + x), [tf.constant(0), x])[1]
    second = tf.cond(first > 3, lambda: first * 2, lambda: tf.while_loop(lambda a: a < 9, lambda a: a + 1, [x]))
    tf.gradients(second, x)
    tf.scan(lambda a, b: a + b, tf.range(4))


def texts() -> None:
    words = tf.string_split(tf.constant(["a b", "c d e"])).values
    tf.strings.join([words, tf.as_string(tf.range(5))], separator="/")
    tf.strings.to_number(tf.constant(["1", "2.5"]))
    tf.py_func(lambda: np.float32(1), [], tf.float32)
    queue = tf.FIFOQueue(3, tf.float32, [[]])
    with tf.control_dependencies([queue.enqueue(1.0)]):
        tf.identity(queue.dequeue() + 1)


def shapes() -> None:
    x = tf.constant(np.arange(24).reshape(2, 3, 4), name="values")
    parts = tf.split(tf.transpose(x, [2, 0, 1]), 2)
    tf.concat([tf.tile(part, [1, 2, 1]) for part in parts], 0)
    tf.gather_nd(x, [[0, 1, 2], [1, 2, 3]])
    tf.one_hot(tf.argmax(x, 2), 5)
    tf.pad(tf.strided_slice(x, [0, 0, 0], [2, 2, 2]), [[1, 1], [0, 0], [2, 0]])
    tf.nn.top_k(tf.cast(x, tf.float32), 2)
    tf.linalg.inv(tf.eye(3))
    tf.fill(tf.shape(x), 1.5)


@functools.cache
def originals() -> list[GraphDef]:
    made = []
    for build in (layers, loops, texts, shapes):
        with tf.Graph().as_default() as graph:
            build()
        made.append(graph.as_graph_def(add_shapes=build is shapes))
    return made


def _drop(g: GraphDef, node: Any, r: random.Random) -> None:
    g.node.remove(node)


def _duplicate(g: GraphDef, node: Any, r: random.Random) -> None:
    copy = g.node.add()
    copy.CopyFrom(node)
    copy.name += r.choice(("", "_again"))


def _rename(g: GraphDef, node: Any, r: random.Random) -> None:
    node.name = r.choice((r.choice(g.node).name, node.name.upper(), "'; import os #", f"{node.name}/"))


def _rewire(g: GraphDef, node: Any, r: random.Random) -> None:
    source = r.choice(g.node).name + r.choice(("", "", ":1", ":99"))
    if node.input:
        node.input[r.randrange(len(node.input))] = r.choice(("", "", "^")) + source
    else:
        node.input.append(source)


def _swap(g: GraphDef, node: Any, r: random.Random) -> None:
    inputs = list(node.input)
    r.shuffle(inputs)
    del node.input[:]
    node.input.extend(inputs)


def _more_or_fewer(g: GraphDef, node: Any, r: random.Random) -> None:
    if node.input and r.random() < 0.5:
        del node.input[r.randrange(len(node.input))]
    else:
        node.input.append(r.choice(("", "^")) + r.choice(g.node).name)


def _retype(g: GraphDef, node: Any, r: random.Random) -> None:
    node.op = r.choice((r.choice(g.node).op, "Merge", "NextIteration", "Enter", "Exit", "Switch", "Identity", "NoOp"))


def _attribute(g: GraphDef, node: Any, r: random.Random) -> None:
    if not node.attr:
        return
    key = r.choice(sorted(node.attr))
    message = node.attr[key]
    field = message.WhichOneof("value")
    match field:
        case "type":
            message.type = r.choice((0, 1, 2, 3, 7, 9, 10, 20, 21, 42, 101, 103))
        case "i":
            message.i = r.choice((-1, 0, 1, 2, 1 << 20, 1 << 40, -(1 << 62)))
        case "b":
            message.b = not message.b
        case "f":
            message.f = r.choice((float("nan"), float("inf"), -1.0, 0.0))
        case "s":
            message.s = r.choice((b"", b"\\xff\\xfe", b"SAME", b"'+str(1)+'", b"NCHW"))
        case "shape":
            message.shape.dim.add(size=r.choice((-1, -7, 0, 1, 1 << 40, 1 << 62)))
        case "tensor":
            _tensor(message.tensor, r)
        case _:
            message.Clear()
            message.i = 3


def _tensor(tensor: Any, r: random.Random) -> None:
    change = r.randrange(8)
    if change == 0:
        tensor.tensor_shape.dim.add(size=r.choice((-1, 0, 2, 3, 1 << 20, 1 << 40)))
    elif change == 1:
        tensor.tensor_content = tensor.tensor_content[:-1] + b"\\x7f" * r.randrange(3)
    elif change == 2:
        tensor.dtype = r.choice((0, 1, 2, 3, 7, 9, 10, 20, 42))
    elif change == 3:
        del tensor.tensor_shape.dim[:1]
    elif tensor.tensor_content:
        content = bytearray(tensor.tensor_content)
        content[r.randrange(len(content))] = r.choice((0, 1, 2, 3, 127, 128, 255))
        tensor.tensor_content = bytes(content)
    else:
        for values in (tensor.int_val, tensor.int64_val, tensor.float_val):
            values[:] = [r.choice((-1, 0, 1, 2, 3, 7, 1 << 30)) for _ in values]


def _constant(g: GraphDef, node: Any, r: random.Random) -> None:
    """Changes a constant, which is an axis, a shape, an index or data."""
    _tensor(r.choice([node for node in g.node if node.op == "Const"] or [node]).attr["value"].tensor, r)


def _remove_attribute(g: GraphDef, node: Any, r: random.Random) -> None:
    if node.attr:
        del node.attr[r.choice(sorted(node.attr))]


def _device(g: GraphDef, node: Any, r: random.Random) -> None:
    node.device = r.choice(("/cpu:0", "/device:GPU:9", "/job:x/task:3", "/cpu:99999999999", "nowhere", "/job:'"))


MUTATIONS: tuple[Callable[[GraphDef, Any, random.Random], None], ...] = (
    _drop, _duplicate, _rename, _rewire, _rewire, _swap, _more_or_fewer, _retype, _attribute, _attribute, _attribute,
    _remove_attribute, _device, _constant, _constant, _constant,
)  # fmt: skip


def mutant(seed: int) -> GraphDef:
    r = random.Random(seed)
    graph_def = GraphDef()
    graph_def.CopyFrom(r.choice(originals()))
    for _ in range(r.choice((1, 1, 2, 5))):
        r.choice(MUTATIONS)(graph_def, r.choice(graph_def.node), r)
    return graph_def


def run(graph: Any, seed: int) -> None:
    r = random.Random(seed)
    elements = [e for o in graph.get_operations() for e in (o, *o.outputs[:2])]
    config = tf.ConfigProto(operation_timeout_in_ms=1000)
    with tf.Session(config=config) as session:
        for element in ["init", *r.sample(elements, min(12, len(elements)))]:
            try:
                session.run(tf.global_variables_initializer() if element == "init" else element)
            except UNTYPED:
                raise
            except TYPED:
                pass


def check(seeds: range, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    imported = 0
    for seed in seeds:
        with tf.Graph().as_default() as graph:
            try:
                tf.import_graph_def(mutant(seed), name="")
            except ValueError:
                continue
            except Exception as error:
                raise AssertionError(f"the import of mutant {seed} ends with an untyped error") from error
            imported += 1
            try:
                run(graph, seed)
            except Exception as error:
                raise AssertionError(f"a step of mutant {seed} ends with an untyped error") from error
    assert imported > len(seeds) // 20, "most mutants are refused: the steps are not tested"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < MEMORY


@pytest.mark.parametrize("part", range(10))
def test_mutants_end_with_typed_errors(part: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(range(part * 50, part * 50 + 50), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_mutants_end_with_typed_errors(part: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(range(1000 + part * 500, 1500 + part * 500), tmp_path, monkeypatch)
