"""Graphs made to harm: hostile names, attributes, sizes and operations, through every entrance."""

from __future__ import annotations

import builtins
import os
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef

import thalweg as tf
from tests.graph.entrances import (
    BOOL,
    ENTRANCES,
    FLOAT,
    MODELS,
    OUT,
    STRING,
    as_meta_graph,
    by_command,
    by_loader,
    constant,
    signed,
    small,
)  # fmt: skip
from thalweg._src.base.formats.graph_messages import message_class
from thalweg._src.deploy.serving.servable import Servable
from thalweg._src.deploy.transform.apply import TransformGraph
from thalweg._src.deploy.transform.files import freeze_saved_model
from thalweg._src.graph.trust import RefusedOpsError

CODE = "__import__('builtins').thalweg_canary()"


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[int]]:
    """Yields a list that stays empty unless text of a graph is run as code; nothing may be written either."""
    called: list[int] = []
    monkeypatch.setattr(builtins, "thalweg_canary", lambda: called.append(1), raising=False)
    monkeypatch.chdir(tmp_path)
    yield called
    assert called == [] and os.listdir(tmp_path) == []


def run_everything(graph: Any) -> None:
    """Runs each operation of a graph alone; a step may fail with a typed error only."""
    config = tf.ConfigProto(operation_timeout_in_ms=5000)
    with tf.Session(graph=graph, config=config) as session:
        for operation in graph.get_operations():
            try:
                session.run(operation)
                session.run(list(operation.outputs)[:1])
            except (tf.errors.OpError, ValueError, TypeError):
                pass


def hostile_texts() -> list[str]:
    """Returns texts that would run as code, or break a parser, if they were pasted anywhere."""
    shapes = [
        "{}", "a{}", "a\n{}\n", "a'+{}+'", 'a"+{}+"', "a'''\n{}\n'''", "a);{};(", "a]\n{}#", "a:{}", "a/{}", "\\x27{}",
        "a=1\n{}", "lambda:{}", "a\r{}", "a\u2028{}", "a\0{}", "f'{{{}}}'", "%({})s", "a\n  {}", "a,{}", "import os;{}",
        "a\\\n{}", "^{}", "a:0\n{}", "_{}", "-{}", "/{}", "..{}", "é{}", "a b {}", "\t{}", "a\x1b[0m{}",
    ]  # fmt: skip
    texts = [shape.format(CODE) for shape in shapes]
    generator = random.Random(0)
    alphabet = "ab'\"\\\n\r\t(){}[];:#=.,/^_- \0é٣²%$@!"
    while len(texts) < 200:
        part = "".join(generator.choice(alphabet) for _ in range(generator.randint(1, 12)))
        texts.append(part + generator.choice(("", CODE)))
    return [*texts, "", "a" * 5000, "a/" * 5000]


PLACES: dict[str, Callable[[GraphDef, str], Any]] = {
    "name": lambda g, text: setattr(g.node[0], "name", text),
    "op": lambda g, text: setattr(g.node[1], "op", text),
    "device": lambda g, text: setattr(g.node[1], "device", text),
    "input": lambda g, text: g.node[1].input.__setitem__(0, text),
    "attribute": lambda g, text: setattr(g.node[1].attr[text], "i", 1),
    "colocation": lambda g, text: g.node[1].attr["_class"].list.s.append(f"loc:@{text}".encode()),
    "string": lambda g, text: setattr(g.node[1].attr["_text"], "s", text.encode()),
}


