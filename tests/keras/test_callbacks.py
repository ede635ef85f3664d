"""Callbacks that steer and record a training; decisions are compared with those of tf_keras."""

import json
import os
import sys
import types

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.backend.state import clear_session
from thalweg._src.keras.backend.values import get_value
from thalweg._src.keras.backend.variables import variable
from thalweg._src.keras.callbacks.checkpoints import ModelCheckpoint
from thalweg._src.keras.callbacks.logs import CSVLogger, RemoteMonitor
from thalweg._src.keras.callbacks.tensor_board import TensorBoard
from thalweg._src.keras.callbacks.training import (
    BaseLogger,
    EarlyStopping,
    LambdaCallback,
    LearningRateScheduler,
    ReduceLROnPlateau,
    TerminateOnNaN,
)
from thalweg._src.keras.engine.sequential import Sequential
from thalweg._src.keras.layers.core import Dense
from thalweg._src.keras.saving.models import load_model
from thalweg._src.runtime.eager.mode import eager_mode

X, Y = np.ones((8, 3), np.float32), np.ones((8, 1), np.float32)
NAN = float("nan")
SERIES = {
    "falling": [5, 4, 3, 2, 1],
    "valley": [3, 2, 1, 2, 3, 4],
    "steps": [3, 3, 2, 2, 2, 1, 1, 1, 1],
    "slow": [1, 0.99, 0.98, 0.97, 0.96],
    "nan": [2, NAN, NAN, 1],
}


class _Model:
    """What callbacks need of a model: weights that are the number of the epoch, and a record of what is saved."""

    def __init__(self):
        self.stop_training = False
        self.epoch = 0
        self.saved = []

    def get_weights(self):
        return [self.epoch]

    def set_weights(self, weights):
        self.epoch = weights[0]

    def save(self, path, overwrite):
        self.saved.append(path)

    def save_weights(self, path, overwrite):
        self.saved.append(f"weights of {path}")


def _run(callback, epochs, model=None, **params):
    """Calls the points of a training whose epochs have the given logs; returns the model."""
    model = model or _Model()
    callback.set_params(params)
    callback.set_model(model)
    callback.on_train_begin()
    for epoch, logs in enumerate(epochs):
        model.epoch = epoch
        callback.on_epoch_begin(epoch)
        callback.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    callback.on_train_end()
    return model


@pytest.fixture
def eagerly():
    """Executes eagerly, with names of layers that start anew."""
    with eager_mode():
        clear_session()
        yield


@pytest.fixture(params=["graph", "eager"])
def mode(request):
    if request.param == "eager":
        request.getfixturevalue("eagerly")
    return request.param


def _compiled(metrics=("mae",)):
    model = Sequential([Dense(2, input_shape=(3,), name="d"), Dense(1, name="e")])
    model.compile("sgd", "mse", metrics=list(metrics))
    return model


# -- ending a training ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "series, options, monitor, stopped, best, wait",
    [
        ("falling", {}, "val_loss", None, 1, 0),
        ("falling", {}, "val_acc", 1, 5, 1),
        ("valley", {}, "val_loss", 3, 1, 1),
        ("valley", {"patience": 1}, "val_loss", 3, 1, 1),
        ("valley", {"patience": 2, "min_delta": 0.015}, "val_loss", 4, 1, 2),
        ("valley", {"mode": "max"}, "val_loss", 1, 3, 1),
        ("valley", {"patience": 2, "mode": "min"}, "val_acc", 4, 1, 2),
        ("steps", {"patience": 3}, "val_loss", 8, 1, 3),
        ("slow", {"patience": 2}, "val_loss", None, 0.96, 0),
        ("slow", {"patience": 2, "min_delta": 0.015}, "val_loss", None, 0.96, 0),
        ("slow", {"patience": 2, "min_delta": -0.025}, "val_loss", 2, 1, 2),
        ("nan", {"patience": 2}, "val_loss", 2, 2, 2),
        # The baseline of 1.15 is the value to improve on from the first epoch.
        ("valley", {"patience": 2, "baseline": 1.5}, "val_loss", 1, 1.5, 2),
        ("valley", {"patience": 3, "baseline": 1.5}, "val_loss", 5, 1, 3),
    ],
)
def test_a_training_ends_when_it_stops_to_improve(series, options, monitor, stopped, best, wait):
    callback = EarlyStopping(monitor, **options)
    model = _run(callback, [{monitor: value} for value in SERIES[series]])
    assert model.stop_training == (stopped is not None)
    assert (callback.stopped_epoch, callback.best, callback.wait) == (stopped or 0, best, wait)


