"""Weight layout: filters have the accelerator's preferred memory format, without any visible difference."""

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.runtime.compile import clusters, lowering
from thalweg._src.runtime.resources.accelerators import Accelerator


@pytest.fixture(autouse=True)
def laid(register):
    register(Accelerator("LAID", torch_type="cpu", count=lambda: 1))


OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "rms": lambda: tf.train.RMSPropOptimizer(0.1),
}


class Model:
    """A trainable convolution on one device."""

    def __init__(self, device, optimizer, data_format="NHWC", config=None):
        rng = np.random.default_rng(1)
        self.images = rng.standard_normal((2, 6, 5, 3)).astype(np.float32)
        with tf.Graph().as_default() as graph, tf.device(f"/device:{device}:0"):
            self.filter = tf.Variable(rng.standard_normal((3, 2, 3, 4)).astype(np.float32), use_resource=True)
            self.x = tf.placeholder(tf.float32, [2, 6, 5, 3])
            x = self.x if data_format == "NHWC" else tf.transpose(self.x, [0, 3, 1, 2])
            y = tf.nn.conv2d(x, self.filter, strides=1, padding="SAME", data_format=data_format)
            bias = tf.Variable([0.5, -0.5, 0.0, 0.25], use_resource=True)
            y = tf.nn.relu(tf.nn.bias_add(y, bias, data_format=data_format))
            self.y = tf.nn.max_pool(y, 3, 2, "SAME", data_format=data_format)
            self.loss = tf.reduce_mean(tf.square(self.y))
            self.optimizer = optimizer()
            self.step = self.optimizer.minimize(self.loss)
            self.value = tf.placeholder(tf.float32, [3, 2, 3, 4])
            self.assign = self.filter.assign(self.value).op
            initializer = tf.global_variables_initializer()
        with graph.as_default():
            self.saver = tf.train.Saver()
        self.session = tf.Session(graph=graph, config=config)
        self.session.run(initializer)

    def train(self, steps=3):
        for _ in range(steps):
            self.session.run(self.step, {self.x: self.images})
        return self.session.run(self.filter)

    def variables(self):
        """Returns the filter and its slots as the session holds them."""
        found = [
            resource for (kind, _), resource in self.session._backend._resources._default.items() if kind == "variable"
        ]
        return [variable for variable in found if variable.value is not None and variable.value.dim() == 4]

    def strides(self):
        return {variable.value.stride() for variable in self.variables()}


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_training_results_are_unchanged(optimizer, data_format):
    plain, laid = Model("CPU", optimizer), Model("LAID", optimizer, data_format)
    result = laid.train()
    np.testing.assert_allclose(result, plain.train(), rtol=1e-4, atol=1e-5)
    assert result.flags.c_contiguous
    order = {"NHWC": (6, 3, 1, 18), "NCHW": (2, 1, 6, 18)}[data_format]
    assert laid.strides() == {order}
    assert plain.strides() == {(24, 12, 4, 1)}


def test_new_values_get_the_same_layout(tmp_path):
    model = Model("LAID", OPTIMIZERS["momentum"])
    before = model.train()
    path = model.saver.save(model.session, str(tmp_path / "model"))
    model.session.run(model.assign, {model.value: np.asfortranarray(before * 2)})
    np.testing.assert_array_equal(model.session.run(model.filter), before * 2)
    assert model.strides() == {(6, 3, 1, 18)}
    model.saver.restore(model.session, path)
    np.testing.assert_array_equal(model.session.run(model.filter), before)
    assert model.strides() == {(6, 3, 1, 18)}
    other = Model("CPU", OPTIMIZERS["momentum"])
    other.saver.restore(other.session, path)
    np.testing.assert_array_equal(other.session.run(other.filter), before)


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_pinned_layouts_do_not_change(optimizer):
    """A slot whose layout a compiled step depends on may differ from its filter's; updates handle that."""
    plain, laid = Model("CPU", OPTIMIZERS[optimizer]), Model("LAID", OPTIMIZERS[optimizer])
    slot = laid.optimizer.get_slot(laid.filter, laid.optimizer.get_slot_names()[0])
    laid.session.run(slot)
    for variable in laid.variables():
        variable.layout_pinned = variable.name == slot.op.name
    np.testing.assert_allclose(laid.train(), plain.train(), rtol=1e-4, atol=1e-5)
    assert laid.strides() == {(24, 12, 4, 1), (6, 3, 1, 18)}


