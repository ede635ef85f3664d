"""Exporters: what they export, and which exports they keep."""

import os

import pytest

import thalweg as tf
from tests.estimator.models import estimator, rows
from thalweg._src.estimator.saved_models import timestamped_folder


class Fake:
    """An Estimator that records what is exported, and makes a folder for it."""

    def __init__(self, folder):
        self.model_dir = str(folder)
        self.exported = []

    def export_saved_model(self, export_dir_base, serving_input_receiver_fn, **options):
        self.exported.append((serving_input_receiver_fn, options))
        path = f"{export_dir_base}/{len(self.exported)}"
        tf.io.gfile.makedirs(path)
        return path.encode()


def receive():
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_final_exporter_exports_once_at_the_end(tmp_path):
    model = Fake(tmp_path)
    exporter = tf.estimator.FinalExporter("last", receive, assets_extra={"a": "b"}, as_text=True)
    assert exporter.name == "last"
    assert exporter.export(model, str(tmp_path), "ckpt", {}, False) is None
    assert exporter.export(model, str(tmp_path), "ckpt", {}, True) == f"{tmp_path}/1".encode()
    assert model.exported == [(receive, {"assets_extra": {"a": "b"}, "as_text": True, "checkpoint_path": "ckpt"})]


def test_the_latest_exporter_keeps_the_newest_exports(tmp_path):
    model, exporter = Fake(tmp_path), tf.estimator.LatestExporter("latest", receive, exports_to_keep=2)
    (tmp_path / "notes").mkdir()
    for _ in range(11):
        exporter.export(model, str(tmp_path), "ckpt", {}, False)
    assert names(tmp_path) == ["10", "11", "notes"]


def test_exports_within_a_second_are_numbered_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 100.0)
    for expected in (["100"], ["100", "101"]):
        os.makedirs(timestamped_folder(str(tmp_path)))
        assert sorted(os.listdir(tmp_path)) == expected
    os.rmdir(tmp_path / "100")  # as an exporter deletes the oldest
    assert timestamped_folder(str(tmp_path)) == str(tmp_path / "102")
    os.makedirs(tmp_path / "temp-102")
    assert timestamped_folder(str(tmp_path)) == str(tmp_path / "103")


def test_the_latest_exporter_can_keep_all(tmp_path):
    model, exporter = Fake(tmp_path), tf.estimator.LatestExporter("latest", receive, exports_to_keep=None)
    for _ in range(7):
        exporter.export(model, str(tmp_path), "ckpt", {}, False)
    assert len(names(tmp_path)) == 7


def test_the_best_exporter_exports_smaller_losses(tmp_path):
    model, exporter = Fake(tmp_path), tf.estimator.BestExporter(serving_input_receiver_fn=receive, exports_to_keep=2)
    assert exporter.name == "best_exporter"
    losses = [5.0, 6.0, 4.0, 4.0, 3.0]
    exported = [exporter.export(model, str(tmp_path), "ckpt", {"loss": loss}, False) is not None for loss in losses]
    assert exported == [True, False, True, False, True]
    assert names(tmp_path) == ["2", "3"]


def test_the_best_exporter_compares_as_it_is_told(tmp_path):
    def higher(best_eval_result, current_eval_result):
        return best_eval_result["accuracy"] < current_eval_result["accuracy"]

    model = Fake(tmp_path)
    exporter = tf.estimator.BestExporter("best", receive, compare_fn=higher)
    exported = [exporter.export(model, str(tmp_path), "c", {"accuracy": a}, False) is not None for a in (0.5, 0.4, 0.6)]
    assert exported == [True, False, True]


def test_the_best_exporter_knows_evaluations_of_earlier_runs(tmp_path):
    model = estimator(tmp_path / "model", save_checkpoints_steps=1)
    model.train(rows(), steps=3)
    losses = {}
    for step in (0, 3):
        losses[step] = model.evaluate(rows(epochs=1), checkpoint_path=str(tmp_path / "model" / f"model.ckpt-{step}"))
    assert losses[3]["loss"] < losses[0]["loss"]
    target = str(tmp_path / "exports")
    worse, better = tf.estimator.BestExporter("a", receive), tf.estimator.BestExporter("a", receive)
    assert worse.export(model, target, model.latest_checkpoint(), losses[0], False) is None
    # The event files have the evaluation of this very step too, which is no reason against it.
    assert better.export(model, target, model.latest_checkpoint(), losses[3], False) is not None


def test_wrong_exporters_are_refused():
    for make, words in [
        (lambda: tf.estimator.LatestExporter("a", receive, exports_to_keep=0), "exports_to_keep"),
        (lambda: tf.estimator.BestExporter("a", receive, exports_to_keep=0), "exports_to_keep"),
        (lambda: tf.estimator.BestExporter("a", receive, compare_fn=None), "compare_fn"),
        (lambda: tf.estimator.BestExporter("a", receive, compare_fn=lambda a, b: True), "best_eval_result"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(ValueError, match="no loss"):
        exporter = tf.estimator.BestExporter("a", receive, event_file_pattern=None)
        exporter._best = {"accuracy": 1.0}
        exporter.export(Fake("/nowhere"), "/nowhere", "ckpt", {"accuracy": 1.0}, False)
    with pytest.raises(TypeError, match="implement"):
        tf.estimator.Exporter().export(None, "", "", {}, True)