def test_the_weights_of_the_best_epoch_are_restored(capsys):
    callback = EarlyStopping(patience=2, restore_best_weights=True, verbose=1)
    assert _run(callback, [{"val_loss": value} for value in SERIES["valley"]]).epoch == 2
    assert "Epoch 00005: early stopping" in capsys.readouterr().out
    assert _run(EarlyStopping(patience=2), [{"val_loss": value} for value in SERIES["valley"]]).epoch == 4
    below = EarlyStopping(patience=2, baseline=0, restore_best_weights=True)
    assert _run(below, [{"val_loss": value} for value in SERIES["valley"]]).epoch == 0


def test_a_callback_serves_several_trainings():
    callback = EarlyStopping(patience=1)
    for _ in range(2):
        assert _run(callback, [{"val_loss": value} for value in SERIES["valley"]]).epoch == 3
        assert callback.stopped_epoch == 3


def test_what_is_not_measured_decides_nothing(caplog):
    model = _run(EarlyStopping("val_loss"), [{"loss": 1.0}] * 3)
    assert not model.stop_training
    assert "'val_loss' was not measured" in caplog.text
    assert "measured are: loss" in caplog.text


def test_an_unknown_mode_is_warned_of(caplog):
    assert EarlyStopping("acc", mode="up").monitor_op is np.greater
    assert "'up' is unknown" in caplog.text


def test_fit_ends_early_and_restores_weights(mode):
    model = _compiled()
    weights = []
    record = LambdaCallback(on_epoch_end=lambda epoch, logs: weights.append(model.get_weights()))
    stopping = EarlyStopping("loss", min_delta=100, patience=2, restore_best_weights=True)
    history = model.fit(X, Y, epochs=9, verbose=0, callbacks=[record, stopping])
    assert history.epoch == [0, 1, 2]
    for value, expected in zip(model.get_weights(), weights[0]):
        np.testing.assert_array_equal(value, expected)


def test_a_loss_that_is_not_finite_ends_the_training(mode, capsys):
    model = _compiled()
    batches = []
    record = LambdaCallback(on_batch_end=lambda batch, logs: batches.append(batch))
    model.fit(X * np.inf, Y, batch_size=2, epochs=3, verbose=0, callbacks=[TerminateOnNaN(), record])
    assert batches == [0]
    assert capsys.readouterr().out == "Batch 0: Invalid loss, terminating training\n"