@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_is_refused_or_harmless(place: str, canary: list[int]) -> None:
    refused = 0
    for text in hostile_texts():
        graph_def = small()
        PLACES[place](graph_def, text)
        with tf.Graph().as_default() as graph:
            try:
                tf.import_graph_def(graph_def, name="")
            except (ValueError, tf.errors.NotFoundError) as error:
                refused += 1
                assert len(str(error)) < 1000
            else:
                run_everything(graph)
    assert refused > 150 or place == "string"


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("place", ["name", "op", "device", "input", "attribute"])
def test_every_entrance_has_the_same_check(
    entrance: str, place: str, canary: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("model")
    for text in hostile_texts()[:30]:
        graph_def = small()
        PLACES[place](graph_def, text)
        with tf.Graph().as_default(), pytest.raises(ValueError, match=r"Node "):
            ENTRANCES[entrance](graph_def, folder)


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_entrance_checks_functions(entrance: str, tmp_path: Path) -> None:
    for text in hostile_texts()[:5]:
        graph_def = small()
        function = graph_def.library.function.add()
        function.signature.name = "f"
        function.node_def.add(op="Neg", name=text)
        with tf.Graph().as_default(), pytest.raises(ValueError, match=r"function 'f': Node "):
            ENTRANCES[entrance](graph_def, tmp_path)


def test_names_that_tensorflow_accepts_are_accepted() -> None:
    for name in ("a", "A.b", "0", ".x", "a/_inner", "a/b>c", "a-b", "a/", "x" * 4096):
        graph_def = GraphDef()
        constant(graph_def, name)
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
            assert [operation.name for operation in graph.get_operations()] == [name]


def test_a_graph_takes_no_name_with_a_newline() -> None:
    with pytest.raises(ValueError, match="not a valid node name"):
        tf.constant(1, name="a\n")


@pytest.mark.parametrize("number", [-1, 0, 24, 99, 101, 500, 2**31 - 1])
def test_unknown_types_are_refused(number: int) -> None:
    graph_def = small()
    graph_def.node[1].attr["T"].type = number
    with pytest.raises(ValueError, match="Node 'minus'"):
        tf.import_graph_def(graph_def)


def test_attributes_of_another_type_are_refused() -> None:
    for key, field, value in (("T", "i", 1), ("T", "s", b"float32"), ("_class", "s", b"loc:@one"), ("_class", "i", 3)):
        graph_def = small()
        graph_def.node[1].attr[key].Clear()
        setattr(graph_def.node[1].attr[key], field, value)
        with pytest.raises(ValueError, match=f"Node 'minus': attribute '{key}'"):
            tf.import_graph_def(graph_def)


def test_functions_are_checked() -> None:
    for change in (
        lambda f: setattr(f.signature, "name", CODE),
        lambda f: setattr(f.signature, "name", "MatMul"),
        lambda f: setattr(f.node_def.add(op="Neg"), "name", CODE),
        lambda f: f.signature.input_arg.add(name=CODE),
    ):
        graph_def = small()
        function = graph_def.library.function.add()
        function.signature.name = "f"
        change(function)
        with pytest.raises(ValueError, match=r"function|same name"):
            tf.import_graph_def(graph_def)


def test_a_function_is_not_replaced_by_another() -> None:
    first, second = small(), small()
    first.library.function.add().signature.name = "f"
    second.library.function.add().signature.name = "f"
    second.library.function[0].node_def.add(name="x", op="NoOp")
    tf.import_graph_def(first)
    tf.import_graph_def(first)
    with pytest.raises(ValueError, match="a different function"):
        tf.import_graph_def(second)


@pytest.mark.parametrize("op_type", ["_While", "_Cluster", "_Arg", "_Recv", "_Send", "_Choose", "_AsNumber"])
def test_ops_of_the_compiler_are_refused(op_type: str) -> None:
    graph_def = small()
    graph_def.node[1].op = op_type
    with pytest.raises(ValueError, match="created by the compiler alone"):
        tf.import_graph_def(graph_def)


def test_attributes_of_the_compiler_are_dropped() -> None:
    graph_def = small()
    graph_def.node[1].attr["_host"].b = True
    graph_def.node[1].attr["_feeds"].s = CODE.encode()
    tf.import_graph_def(graph_def, name="")
    assert not {"_host", "_feeds"} & tf.get_default_graph().get_operation_by_name("minus").attrs.keys()


# -- sizes ------------------------------------------------------------------------------------------------------------


def sized(*sizes: int, values: int = 1, dtype: int = FLOAT) -> GraphDef:
    graph_def = GraphDef()
    node = graph_def.node.add(name="c", op="Const")
    node.attr["dtype"].type = dtype
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    if dtype == STRING:
        tensor.string_val.extend([b"x"] * values)
    else:
        tensor.float_val.extend([1.5] * values)
    return graph_def


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize(
    "graph_def",
    [
        sized(2**33),
        sized(2**20, 2**20),
        sized(2**62, 2**62),
        sized(-1),
        sized(-5, 3),
        sized(2**40, 0, 2**40),
        sized(*[1] * 300),
        sized(2**29, values=2),
        sized(2**30, dtype=STRING),
        sized(2, values=3),
        sized(2, values=3, dtype=STRING),
    ],
)
def test_constants_that_do_not_fit_are_refused(graph_def: GraphDef) -> None:
    before = peak()
    with pytest.raises(ValueError, match="Node 'c'"):
        tf.import_graph_def(graph_def)
    assert peak() - before < 2**28


def test_a_constant_of_one_value_takes_no_memory() -> None:
    before = peak()
    for index in range(50):
        tf.import_graph_def(sized(2**28), name=f"part{index}")
    graph = tf.get_default_graph()
    assert tf.import_graph_def(graph.as_graph_def(), return_elements=["part0/c:0"])[0].shape == (2**28,)
    with tf.Session() as session:
        assert session.run(graph.get_tensor_by_name("part3/c:0")[12345]) == 1.5
    assert peak() - before < 2**28


def test_repeated_values_are_limited_in_all() -> None:
    graph_def = GraphDef()
    for index in range(20):
        graph_def.node.add().CopyFrom(sized(2**24, values=2).node[0])
        graph_def.node[index].name = f"c{index}"
    with pytest.raises(ValueError, match="repeat values"):
        tf.import_graph_def(graph_def)


def test_lists_of_outputs_are_limited() -> None:
    graph_def = small()
    for index in range(3):
        node = graph_def.node.add(name=f"parts{index}", op="Unpack", input=["many"])
        node.attr["num"].i = 2**17
        node.attr["T"].type = FLOAT
    many = graph_def.node.add(name="many", op="Placeholder")
    many.attr["dtype"].type = FLOAT
    with pytest.raises(ValueError, match="outputs in lists"):
        tf.import_graph_def(graph_def)


def test_nothing_large_is_folded() -> None:
    before = peak()
    dims = tf.constant([2**16, 2**16])
    for _ in range(70):  # more than shape inference follows
        dims = tf.maximum(dims, 1)
    filled = tf.tile(tf.fill(dims, 1.0)[:1, :1], [1, 3])
    with tf.Session() as session:
        assert session.run(filled).tolist() == [[1, 1, 1]]
    assert peak() - before < 2**29


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_chain_of_many_nodes_is_imported_and_run(count: int) -> None:
    graph_def = GraphDef()
    node = graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = FLOAT
    for index in range(count):
        before = graph_def.node[index].name
        graph_def.node.add(name=f"n{index}", op="Tanh", input=[before]).attr["T"].type = FLOAT
    last = tf.import_graph_def(graph_def, name="", return_elements=[f"n{count - 1}:0"])[0]
    with tf.Session() as session:
        assert 0 < session.run(last, {"x:0": np.float32(1)}) < 0.04


# -- control flow -----------------------------------------------------------------------------------------------------


def loop() -> GraphDef:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2 + x), [tf.constant(0), x], name="while")
        tf.cond(x > 0, lambda: x * 2, lambda: x - 1, name="cond")
    return graph.as_graph_def()