def test_fed_gradients_are_applied():
    """The step that applies them has no convolution that determines the layout of the slots."""
    plain, laid = (Model(device, OPTIMIZERS["momentum"]) for device in ("CPU", "LAID"))
    gradient = np.random.default_rng(2).standard_normal((3, 2, 3, 4)).astype(np.float32)
    results = []
    for model in (plain, laid):
        model.session.run(model.y, {model.x: model.images})
        with model.session.graph.as_default():
            fed = tf.placeholder(tf.float32, [3, 2, 3, 4])
            apply = model.optimizer.apply_gradients([(fed, model.filter)])
        for _ in range(3):
            model.session.run(apply, {fed: gradient})
        results.append(model.session.run(model.filter))
    np.testing.assert_allclose(*results, rtol=1e-5)
    assert laid.strides() == {(6, 3, 1, 18)}


def test_slices_of_a_filter_can_be_assigned():
    """Rows and slices are addressed correctly in any layout."""
    results = []
    for model in (Model(device, OPTIMIZERS["descent"]) for device in ("CPU", "LAID")):
        model.train()
        with model.session.graph.as_default():
            changes = [
                tf.scatter_nd_update(model.filter, [[0, 1], [2, 0]], np.ones((2, 3, 4), np.float32)),
                tf.scatter_nd_add(model.filter, [[0, 0, 2, 3]], [0.5]),
                tf.scatter_update(model.filter, [1], np.full((1, 2, 3, 4), 2, np.float32)),
                tf.scatter_mul(model.filter, [2, 2], np.full((2, 2, 3, 4), 3, np.float32)),
                model.filter[:, 1, ::2].assign(np.zeros((3, 2, 4), np.float32)),
            ]
        for change in changes:
            model.session.run(change)
        results.append(model.session.run(model.filter))
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_assigned_arrays_are_stored_in_the_variables_layout():
    model = Model("CPU", OPTIMIZERS["descent"])
    value = np.asfortranarray(np.arange(72, dtype=np.float32).reshape(3, 2, 3, 4))
    model.session.run(model.assign, {model.value: value})
    np.testing.assert_array_equal(model.session.run(model.filter), value)
    assert model.strides() == {(24, 12, 4, 1)}


def test_compiled_steps_use_the_filters_layout(monkeypatch):
    """Compiling the initializer must not pin the layout."""
    requests = []

    def library(request):
        requests.append(request)
        with torch.inference_mode(False), torch.no_grad():
            graph, _ = lowering.traced(request)
        return lambda values: graph(*values)

    monkeypatch.setattr(clusters, "find", lambda request: None)
    monkeypatch.setattr(clusters.FOREGROUND, "wait_for", library)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    plain, laid = (Model(device, OPTIMIZERS["momentum"], config=c) for device, c in (("CPU", None), ("LAID", config)))
    np.testing.assert_allclose(laid.train(), plain.train(), rtol=1e-4, atol=1e-5)
    assert laid.strides() == {(6, 3, 1, 18)}
    assert [layout[1] for layout in requests[-1].layouts if len(layout[0]) == 4].count((6, 3, 1, 18)) == 2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("is_static", [False, True])
def test_on_the_host_a_static_graph_has_them_too(is_static, optimizer):
    config = tf.ConfigProto()
    config.experimental.optimize_for_static_graph = is_static
    model, plain = (Model("CPU", OPTIMIZERS[optimizer], config=each) for each in (config, None))
    outputs = [each.session.run(each.y, {each.x: each.images}) for each in (model, plain)]
    np.testing.assert_allclose(*outputs, rtol=1e-5, atol=1e-6)
    assert (model.variables()[0].memory_format is not None) == is_static
    np.testing.assert_allclose(model.train(), plain.train(), rtol=1e-5, atol=1e-6)