# -- the learning rate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "series, options, monitor, expected",
    [
        ("falling", {"patience": 1}, "val_loss", [0.1] * 5),
        ("falling", {"patience": 1}, "val_acc", [0.1, 0.01, 1e-3, 1e-4, 1e-5]),
        ("steps", {"patience": 1}, "val_loss", [0.1, 0.01, 0.01, 1e-3, 1e-4, 1e-4, 1e-5, 1e-6, 1e-7]),
        ("steps", {"patience": 2, "factor": 0.5}, "val_loss", [0.1] * 4 + [0.05] * 3 + [0.025] * 2),
        ("steps", {"patience": 1, "cooldown": 2}, "val_loss", [0.1, *[0.01] * 2, *[1e-3] * 3, *[1e-4] * 2, 1e-5]),
        ("steps", {"patience": 1, "min_lr": 0.02}, "val_loss", [0.1, *[0.02] * 8]),
        ("steps", {"patience": 0, "mode": "max"}, "val_loss", [0.1**power for power in range(1, 10)]),
        ("slow", {"patience": 1, "min_delta": 0.015}, "val_loss", [0.1, 0.01, 0.01, 1e-3, 1e-3]),
        ("nan", {"patience": 1}, "val_loss", [0.1, 0.01, 1e-3, 1e-3]),
    ],
)
def test_the_learning_rate_is_reduced_on_a_plateau(mode, series, options, monitor, expected):
    model = _Model()
    model.optimizer = types.SimpleNamespace(lr=variable(0.1))
    epochs = [{monitor: value} for value in SERIES[series]]
    after = []
    callback = ReduceLROnPlateau(monitor, **options)
    callback.set_model(model)
    callback.on_train_begin()
    for epoch, logs in enumerate(epochs):
        before = get_value(model.optimizer.lr)
        callback.on_epoch_end(epoch, logs)
        assert logs["lr"] == before
        after.append(get_value(model.optimizer.lr))
    np.testing.assert_allclose(after, expected, rtol=1e-6)


def test_a_plateau_has_a_factor_below_one():
    with pytest.raises(ValueError, match="below 1"):
        ReduceLROnPlateau(factor=1.0)
    with pytest.raises(TypeError, match="deltas"):
        ReduceLROnPlateau(deltas=1)
    assert ReduceLROnPlateau(epsilon=0.5).min_delta == 0.5


@pytest.mark.parametrize("schedule", [lambda epoch: 0.5**epoch, lambda epoch, rate: rate * 0.5 if epoch else 1.0])
def test_a_schedule_sets_the_learning_rate_of_each_epoch(mode, schedule, capsys):
    model = _compiled()
    history = model.fit(X, Y, epochs=3, verbose=0, callbacks=[LearningRateScheduler(schedule, verbose=1)])
    assert history.history["lr"] == [1.0, 0.5, 0.25]
    assert get_value(model.optimizer.lr) == 0.25
    assert "Epoch 00003: the learning rate is set to 0.25" in capsys.readouterr().out


def test_a_schedule_must_return_a_float_for_an_optimizer_with_a_rate(mode):
    model = _compiled()
    with pytest.raises(ValueError, match="expected a float"):
        model.fit(X, Y, verbose=0, callbacks=[LearningRateScheduler(lambda epoch: 1)])
    callback = LearningRateScheduler(lambda epoch: 0.1)
    model = _Model()
    model.optimizer = types.SimpleNamespace()
    callback.set_model(model)
    with pytest.raises(ValueError, match='"lr"'):
        callback.on_epoch_begin(0)


def test_the_error_of_a_schedule_is_not_hidden(mode):
    def schedule(epoch, rate):
        raise TypeError("of the schedule")

    with pytest.raises(TypeError, match="of the schedule"):
        _compiled().fit(X, Y, verbose=0, callbacks=[LearningRateScheduler(schedule)])


# -- functions and averages -------------------------------------------------------------------------------------------


def test_functions_are_called_at_the_points_of_a_training(mode):
    calls = []
    points = [f"on_{what}_{when}" for what in ("train", "epoch", "batch", "train_batch") for when in ("begin", "end")]
    callback = LambdaCallback(**{point: lambda *args, point=point: calls.append(point) for point in points})
    _compiled().fit(X, Y, batch_size=8, verbose=0, callbacks=[callback])
    batch = ["on_train_batch_begin", "on_train_batch_end"]  # given, these replace the calls of on_batch_begin
    assert calls == ["on_train_begin", "on_epoch_begin", *batch, "on_epoch_end", "on_train_end"]


