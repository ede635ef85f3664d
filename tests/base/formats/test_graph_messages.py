"""Messages of graphs as text."""

import pytest

import thalweg as tf
from thalweg._src.deploy.saved_model.files import read_saved_model
from thalweg._src.deploy.transform.files import read_graph_def

DEEP = "node { attr { key: 'a' value { " + "func { attr { key: 'a' value { " * 3000


@pytest.mark.parametrize(
    ("name", "start", "read"),
    [
        ("graph.pbtxt", "", lambda folder: read_graph_def(folder / "graph.pbtxt")),
        ("model.meta", "graph_def { ", lambda folder: tf.train.import_meta_graph(str(folder / "model.meta"))),
        ("saved_model.pbtxt", "meta_graphs { graph_def { ", read_saved_model),
    ],
)
def test_a_text_that_is_nested_deeply_is_refused(name, start, read, tmp_path):
    (tmp_path / name).write_text(start + DEEP)
    with pytest.raises(OSError, match=f"{name}.*nested too deeply"):
        read(tmp_path)
