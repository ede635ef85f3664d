"""Drawings of models as graphs of pydot, and the message where it is missing."""

import sys
from types import ModuleType

import pydot
import pytest

import thalweg as tf

keras = tf.keras


def nested():
    inner = keras.Sequential([keras.layers.Dense(3, input_shape=(2,), name="deep")], name="inner")
    inputs = keras.Input((2,), name="in")
    side = keras.layers.Dense(3, name="side")(inputs)
    return keras.Model(inputs, keras.layers.Add(name="sum")([inner(inputs), side]), name="outer")


def labels(dot):
    """Returns the text of each node by its name."""
    return {node.get_name(): node.get_label().strip('"') for node in dot.get_nodes() if node.get_label()}


def edges(dot, names):
    return {(names[edge.get_source()], names[edge.get_destination()]) for edge in dot.get_edges()}


def test_layers_and_their_connections_are_drawn():
    dot = keras.utils.model_to_dot(nested(), rankdir="LR", dpi=50)
    names = labels(dot)
    assert sorted(names.values()) == ["in: InputLayer", "inner: Sequential", "side: Dense", "sum: Add"]
    assert edges(dot, names) == {
        ("in: InputLayer", "inner: Sequential"),
        ("in: InputLayer", "side: Dense"),
        ("inner: Sequential", "sum: Add"),
        ("side: Dense", "sum: Add"),
    }
    assert dot.get_rankdir() == "LR" and dot.get_dpi() == "50"


def test_shapes_and_classes_are_shown():
    model = keras.Sequential([keras.layers.Dense(3, input_shape=(2,), name="one")])
    found = labels(keras.utils.model_to_dot(model, show_shapes=True, show_layer_names=False))
    assert "Dense\\n|{input:|output:}|{{(?, 2)}|{(?, 3)}}" in found.values()
    assert len(found) == 2  # with the input of the first layer


def test_a_wrapper_names_its_layer():
    inner = keras.layers.Dense(2, name="d")
    model = keras.Sequential([keras.layers.TimeDistributed(inner, input_shape=(3, 4), name="t")])
    assert "t(d): TimeDistributed(Dense)" in labels(keras.utils.model_to_dot(model)).values()


def test_nested_models_are_expanded():
    dot = keras.utils.model_to_dot(nested(), expand_nested=True)
    (cluster,) = dot.get_subgraphs()
    assert cluster.get_label() == '"inner"'
    inside = labels(cluster)
    assert sorted(inside.values()) == ["deep: Dense", "deep_input: InputLayer"]
    names = {**labels(dot), **inside}
    assert ("in: InputLayer", "deep_input: InputLayer") in edges(dot, names)
    assert ("deep: Dense", "sum: Add") in edges(dot, names)
    assert edges(cluster, inside) == {("deep_input: InputLayer", "deep: Dense")}


def test_a_subclass_is_one_node():
    class Own(keras.Model):
        pass

    assert list(labels(keras.utils.model_to_dot(Own(name="mine"))).values()) == ["mine"]


def test_a_drawing_is_saved(tmp_path, monkeypatch):
    path = tmp_path / "model.dot"
    keras.utils.plot_model(nested(), path, show_shapes=True)
    text = path.read_text()
    assert text.startswith("digraph") and "side: Dense" in text and text.count(" -> ") == 4
    written = []
    monkeypatch.setattr(pydot.Dot, "write", lambda dot, path, format: written.append((path, format)))
    for name in ("model.svg", "model"):
        keras.utils.plot_model(nested(), str(tmp_path / name))
    assert [kind for _, kind in written] == ["svg", "png"]
    shown = ModuleType("IPython.display")
    shown.Image = lambda filename: f"image of {filename}"
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    assert keras.utils.plot_model(nested(), "a.png") == "image of a.png"
    assert keras.utils.plot_model(nested(), "a.pdf") is None


def test_graphviz_may_be_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match="You must install pydot and graphviz"):
        keras.utils.plot_model(nested(), str(tmp_path / "model.png"))


def test_pydot_may_be_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pydot", None)
    with pytest.raises(ImportError, match="Failed to import pydot"):
        keras.utils.model_to_dot(nested())
    monkeypatch.setitem(sys.modules, "IPython.core.magics.namespace", ModuleType("namespace"))
    assert keras.utils.plot_model(nested()) is None  # a notebook goes on
    assert "Failed to import pydot" in capsys.readouterr().out