def test_averages_are_weighted_by_the_sizes_of_batches():
    callback = BaseLogger(stateful_metrics=["mae"])
    callback.set_params({"metrics": ["loss", "mae", "val_loss"]})
    callback.on_epoch_begin(0)
    callback.on_batch_end(0, {"size": 3, "loss": 1.0, "mae": 1.0})
    callback.on_batch_end(1, {"size": 1, "loss": 5.0, "mae": 2.0})
    logs = {"val_loss": 7.0}
    callback.on_epoch_end(0, logs)
    assert logs == {"loss": 2.0, "mae": 2.0, "val_loss": 7.0}


# -- saving -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, ["f01-3.00", "f02-2.00", "f03-1.00", "f04-2.00", "f05-3.00", "f06-4.00"]),
        ({"save_best_only": True}, ["f01-3.00", "f02-2.00", "f03-1.00"]),
        ({"save_best_only": True, "mode": "max"}, ["f01-3.00", "f06-4.00"]),
        (
            {"save_weights_only": True, "period": 2},
            [f"weights of f{name}" for name in ("02-2.00", "04-2.00", "06-4.00")],
        ),
    ],
)
def test_a_model_is_saved_after_epochs(options, expected):
    callback = ModelCheckpoint("f{epoch:02d}-{val_loss:.2f}", **options)
    assert _run(callback, [{"val_loss": value} for value in SERIES["valley"]]).saved == expected


def test_a_model_is_saved_after_a_number_of_examples():
    model, callback = _Model(), ModelCheckpoint("f{epoch}-{batch}", save_freq=5)
    callback.set_model(model)
    for epoch in range(2):
        callback.on_epoch_begin(epoch)
        for batch in range(4):
            callback.on_train_batch_end(batch, {"batch": batch, "size": 2})
        callback.on_epoch_end(epoch, {})
    assert model.saved == ["f1-2", "f2-1"]


def test_the_best_model_needs_a_measured_quantity(caplog):
    assert _run(ModelCheckpoint("f", save_best_only=True), [{"loss": 1.0}]).saved == []
    assert "'val_loss' was not measured" in caplog.text


def test_arguments_that_a_checkpoint_does_not_know_are_refused():
    with pytest.raises(TypeError, match="periods"):
        ModelCheckpoint("f", periods=2)
    with pytest.raises(ValueError, match="save_freq"):
        ModelCheckpoint("f", save_freq="batch")
    with pytest.raises(KeyError, match="field 'accuracy'"):
        _run(ModelCheckpoint("f{accuracy}"), [{"loss": 1.0}])


def test_saved_weights_are_loaded_when_a_training_starts_again(mode, tmp_path, capsys):
    path = os.fspath(tmp_path / "w{epoch}")
    model = _compiled()
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[ModelCheckpoint(path, save_weights_only=True, verbose=1)])
    assert f"Epoch 00002: saving to {tmp_path / 'w2'}" in capsys.readouterr().out
    for number in (1, 2):  # both may have been written within the resolution of times
        os.utime(tmp_path / f"w{number}.index", (number, number))
    again, started = _compiled(), []
    checkpoint = ModelCheckpoint(path, save_weights_only=True, load_weights_on_restart=True)
    record = LambdaCallback(on_epoch_begin=lambda epoch, logs: started.extend(again.get_weights()))
    again.fit(X, Y, initial_epoch=2, epochs=3, verbose=0, callbacks=[checkpoint, record])
    for value, expected in zip(started, model.get_weights()):
        np.testing.assert_array_equal(value, expected)
    assert (tmp_path / "w3.index").exists()


def test_nothing_is_loaded_if_nothing_was_saved(tmp_path):
    for folder in (tmp_path, tmp_path / "absent"):
        _run(ModelCheckpoint(folder / "w{epoch}.h5", load_weights_on_restart=True), [])