W = "while/"


def test_a_value_inside_of_an_imported_loop_cannot_be_fetched() -> None:
    tf.import_graph_def(loop(), name="")
    with tf.Session() as session:
        for name in ("while/add:0", "while/Less:0", f"{W}Merge:0", f"{W}Identity:0", f"{W}NextIteration:0"):
            with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be fetched, since it has one value per"):
                session.run(name, {"x:0": 1.0})
        exits = tf.get_default_graph().get_operation_by_name(f"{W}Exit_1")
        session.run(exits, {"x:0": 1.0})
        session.run(tf.get_default_graph().get_operation_by_name("while/add"), {"x:0": 1.0})
        assert session.run(exits.outputs[0], {"x:0": 1.0}) == 63


MALFORMED: dict[str, tuple[str, list[str]]] = {
    "a Merge of two Enters": (f"{W}Merge", [f"{W}Enter", f"{W}Enter"]),
    "a Merge of two back edges": (f"{W}Merge", [f"{W}NextIteration", f"{W}NextIteration"]),
    "a Merge with its back edge first": (f"{W}Merge", [f"{W}NextIteration", f"{W}Enter"]),
    "a back edge of another type": (f"{W}Merge", [f"{W}Enter", f"{W}NextIteration_1"]),
    "a back edge of an output that is not there": (f"{W}Merge", [f"{W}Enter", f"{W}NextIteration:7"]),
    "a back edge as a control": (f"{W}Merge", [f"{W}Enter", f"{W}NextIteration", f"^{W}NextIteration"]),
    "a back edge without Merge": ("while/add", [f"{W}NextIteration", "while/add/y"]),
    "a node that feeds itself": ("while/add", ["while/add", "while/add/y"]),
    "an Exit outside of loops": (f"{W}Exit_1", ["x"]),
    "an Exit of a Merge": (f"{W}Exit", [f"{W}Merge"]),
    "a NextIteration outside of loops": (f"{W}NextIteration_1", ["x"]),
    "an Enter of the loop's own Exit": (f"{W}Enter", [f"{W}Exit"]),
    "a condition from outside": (f"{W}LoopCond", ["Greater"]),
    "a predicate from outside": (f"{W}Switch", [f"{W}Merge", "Greater"]),
    "a predicate that is no bool": (f"{W}Switch", [f"{W}Merge", f"{W}Merge"]),
    "a control from the back edge to outside": ("cond/pred_id", ["Greater", f"^{W}NextIteration_1"]),
    "a control from after the loop": ("while/add", [f"{W}Identity", "while/add/y", f"^{W}Exit_1"]),
    "a Merge of one side twice": ("cond/Merge", ["cond/mul", "cond/mul"]),
    "a product of both sides": ("cond/mul", ["cond/x/Switch", "cond/x/Switch_1:1"]),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_control_flow_ends_with_a_typed_error(case: str) -> None:
    name, inputs = MALFORMED[case]
    graph_def = loop()
    node = next(node for node in graph_def.node if node.name == name)
    del node.input[:]
    node.input.extend(inputs)
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError:
            return
        with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=1000)) as session:
            for fetched in [t for o in graph.get_operations() for t in (o, *o.outputs)]:
                try:
                    session.run(fetched, {"x:0": 1.0})
                except tf.errors.OpError as error:
                    assert not isinstance(error, tf.errors.InternalError)


