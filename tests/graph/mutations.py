"""Mutants of GraphDefs: arbitrary changes, most of which are refused, and changes that keep a graph importable."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorboard.compat.proto.graph_pb2 import GraphDef

import thalweg as tf

CODE = "__import__('builtins').thalweg_canary()"


def given(value: Any) -> Any:
    """Returns a value of unknown static shape, so that kernels must check what a mutant makes of it."""
    return tf.placeholder_with_default(tf.constant(value), None)


def layers() -> None:
    x = tf.placeholder_with_default(np.ones([2, 8, 8, 1], np.float32), [None, 8, 8, 1], name="x")
    kernel = tf.get_variable("kernel", [3, 3, 1, 4])
    y = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(y, [-1, 64])
    logits = tf.matmul(flat, tf.get_variable("w", [64, 3])) + given([0.1, 0.2, 0.3])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=logits))
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    tf.train.Saver()


def loops() -> None:
    x = tf.placeholder_with_default(2.0, [], name="x")
    first = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2 + x), [tf.constant(0), x])[1]
    second = tf.cond(first > 3, lambda: first * 2, lambda: tf.while_loop(lambda a: a < 9, lambda a: a + 1, [x]))
    tf.gradients(second, x)
    tf.scan(lambda a, b: a + b, tf.range(4))


def inner_loops() -> None:
    x, steps = given(1.5), given([3, 1, 2])
    tf.while_loop(
        lambda i, a: tf.reduce_any(i < steps),
        lambda i, a: (
            i + 1,
            tf.while_loop(lambda b: b < 7, lambda b: tf.cond(b > 3, lambda: b * 2, lambda: b + x), [a]),
        ),
        [given(0), x],
    )
    tf.gradients(tf.map_fn(lambda e: tf.cond(e > 1, lambda: e * x, lambda: e), given([1.0, 2.0])), x)
    tf.foldl(lambda a, b: tf.concat([a, b[None]], 0), steps, initializer=given([0]))


def texts() -> None:
    words = tf.string_split(given(["a b", "c d e"])).values
    tf.strings.join([words, tf.as_string(tf.range(given(5)))], separator="/")
    tf.strings.to_number(given(["1", "2.5"]))
    tf.strings.substr(given(["abc", "de"]), given([0, 1]), given([2, 1]))
    tf.strings.regex_replace(given(["abc"]), given("a(.)"), given(r"\1"))
    tf.strings.reduce_join(given([["a", "b"], ["c", "d"]]), given([1]))
    tf.decode_csv(given(["1,2.5,c"]), [[0], [0.5], ["x"]])
    tf.parse_example(given([b""]), {"a": tf.FixedLenFeature([2], tf.float32, [1.0, 2.0])})
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


def given_shapes() -> None:
    x = given(np.arange(24).reshape(2, 3, 4))
    parts = tf.split(tf.transpose(x, given([2, 0, 1])), 2)
    tf.concat([tf.tile(part, given([1, 2, 1])) for part in parts], given(0))
    tf.gather_nd(x, given([[0, 1, 2], [1, 2, 3]]))
    tf.gather(x, given([1, 0]), axis=given(2))
    tf.one_hot(tf.argmax(x, given(2)), given(5))
    tf.pad(tf.strided_slice(x, given([0, 0, 0]), given([2, 2, 2])), given([[1, 1], [0, 0], [2, 0]]))
    tf.nn.top_k(tf.cast(x, tf.float32), given(2))
    tf.linalg.solve(given(np.eye(3)), given(np.ones([3, 1])))
    tf.fill(given([2, 3]), given(1.5))
    tf.reshape(tf.reduce_sum(x, given([0, 2])), given([3, 1]))
    tf.slice(x, given([0, 1, 0]), given([1, -1, 2]))
    tf.reverse_sequence(x, given([1, 2]), 1, 0)
    tf.broadcast_to(given([1, 2]), given([3, 2]))
    tf.matmul(given(np.ones([2, 3])), given(np.ones([3, 2])))
    tf.unstack(tf.stack([given([1, 2]), given([3, 4])], 1), num=2)
    tf.roll(tf.cumsum(x, given(1)), given([1]), given([0]))


def states() -> None:
    table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
    ids = tf.SparseTensor(given(np.array([[0, 0], [1, 2]])), given(np.array([1, 3])), given(np.array([2, 3])))
    tf.sparse.to_dense(ids)
    tf.sparse.reorder(ids)
    tf.scatter_update(table, given([0, 2]), tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean"))
    array = tf.TensorArray(tf.float32, 3, dynamic_size=True, infer_shape=False)
    array.scatter(given([0, 2, 1]), tf.random_uniform(given([3, 2]), seed=1)).gather(given([2, 0]))
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(keys, values), -1).lookup(given(["a"]))
    tf.dynamic_partition(given([1, 2, 3]), given([0, 1, 1]), 2)
    tf.dynamic_stitch([given([0, 2]), given([1, 3])], [given([1.0, 2.0]), given([3.0, 4.0])])
    rows = given(np.ones([4, 2], np.float32))
    tf.segment_sum(rows, given([0, 0, 1, 2]))
    tf.unsorted_segment_max(rows, given([0, 2, 1, 0]), given(3))
    tf.sparse.segment_mean(rows, given([0, 3]), given([0, 1]))
    tf.scatter_nd(given([[0], [2]]), given([1.0, 2.0]), given([4]))
    tf.multinomial(rows, given(3), seed=1)


def images() -> None:
    image = given(np.ones([1, 6, 6, 3], np.float32))
    small = tf.image.resize_bilinear(image, given([4, 5]), align_corners=True)
    tf.image.crop_and_resize(small, given([[0.0, 0.0, 0.5, 1.0]]), given([0]), given([2, 2]))
    tf.nn.fused_batch_norm(tf.ensure_shape(small, [None, None, None, 3]), given([1.0] * 3), given([0.0] * 3))
    tf.nn.depthwise_conv2d(image, given(np.ones([2, 2, 3, 1], np.float32)), [1, 1, 1, 1], "SAME")
    tf.nn.avg_pool(tf.nn.lrn(image, 2), [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    kernel = given(np.ones([2, 2, 2, 3], np.float32))
    tf.gradients(tf.nn.conv2d_transpose(image, kernel, given([1, 12, 12, 2]), [1, 2, 2, 1], "SAME"), [image, kernel])
    tf.image.non_max_suppression(given([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.9, 1.0]]), given([0.5, 0.6]), given(2))
    tf.space_to_batch_nd(image, given([2, 1]), given([[0, 0], [0, 0]]))
    tf.batch_to_space_nd(given(np.ones([2, 3, 3, 1])), given([2, 1]), given([[0, 1], [0, 0]]))
    tf.cumsum(tf.reverse(tf.cast(image, tf.int32), given([1])), given(2), exclusive=True)
    tf.where(image > 0)
    tf.unique(given([3, 1, 3]))
    tf.decode_raw(given(["abcd"]), tf.int16)
    tf.matrix_band_part(tf.cholesky(given(np.eye(3))), given(1), given(0))
    tf.fft(tf.cast(given([1.0, 2.0]), tf.complex64))


@dataclass
class Original:
    """A graph to change, with the data type of each tensor by the text that names it as an input."""

    graph_def: GraphDef
    dtypes: dict[str, Any]


@functools.cache
def originals() -> list[Original]:
    made = []
    for build in (layers, loops, inner_loops, texts, shapes, given_shapes, states, images):
        with tf.Graph().as_default() as graph:
            build()
        dtypes = {t.name.removesuffix(":0"): t.dtype for o in graph.get_operations() for t in o.outputs}
        made.append(Original(graph.as_graph_def(add_shapes=build is shapes), dtypes))
    return made


# -- arbitrary changes ------------------------------------------------------------------------------------------------


def _drop(g: GraphDef, node: Any, r: random.Random) -> None:
    g.node.remove(node)


def _duplicate(g: GraphDef, node: Any, r: random.Random) -> None:
    copy = g.node.add()
    copy.CopyFrom(node)
    copy.name += r.choice(("", "_again"))


def _rename(g: GraphDef, node: Any, r: random.Random) -> None:
    node.name = r.choice((r.choice(g.node).name, node.name.upper(), f"';{CODE}#", f"{node.name}/"))


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
            message.s = r.choice((b"", b"\xff\xfe", b"SAME", f"'+{CODE}+'".encode(), b"NCHW"))
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
        tensor.tensor_content = tensor.tensor_content[:-1] + b"\x7f" * r.randrange(3)
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
    node.device = r.choice(
        ("/cpu:0", "/device:GPU:9", "/job:x/task:3", "/cpu:99999999999", "nowhere", f"/job:'+{CODE}")
    )


ARBITRARY: tuple[Callable[[GraphDef, Any, random.Random], None], ...] = (
    _drop, _duplicate, _rename, _rewire, _rewire, _swap, _more_or_fewer, _retype, _attribute, _attribute, _attribute,
    _remove_attribute, _device, _constant, _constant, _constant,
)  # fmt: skip


# -- changes that keep the types --------------------------------------------------------------------------------------


class Typed:
    """Changes of a graph after which each input still has its data type, and there is no cycle without back edge."""

    def __init__(self, original: Original, graph_def: GraphDef, r: random.Random) -> None:
        self._dtypes = original.dtypes
        self._nodes = graph_def.node
        self._r = r

    def change(self) -> None:
        """Makes one change, of the first kind that the graph has a place for."""
        kinds = [
            self._retarget, self._retarget, self._exchange, self._attribute, self._attribute, self._value, self._value,
            self._value, self._back_edges, self._frame, self._predicate, self._control, self._op_type,
        ]  # fmt: skip
        self._r.shuffle(kinds)
        next(kind for kind in kinds if kind())

    def _one(self, *op_types: str) -> Any:
        found = [node for node in self._nodes if not op_types or node.op in op_types]
        return self._r.choice(found) if found else None

    def _data(self, node: Any) -> list[int]:
        return [i for i, text in enumerate(node.input) if not text.startswith("^")]

    def _earlier(self, node: Any, dtype: Any) -> list[str]:
        """Returns the tensors of a type that nodes before this one have."""
        names = set()
        for other in self._nodes:
            if other.name == node.name:
                break
            names.add(other.name)
        return [text for text, found in self._dtypes.items() if found == dtype and text.partition(":")[0] in names]

    def _connect(self, node: Any, position: int) -> bool:
        choices = self._earlier(node, self._dtypes.get(node.input[position]))
        if choices:
            node.input[position] = self._r.choice(choices)
        return bool(choices)

    def _retarget(self) -> bool:
        node = self._one()
        return bool(self._data(node)) and self._connect(node, self._r.choice(self._data(node)))

    def _exchange(self) -> bool:
        node = self._one()
        pairs = [
            (a, b)
            for a in self._data(node)
            for b in self._data(node)
            if a < b and self._dtypes.get(node.input[a]) == self._dtypes.get(node.input[b])
        ]
        for a, b in self._r.sample(pairs, min(1, len(pairs))):
            node.input[a], node.input[b] = node.input[b], node.input[a]
        return bool(pairs)

    def _attribute(self) -> bool:
        node, r = self._one(), self._r
        keys = [key for key in sorted(node.attr) if not key.startswith("_")]
        if not keys:
            return False
        message = node.attr[r.choice(keys)]
        match message.WhichOneof("value"):
            case "b":
                message.b = not message.b
            case "i":
                message.i = r.choice((0, 1, 2, 3, message.i + 1, message.i - 1, 255))
            case "f":
                message.f = r.choice((0.0, -1.0, 0.5, 1e30, float("nan")))
            case "s":
                families = ((b"SAME", b"VALID"), (b"NHWC", b"NCHW"), (b"", b"name", b"/", CODE.encode()))
                message.s = r.choice(next((f for f in families if message.s in f), families[-1]))
            case "shape" if message.shape.dim:
                r.choice(message.shape.dim).size = r.choice((-1, 0, 1, 2, 3, 64))
            case "list" if message.list.i:
                message.list.i[r.randrange(len(message.list.i))] = r.choice((0, 1, 2, 3, 5))
            case _:
                return False
        return True

    def _value(self) -> bool:
        """Replaces a constant by one of its type."""
        node, r = self._one("Const"), self._r
        if node is None:
            return False
        array = np.array(tf.make_ndarray(node.attr["value"].tensor))
        flat = array.reshape(-1).copy()
        match r.randrange(6):
            case 0:
                array = flat[: r.randrange(len(flat) + 1)]
            case 1:
                array = array[None]
            case 2:
                array = array.T
            case 3:
                array = np.concatenate([flat, flat])
            case _ if array.dtype == object and array.size:
                flat[r.randrange(len(flat))] = r.choice((b"", b"1", b"a b", b"\xff", CODE.encode()))
                array = flat.reshape(array.shape)
            case _ if array.size:
                flat[r.randrange(len(flat))] = r.choice((0, 1, 2, 3, 5, 7, 100, *([] if array.dtype == bool else [-1])))
                array = flat.reshape(array.shape)
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(array, tf.as_dtype(node.attr["dtype"].type)))
        return True

    def _back_edges(self) -> bool:
        """Connects a loop variable to the NextIteration of another one."""
        merge = self._one("Merge")
        if merge is None or len(merge.input) < 2:
            return False
        dtype = self._dtypes.get(merge.input[1])
        backs = [n.name for n in self._nodes if n.op == "NextIteration" and self._dtypes.get(n.name) == dtype]
        if backs:
            merge.input[1] = self._r.choice(backs)
        return bool(backs)

    def _frame(self) -> bool:
        enter = self._one("Enter")
        if enter is None:
            return False
        name = enter.attr["frame_name"].s
        other = self._r.choice((self._one("Enter").attr["frame_name"].s, b"other"))
        whole = self._r.random() < 0.5
        for node in self._nodes if whole else [enter]:
            if node.op == "Enter" and node.attr["frame_name"].s == name:
                node.attr["frame_name"].s = other
        return True

    def _predicate(self) -> bool:
        node = self._one("Switch", "LoopCond")
        return node is not None and self._connect(node, len(self._data(node)) - 1)

    def _control(self) -> bool:
        node = self._one()
        if len(self._data(node)) < len(node.input) and self._r.random() < 0.5:
            del node.input[-1]
            return True
        earlier = [other.name for other in self._nodes][: [other.name for other in self._nodes].index(node.name)]
        if earlier:
            node.input.append(f"^{self._r.choice(earlier)}")
        return bool(earlier)

    def _op_type(self) -> bool:
        """Replaces an operation by another one of the same inputs, outputs and attributes."""
        families = (
            ("AddV2", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod", "Maximum", "Pow", "SquaredDifference"),
            ("Less", "LessEqual", "Greater", "GreaterEqual"),
            (
                "Identity",
                "Neg",
                "Square",
                "Abs",
                "Sign",
                "Exp",
                "Sqrt",
                "Tanh",
                "StopGradient",
                "ZerosLike",
                "OnesLike",
            ),
            ("Sum", "Prod", "Max", "Min", "Mean"),
        )
        node = self._one(*[op_type for family in families for op_type in family])
        if node is None:
            return False
        node.op = self._r.choice(next(family for family in families if node.op in family))
        return True


def mutant(seed: int) -> GraphDef:
    """Returns a graph with a few changes, of every third seed arbitrary ones."""
    r = random.Random(seed)
    original = r.choice(originals())
    graph_def = GraphDef()
    graph_def.CopyFrom(original.graph_def)
    typed = Typed(original, graph_def, r)
    for _ in range(r.choice((1, 1, 2, 5))):
        if seed % 3:
            typed.change()
        else:
            r.choice(ARBITRARY)(graph_def, r.choice(graph_def.node), r)
    return graph_def