def test_the_weights_of_the_best_epoch_are_saved_as_hdf5(mode, tmp_path):
    pytest.importorskip("h5py")
    model, path = _compiled(), tmp_path / "best.h5"
    checkpoint = ModelCheckpoint(path, monitor="loss", save_best_only=True, save_weights_only=True)
    model.fit(X, Y, epochs=1, verbose=0, callbacks=[checkpoint])
    saved = model.get_weights()
    model.fit(X, -100 * Y, initial_epoch=1, epochs=2, verbose=0, callbacks=[checkpoint])
    model.load_weights(path)
    for value, expected in zip(model.get_weights(), saved):
        np.testing.assert_array_equal(value, expected)


def test_a_saved_model_is_loaded_again(mode, tmp_path):
    pytest.importorskip("h5py")
    model = _compiled()
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[ModelCheckpoint(tmp_path / "m{epoch}.h5")])
    assert sorted(os.listdir(tmp_path)) == ["m1.h5", "m2.h5"]
    loaded = load_model(tmp_path / "m2.h5")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# -- files and servers ------------------------------------------------------------------------------------------------


def test_epochs_are_lines_of_a_csv_file(tmp_path):
    path = tmp_path / "log.csv"
    rows = [
        {"b": 1.5, "a": np.float32(0.1), "v": np.array([1, 2.5]), "s": "x,y", "t": (1, 2), "d": np.array(3.0)},
        {"a": 1, "b": 2, "v": [3, 4], "s": "q", "t": [1], "d": 1},
    ]
    _run(CSVLogger(path), rows)
    first = '0,0.1,1.5,3.0,"x,y","""[1, 2]""","""[1.0, 2.5]"""'
    assert path.read_bytes().decode().split("\r\n") == [
        "epoch,a,b,d,s,t,v",
        first,
        '1,1,2,1,q,"""[1]""","""[3, 4]"""',
        "",
    ]


def test_a_csv_file_is_continued_without_a_second_header(tmp_path):
    path = tmp_path / "log.csv"
    for _ in range(2):
        _run(CSVLogger(path, separator=";", append=True), [{"loss": 1.5}])
    assert path.read_text().split() == ["epoch;loss", "0;1.5", "0;1.5"]
    _run(CSVLogger(path), [{"loss": 2}])
    assert path.read_text().split() == ["epoch,loss", "0,2"]


def test_what_an_epoch_did_not_measure_is_not_available_in_the_csv_file(tmp_path):
    path = tmp_path / "log.csv"
    _run(CSVLogger(path), [{"loss": 1.5}, {"loss": 0.1, "val_loss": 4}, {"loss": 3}], do_validation=True)
    assert path.read_text().split() == ["epoch,loss,val_loss", "0,1.5,NA", "1,0.1,4", "2,3,NA"]


@pytest.fixture
def requests(monkeypatch):
    """A stand-in for the package of this name, which keeps what is sent."""

    class RequestException(Exception):
        pass

    def post(url, headers, **content):
        if "absent" in url:
            raise RequestException("no answer")
        package.sent.append((url, headers, content))

    package = types.SimpleNamespace(
        sent=[], post=post, exceptions=types.SimpleNamespace(RequestException=RequestException)
    )
    monkeypatch.setitem(sys.modules, "requests", package)
    return package


def test_epochs_are_sent_to_a_server(requests, caplog):
    logs = {"loss": np.float32(0.5), "all": np.array([1, 2])}
    values = {"epoch": 0, "loss": 0.5, "all": [1, 2]}
    _run(RemoteMonitor("http://here", "/to", field="values"), [logs])
    _run(RemoteMonitor("http://here", headers={"a": "b"}, send_as_json=True), [logs])
    (first, _, form), second = requests.sent
    assert first == "http://here/to"
    assert json.loads(form["data"]["values"]) == values
    assert second == ("http://here/publish/epoch/end/", {"a": "b"}, {"json": values})
    _run(RemoteMonitor("http://absent"), [logs])
    assert "nothing was sent to http://absent: no answer" in caplog.text


def test_sending_needs_a_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(ImportError, match="pip install requests"):
        RemoteMonitor()


