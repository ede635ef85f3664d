"""The text of transforms, their parameters, and what is refused."""

import sys

import pytest

import thalweg as tf
from tests import children
from tests.deploy.transform.graphs import ops
from thalweg._src.deploy.transform.apply import parse
from thalweg._src.deploy.transform.registry import TRANSFORMS
from thalweg.tools import graph_transforms


@pytest.fixture
def graph_def():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.negative(tf.identity(x, name="forwarded"), name="y")
    return graph.as_graph_def()


def test_transforms_are_parsed_with_repeated_and_quoted_parameters():
    text = 'fold_constants(ignore_errors=true)\n remove_nodes( op=Identity, op=CheckNumerics )strip(shape="1,2") a()'
    assert list(parse(text)) == [
        ("fold_constants", {"ignore_errors": ("true",)}),
        ("remove_nodes", {"op": ("Identity", "CheckNumerics")}),
        ("strip", {"shape": ("1,2",)}),
        ("a", {}),
    ]
    assert list(parse("  ")) == []


@pytest.mark.parametrize("text", ["a(", "a(b)", "a(b=1 c=2)", "a(b=)", "(a)", "a, b", "a(b=1,,c=2)"])
def test_what_cannot_be_parsed_is_refused(text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="transforms: expected"):
        list(parse(text))


def test_transforms_are_applied_in_order(graph_def):
    found = graph_transforms.TransformGraph(
        graph_def, ["x"], ["y"], ["remove_nodes(op=Identity)", "rename_op(old_op_name=Neg, new_op_name=Abs)"]
    )
    assert ops(found) == {"x": "Placeholder", "y": "Abs"}
    assert found.versions == graph_def.versions
    assert graph_transforms.TransformGraph(graph_def, ["x:0"], [b"y:0"], []) == graph_def


def test_an_unknown_transform_or_parameter_is_refused(graph_def):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"(?s)did you mean 'fold_constants'.*expected: one of"
    ) as found:
        graph_transforms.TransformGraph(graph_def, ["x"], ["y"], ["fold_constant"])
    assert all(name in str(found.value) for name in TRANSFORMS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="remove_nodes has no parameter ops"):
        graph_transforms.TransformGraph(graph_def, ["x"], ["y"], ["remove_nodes(ops=Identity)"])


@pytest.mark.parametrize(
    ("transforms", "words"),
    [
        ("quantize_weights(minimum_size=many)", "quantize_weights: minimum_size: expected an integer, received 'many'"),
        ("set_device(if_default=maybe)", "if_default: expected true or false"),
        ("rename_op(old_op_name=Neg)", "new_op_name: expected one value, received 0"),
        ("remove_nodes", "remove_nodes: expected the type of the nodes"),
        ("strip_unused_nodes(type=number)", "type: expected the name of a type"),
        ('strip_unused_nodes(shape="a,b")', "shape: expected sizes"),
        ("round_weights(num_steps=0)", "num_steps: expected at least 1"),
        ("rename_node(old_node_name=z, new_node_name=w)", "no node 'z'"),
        ("rename_node(old_node_name=x, new_node_name=y)", "a node 'y' already"),
    ],
)
def test_errors_name_the_transform_and_can_be_ignored(graph_def, transforms, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        graph_transforms.TransformGraph(graph_def, ["x"], ["y"], [transforms])
    name, _, rest = transforms.partition("(")
    ignored = f"{name}({rest[:-1]}{', ' if rest else ''}ignore_errors=true)"
    assert graph_transforms.TransformGraph(graph_def, ["x"], ["y"], [ignored]) == graph_def


def test_an_unknown_output_is_refused(graph_def):
    with pytest.raises(tf.errors.InvalidArgumentError, match="strip_unused_nodes: the graph has no node 'z'"):
        graph_transforms.TransformGraph(graph_def, ["x"], ["z"], ["strip_unused_nodes"])


def test_arguments_of_other_types_are_refused(graph_def):
    with pytest.raises(TypeError, match="outputs: expected a list"):
        graph_transforms.TransformGraph(graph_def, ["x"], "y", [])
    with pytest.raises(TypeError, match="input_graph_def: expected a GraphDef"):
        graph_transforms.TransformGraph(tf.Graph(), ["x"], ["y"], [])


def test_programs_import_it_from_tensorflow():
    code = (
        "import thalweg; thalweg.install_as_tensorflow(force=True)\n"
        "from tensorflow.tools.graph_transforms import TransformGraph\n"
        "print(TransformGraph.__name__)"
    )
    assert children.run([sys.executable, "-c", code], forked=True).stdout == "TransformGraph\n"
