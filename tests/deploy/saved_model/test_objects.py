"""tf.saved_model.save: objects with variables and functions as SavedModels, served in a session."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.deploy.saved_model.files import read_saved_model


class Affine(tf.Module):
    """A module with variables, a list, and a function."""

    def __init__(self):
        super().__init__()
        self.parts = [tf.Variable([2.0, 3.0], name="w"), {"b": tf.Variable(1.0, name="b")}]
        self.shift = tf.constant([10.0, 20.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def apply(self, x):
        return x * self.parts[0] + self.parts[1]["b"] + self.shift


def _served(path, key="serving_default", **inputs):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        signature = tf.saved_model.load(session, ["serve"], path).signature_def[key]
        fetches = {name: info.name for name, info in signature.outputs.items()}
        return session.run(fetches, {signature.inputs[name].name: value for name, value in inputs.items()})


def test_the_function_of_an_object_is_its_signature(fresh, tmp_path):
    module, path = Affine(), str(tmp_path / "module")
    module.parts[0].assign([4.0, 5.0])
    tf.saved_model.save(module, path)
    found = _served(path, x=[[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(found["output_0"], [[15.0, 31.0], [11.0, 21.0]])


def test_signatures_that_are_given(fresh, tmp_path):
    module, path = Affine(), str(tmp_path / "module")

    @tf.function
    def scaled(x, factor):
        return {"up": x * factor, "sum": tf.reduce_sum(x) + module.parts[1]["b"]}

    traced = scaled.get_concrete_function(
        tf.TensorSpec([None], tf.float32, "x"), tf.TensorSpec([], tf.float32, "factor")
    )
    tf.saved_model.save(module, path, signatures={"scaled": traced, "serving_default": module.apply})
    found = _served(path, "scaled", x=[1.0, 2.0], factor=3.0)
    assert found["up"].tolist() == [3.0, 6.0]
    assert found["sum"] == 4.0
    assert _served(path, x=[[1.0, 1.0]])["output_0"].tolist() == [[13.0, 24.0]]


def test_the_graph_of_objects(fresh, tmp_path):
    path = str(tmp_path / "module")
    tf.saved_model.save(Affine(), path)
    objects = read_saved_model(path).meta_graphs[0].object_graph_def
    children = {child.local_name: child.node_id for child in objects.nodes[0].children}
    assert {"parts", "signatures"} <= set(children)
    assert objects.nodes[children["parts"]].user_object.identifier == "trackable_list_wrapper"
    variables = {node.variable.name for node in objects.nodes if node.WhichOneof("kind") == "variable"}
    assert variables == {"w", "b"}
    assert [node.constant.operation for node in objects.nodes if node.WhichOneof("kind") == "constant"] == ["captured"]


def test_objects_of_a_session(tmp_path):
    path = str(tmp_path / "module")
    with tf.Graph().as_default(), tf.Session() as session:
        module = tf.Module()
        module.v = tf.Variable([1.0, 2.0], use_resource=True)
        function = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec([2], tf.float32, "x")])
        session.run(module.v.assign([3.0, 4.0]))
        tf.saved_model.save(module, path, signatures=function)
    assert _served(path, x=[1.0, 10.0])["output_0"].tolist() == [3.0, 40.0]


def test_what_is_refused(fresh, tmp_path):
    module, path = Affine(), str(tmp_path / "module")
    outside = tf.Variable(5.0)
    function = tf.function(lambda x: x * outside, input_signature=[tf.TensorSpec([], tf.float32, "x")])
    with pytest.raises(ValueError, match="make it an attribute of the object that is saved"):
        tf.saved_model.save(module, path, signatures=function)
    with pytest.raises(ValueError, match="has no input_signature"):
        tf.saved_model.save(module, path, signatures=tf.function(lambda x: x))
    with pytest.raises(ValueError, match=r"expected a tf\.function"):
        tf.saved_model.save(module, path, signatures={"a": abs})