# -- TensorBoard ------------------------------------------------------------------------------------------------------


def _events(folder):
    paths = sorted(path for path in folder.iterdir() if path.name.startswith("events"))
    return [event for path in paths for event in tf.train.summary_iterator(os.fspath(path))]


def _values(folder, kind):
    """Returns the steps and tags of the summaries of a kind in a folder's event files."""
    values = [(event.step, value) for event in _events(folder) for value in event.summary.value]
    return [(step, value.tag) for step, value in values if value.WhichOneof("value") == kind]


def _tags(step, prefix, *names):
    return [(step, f"{prefix}_{name}") for name in names]


def test_what_is_measured_is_written_after_epochs(mode, tmp_path):
    board = TensorBoard(tmp_path)
    history = _compiled().fit(X, Y, epochs=2, verbose=0, validation_data=(X, Y), callbacks=[board]).history
    names = ("loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error")
    assert _values(tmp_path, "simple_value") == [*_tags(0, "epoch", *names), *_tags(1, "epoch", *names)]
    losses = [value.simple_value for event in _events(tmp_path) for value in event.summary.value[2:3]]
    np.testing.assert_allclose(losses, history["val_loss"], rtol=1e-6)


@pytest.mark.parametrize("frequency, batches", [("batch", [[0, 1, 2, 3], [4, 5, 6, 7]]), (4, [[1, 3], [5, 7]])])
def test_what_is_measured_is_written_after_a_number_of_examples(mode, tmp_path, frequency, batches):
    board = TensorBoard(tmp_path, update_freq=frequency)
    _compiled(metrics=()).fit(X, Y, batch_size=2, epochs=2, verbose=0, callbacks=[board])
    expected = [
        value
        for epoch, steps in enumerate(batches)
        for value in [*((step, "batch_loss") for step in steps), (8 * (epoch + 1), "epoch_loss")]
    ]
    assert _values(tmp_path, "simple_value") == expected


@pytest.mark.parametrize("write_graph", [True, False])
def test_the_graph_of_the_model_is_written(mode, tmp_path, write_graph):
    _compiled().fit(X, Y, epochs=2, verbose=0, callbacks=[TensorBoard(tmp_path, write_graph=write_graph)])
    graphs = [event.graph_def for event in _events(tmp_path) if event.WhichOneof("what") == "graph_def"]
    assert len(graphs) == write_graph
    if write_graph:
        graph = tf.GraphDef.FromString(graphs[0])
        assert any(node.name.startswith("d/") and node.op == "MatMul" for node in graph.node)


def test_histograms_of_a_graph_are_written_with_the_batches_of_the_validation(tmp_path):
    board = TensorBoard(tmp_path, histogram_freq=2, write_images=True, write_grads=True)
    model = _compiled()
    tf.summary.scalar("own", tf.constant(7.0))
    model.fit(X, Y, batch_size=4, epochs=3, verbose=0, validation_data=(X, Y), callbacks=[board])
    tags = ["d/kernel_0", "d/bias_0", "d/kernel_0_grad", "d/bias_0_grad", "d_out"]
    tags += [tag.replace("d", "e", 1) for tag in tags]
    images = ["d/kernel_0_1/image/0", "d/bias_0_1/image/0", "e/kernel_0_1/image/0"]
    assert _values(tmp_path, "histo") == [(step, tag) for step in range(4) for tag in tags]
    assert _values(tmp_path, "image") == [(step, tag) for step in range(4) for tag in images]
    assert [value for value in _values(tmp_path, "simple_value") if value[1] == "own"] == [(n, "own") for n in range(4)]
    pictures = [value.image for event in _events(tmp_path) for value in event.summary.value if value.HasField("image")]
    assert [(picture.height, picture.width) for picture in pictures[:3]] == [(2, 3), (2, 1), (2, 1)]