def nested(depth: int) -> GraphDef:
    """Returns a graph of loops inside of each other, each of one iteration."""
    graph_def = GraphDef()
    before = constant(graph_def, "zero", 0.0).name

    def add(op_type: str, number: int, inputs: list[str]) -> Any:
        node = graph_def.node.add(name=f"{op_type}{number}", op=op_type, input=inputs)
        if op_type != "LoopCond":
            node.attr["T"].type = FLOAT
        return node

    for k in range(depth):
        add("Enter", k, [before]).attr["frame_name"].s = f"frame{k}".encode()
        add("Merge", k, [f"Enter{k}", f"NextIteration{k}"]).attr["N"].i = 2
        constant(graph_def, f"one{k}").input.append(f"^Merge{k}")
        add("Less", k, [f"Merge{k}", f"one{k}"])
        add("LoopCond", k, [f"Less{k}"])
        add("Switch", k, [f"Merge{k}", f"LoopCond{k}"])
        before = f"Switch{k}:1"
    before = add("AddV2", 0, [before, f"one{depth - 1}"]).name
    for k in reversed(range(depth)):
        add("NextIteration", k, [before])
        before = add("Exit", k, [f"Switch{k}"]).name
    return graph_def


@pytest.mark.parametrize("depth", [15, 16, 17, 30, 1100])
def test_deeply_nested_loops_run(depth: int) -> None:
    tf.import_graph_def(nested(depth), name="")
    with tf.Session() as session:
        assert session.run("Exit0:0") == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="AddV20"):
            session.run("AddV20:0")