def test_histograms_of_gradients_are_those_of_the_loss(tmp_path):
    model = Sequential([Dense(1, use_bias=False, kernel_initializer="ones", input_shape=(2,), name="d")])
    model.compile("sgd", "mse")
    x, y = np.array([[1.0, 2.0]]), np.array([[0.0]])
    quiet = LearningRateScheduler(lambda epoch: 0.0)
    board = TensorBoard(tmp_path, histogram_freq=1, write_grads=True)
    model.fit(x, y, verbose=0, validation_data=(x, y), callbacks=[quiet, board])
    found = {value.tag: value.histo for event in _events(tmp_path) for value in event.summary.value}
    assert (found["d/kernel_0_grad"].min, found["d/kernel_0_grad"].max) == (6, 12)
    assert (found["d_out"].min, found["d_out"].num) == (3, 1)


def test_the_steps_of_a_model_are_left_as_they_were(tmp_path):
    model = _compiled()
    board = TensorBoard(tmp_path, histogram_freq=1)
    model.fit(X, Y, verbose=0, validation_data=(X, Y), callbacks=[board])
    written = len(_events(tmp_path))
    model.evaluate(X, Y, verbose=0)
    assert "test" not in vars(model.compiled_steps)
    assert len(_events(tmp_path)) == written


def test_histograms_of_weights_are_written_eagerly(eagerly, tmp_path):
    board = TensorBoard(tmp_path, histogram_freq=2, write_images=True)
    _compiled().fit(X, Y, epochs=3, verbose=0, callbacks=[board])
    tags = ["d/kernel_0", "d/bias_0", "e/kernel_0", "e/bias_0"]
    assert _values(tmp_path, "histo") == [(epoch, tag) for epoch in (0, 2) for tag in tags]
    images = [f"{tag}/image/0" for tag in tags[:3]]
    assert _values(tmp_path, "image") == [(epoch, tag) for epoch in (0, 2) for tag in images]


def test_outputs_of_layers_are_written_for_the_projector(mode, tmp_path):
    model = _compiled()
    data = np.arange(15, dtype=np.float32).reshape(5, 3)
    board = TensorBoard(
        tmp_path,
        embeddings_freq=1,
        embeddings_layer_names=["d"],
        embeddings_data=data,
        embeddings_metadata={"d": "rows.tsv"},
        batch_size=2,
    )
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[board])
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.split() == ["embeddings", "{", "tensor_name:", '"d_embedding:0"', "metadata_path:", '"rows.tsv"', "}"]
    latest = tf.train.latest_checkpoint(os.fspath(tmp_path))
    assert os.path.basename(latest) == "keras_embedding.ckpt-1"
    kernel, bias = model.get_weights()[:2]
    found = tf.train.load_variable(latest, "d_embedding")
    np.testing.assert_allclose(found, data @ kernel + bias, rtol=1e-5, atol=1e-5)


def test_a_subclass_may_add_values(mode, tmp_path):
    class WithRate(TensorBoard):
        def on_epoch_end(self, epoch, logs=None):
            logs["rate"] = get_value(self.model.optimizer.lr)
            self.writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="mine", simple_value=3.0)]), epoch)
            super().on_epoch_end(epoch, logs)

    _compiled(metrics=()).fit(X, Y, verbose=0, callbacks=[WithRate(tmp_path)])
    assert _values(tmp_path, "simple_value") == [(0, "mine"), (0, "epoch_loss"), (0, "epoch_rate")]


def test_each_training_has_an_event_file(mode, tmp_path):
    model, board = _compiled(metrics=()), TensorBoard(tmp_path)
    for epoch in range(2):
        model.fit(X, Y, initial_epoch=epoch, epochs=epoch + 1, verbose=0, callbacks=[board])
    assert len(list(tmp_path.iterdir())) == 2
    assert sorted(_values(tmp_path, "simple_value")) == [(0, "epoch_loss"), (1, "epoch_loss")]