@pytest.mark.parametrize("depth", [79, 80, 81, 120, 1100])
def test_deeply_nested_conditionals_run(depth: int) -> None:
    graph_def = small()
    for name, dtype in (("p", BOOL), ("x", FLOAT)):
        graph_def.node.add(name=name, op="Placeholder").attr["dtype"].type = dtype
    before = "x"
    for k in range(depth):
        graph_def.node.add(name=f"p{k}", op="LogicalAnd", input=["p", f"p{k - 1}" if k else "p"])
        graph_def.node.add(name=f"switch{k}", op="Switch", input=[before, f"p{k}"]).attr["T"].type = FLOAT
        before = f"switch{k}:1"
    graph_def.node.add(name="inner", op="Neg", input=[before]).attr["T"].type = FLOAT
    before = "inner"
    for k in reversed(range(depth)):
        merge = graph_def.node.add(name=f"merge{k}", op="Merge", input=[f"switch{k}", before])
        merge.attr["T"].type, merge.attr["N"].i = FLOAT, 2
        before = merge.name
    tf.import_graph_def(graph_def, name="")
    with tf.Session() as session:
        assert session.run("merge0:0", {"x:0": 2.0, "p:0": True}) == -2
        assert session.run("merge0:0", {"x:0": 2.0, "p:0": False}) == 2


def test_a_control_edge_from_a_long_chain_is_followed() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    last = x
    for _ in range(1100):
        last = tf.identity(last)
    with tf.control_dependencies([last]):
        y = tf.cond(p, lambda: tf.negative(x), lambda: x)
    with tf.Session() as session:
        assert session.run(y, {p: True, x: 2.0}) == -2


def test_many_functions_that_call_each_other_are_imported() -> None:
    graph_def = small()
    for k in range(5000):
        function = graph_def.library.function.add()
        function.signature.name = f"f{k}"
        function.node_def.add(name="call", op=f"f{k + 1}")
    tf.import_graph_def(graph_def, name="")
    with tf.Session() as session:
        assert session.run("sum:0") == 0


# -- files and Python -------------------------------------------------------------------------------------------------


def writing(path: Path) -> GraphDef:
    graph_def = small()
    constant(graph_def, "path", str(path))
    constant(graph_def, "text", "written")
    graph_def.node.add(name="write", op="WriteFile", input=["path", "text"])
    return graph_def


@pytest.mark.parametrize("entrance", MODELS)
def test_models_may_not_write_files(entrance: str, canary: list[int], tmp_path: Path, tmp_path_factory: Any) -> None:
    with pytest.raises(ValueError, match="WriteFile 'write' writes files") as caught:
        ENTRANCES[entrance](writing(tmp_path / "file"), tmp_path_factory.mktemp("model"))
    assert entrance.startswith("thalweg ") or caught.value.refused == [("write", "WriteFile")]  # type: ignore[attr-defined]


def reading(path: Path) -> GraphDef:
    graph_def = small()
    constant(graph_def, "path", str(path))
    graph_def.node.add(name="read", op="ReadFile", input=["path"])
    return graph_def


@pytest.mark.parametrize(
    "load",
    [
        lambda folder: Servable(folder, trusted=False),
        lambda folder: freeze_saved_model(folder, trusted=False),
        lambda folder: tf.onnx.from_saved_model(folder, trusted=False),
        by_command("predict", "--untrusted", "--input_exprs", "x=1.0"),
        by_command("freeze", OUT, "--untrusted"),
        by_command("export", "--onnx", OUT, "--untrusted"),
    ],
)
def test_what_is_not_trusted_reads_no_file(load: Callable[[str], Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ReadFile 'read' reads files"):
        signed(reading(tmp_path / "file"), tmp_path / "model", load)


def test_a_transform_reads_and_writes_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for graph_def, output in ((reading(tmp_path / "secret"), "read"), (writing(tmp_path / "file"), "write")):
        transformed = TransformGraph(graph_def, [], [output], ["fold_constants", "sort_by_execution_order"])
        assert output in [node.name for node in transformed.node if node.op in ("ReadFile", "WriteFile")]
        assert b"secret" not in transformed.SerializeToString().replace(str(tmp_path / "secret").encode(), b"")
    assert os.listdir(tmp_path) == ["secret"]


def test_a_program_may_import_what_writes_files(tmp_path: Path) -> None:
    operation = tf.import_graph_def(writing(tmp_path / "file"), return_elements=["write"])[0]
    with tf.Session() as session:
        session.run(operation)
    assert (tmp_path / "file").read_text() == "written"


def test_prints_to_files_count_as_writing(tmp_path: Path) -> None:
    for stream, refused in (("stderr", False), (f"file://{tmp_path}/x", True)):
        graph_def = small()
        constant(graph_def, "text", "printed")
        graph_def.node.add(name="print", op="PrintV2", input=["text"]).attr["output_stream"].s = stream.encode()
        with tf.Graph().as_default():
            if refused:
                with pytest.raises(RefusedOpsError, match="PrintV2 'print' writes files"):
                    tf.train.import_meta_graph(as_meta_graph(graph_def))
            else:
                tf.train.import_meta_graph(as_meta_graph(graph_def))


def test_what_is_not_trusted_may_reach_nothing_outside() -> None:
    tf.read_file("x")
    tf.matching_files("x")
    tf.py_func(lambda: 1.0, [], tf.float32)
    tf.TextLineReader()
    tf.data.Dataset.range(3).make_one_shot_iterator()
    tf.train.Saver([tf.get_variable("v", [])])
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph:
        with pytest.raises(RefusedOpsError, match="pass trusted=True") as caught:
            tf.import_graph_def(definition, trusted=False)
        assert not graph.get_operations()
        tf.import_graph_def(small(), trusted=False)
    found = {op_type for _, op_type in caught.value.refused}
    assert found == {
        "ReadFile", "MatchingFiles", "PyFunc", "TextLineReaderV2", "_Dataset", "_OneShotIterator", "SaveV2", "RestoreV2"
    }  # fmt: skip


@pytest.mark.parametrize("token", ["pyfunc_{}", "imported:pyfunc_{}"])
def test_an_imported_graph_cannot_call_python(token: str) -> None:
    calls: list[int] = []
    kept = tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32)
    number = kept.op.attrs["token"].rpartition("_")[2]
    definition = tf.get_default_graph().as_graph_def()
    definition.node[0].attr["token"].s = token.format(number).encode()
    for target in (tf.get_default_graph(), tf.Graph()):  # not even into the graph that made it
        with target.as_default(), tf.Session() as session:
            imported = tf.import_graph_def(definition, return_elements=[kept.name])[0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="graphs imported with trusted=True"):
                session.run(imported)
    assert calls == []
    with tf.Graph().as_default(), tf.Session() as session:
        again = tf.get_default_graph()
        tf.import_graph_def(target.as_graph_def(), name="", trusted=True)
        assert session.run(again.get_operations()[0].outputs[0]) == 1 == len(calls)


def saved(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.identity(x * tf.get_variable("v", initializer=3.0), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
    return str(tmp_path / "model")


@pytest.mark.parametrize("trusted", [None, False, True])
def test_a_model_with_variables_is_loaded_under_every_trust(trusted: bool | None, tmp_path: Path) -> None:
    predictor = tf.contrib.predictor.from_saved_model(saved(tmp_path), trusted=trusted)
    with predictor.session:
        assert predictor({"x": 2.0})["y"] == 6


def test_a_model_may_not_save_while_it_is_loaded_or_called(tmp_path: Path) -> None:
    folder = Path(saved(tmp_path))
    model = message_class("SavedModel").FromString((folder / "saved_model.pb").read_bytes())
    saving = next(node.name for node in model.meta_graphs[0].graph_def.node if node.op == "SaveV2")
    hostile = {
        "the restore operation": lambda m: setattr(m.saver_def, "restore_op_name", saving),
        "the main operation": lambda m: m.collection_def["saved_model_main_op"].node_list.value.append(saving),
        "a signature": lambda m: next(n for n in m.graph_def.node if n.name == "y").input.append(f"^{saving}"),
    }
    for change in hostile.values():
        changed = type(model).FromString(model.SerializeToString())
        change(changed.meta_graphs[0])
        (folder / "saved_model.pb").write_bytes(changed.SerializeToString())
        with tf.Graph().as_default(), pytest.raises(RefusedOpsError, match="SaveV2"):
            by_loader(str(folder))


def test_a_file_is_read_in_every_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one")
    content = tf.read_file(str(tmp_path / "file"))
    with tf.Session() as session:
        assert session.run(content) == b"one"
        (tmp_path / "file").write_text("two")
        assert session.run(content) == b"two"
