"""The optimizers of Keras: numbers of the real library, variables, configurations, checkpoints."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES
from tests.training.distribute.programs import assert_equal, mirrored, one_device, train
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.values import get_value
from thalweg._src.keras.optimizers import lookup, moments, optimizers, schedules
from thalweg._src.keras.optimizers.optimizer import Optimizer
from thalweg._src.keras.optimizers.wrapping import TFOptimizer
from thalweg._src.runtime.eager.mode import eager_mode

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_optimizers.json.gz"
RECORDED = json.loads(gzip.decompress(FIXTURE.read_bytes()))
START = np.array(RECORDED["start"], np.float32)
DENSE = [np.array(each, np.float32) for each in RECORDED["dense"]]
ROWS = [np.array(each, np.float32) for each in RECORDED["rows"]]
CLOSE = {"rtol": 2e-5, "atol": 2e-6}
EVERY = {f"{case['class']}-{number}": case for number, case in enumerate(RECORDED["cases"])}
CLIPPED = [key for key, case in EVERY.items() if "clipnorm" in case["config"] or "clipvalue" in case["config"]]


@pytest.fixture(autouse=True)
def session_ends():
    """Ends the session of Keras that a test has used."""
    yield
    if state._state.session is not None:
        state._state.session.close()
        state._state.session = None


@pytest.fixture
def resources():
    with tf.variable_scope(tf.get_variable_scope(), use_resource=True):
        yield


def _made(case):
    config = dict(case["config"])
    if isinstance(config.get("learning_rate"), dict):
        config["learning_rate"] = schedules.deserialize(config["learning_rate"])
    return getattr(moments if hasattr(moments, case["class"]) else optimizers, case["class"])(**config)


def _variable(value=START, **options):
    return tf.Variable(value, use_resource=True, **options)


def _given(kind):
    """Returns the gradients of five steps as arrays: the dense ones, or the values and the indices of some rows."""
    return [(each,) for each in DENSE] if kind == "dense" else list(zip(ROWS, RECORDED["indices"]))


def _gradient(values, indices=None):
    return values if indices is None else tf.IndexedSlices(values, tf.cast(indices, tf.int64))


def _run(mode, optimizer, variable, arrays):
    """Runs five steps; yields after each of them, in whose context values can be read."""
    if mode == "graph":
        fed = [tf.placeholder(np.asarray(each).dtype, np.shape(each)) for each in arrays[0]]
        step = optimizer.apply_gradients([(_gradient(*fed), variable)])
        for given in arrays:
            state.get_session().run(step, dict(zip(fed, given)))
            yield
        return

    def apply(*given):
        optimizer.apply_gradients([(_gradient(*given), variable)])

    traced = tf.function(apply) if mode == "function" else apply
    for given in arrays:
        traced(*map(tf.constant, given))
        yield


def _values_after_steps(mode, make, kind):
    """Returns the values of a variable after each step, and those of the weights of the optimizer at the end."""
    optimizer, variable = make(), _variable()
    state.track_variable(variable)
    values = [get_value(variable) for _ in _run(mode, optimizer, variable, _given(kind))]
    return values, optimizer.get_weights(), [weight.name for weight in optimizer.weights]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [key for key in EVERY if key not in CLIPPED])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_five_steps_equal_those_of_the_real_library(case, kind, mode):
    expected = EVERY[case][kind]
    if mode == "graph":
        values, weights, names = _values_after_steps(mode, lambda: _made(EVERY[case]), kind)
    else:
        with eager_mode():
            values, weights, names = _values_after_steps(mode, lambda: _made(EVERY[case]), kind)
    for value, wanted in zip(values, expected["values"], strict=True):
        np.testing.assert_allclose(value, wanted, **CLOSE)
    for weight, wanted in zip(weights, expected["weights"], strict=True):
        np.testing.assert_allclose(weight, wanted, **CLOSE)
    assert [name.rsplit("/", 1)[1] for name in names] == [name.rsplit("/", 1)[-1] for name in expected["names"]]


@pytest.mark.parametrize("case", CLIPPED)
@pytest.mark.parametrize("mode", MODES)
def test_minimize_clips_gradients_as_the_real_library_does(case, mode):
    expected, values = EVERY[case]["dense"]["values"], []

    def minimize(optimizer, variable, factor):
        return optimizer.minimize(lambda: tf.reduce_sum(variable * factor), [variable])

    if mode == "graph":
        optimizer, variable, factor = _made(EVERY[case]), _variable(), tf.placeholder(tf.float32, START.shape)
        state.track_variable(variable)
        step = minimize(optimizer, variable, factor)
        for gradient in DENSE:
            state.get_session().run(step, {factor: gradient})
            values.append(get_value(variable))
    else:
        with eager_mode():
            optimizer, variable = _made(EVERY[case]), _variable()

            def apply(factor):
                minimize(optimizer, variable, factor)

            traced = tf.function(apply) if mode == "function" else apply
            for gradient in DENSE:
                traced(tf.constant(gradient))
                values.append(variable.numpy())
    np.testing.assert_allclose(values, expected, **CLOSE)


def test_get_updates_clips_gradients_and_returns_one_operation():
    optimizer, variable = optimizers.SGD(1.0, clipvalue=0.5), _variable([1.0, 2.0])
    state.track_variable(variable)
    updates = optimizer.get_updates(tf.reduce_sum(variable * [3.0, 0.25]), [variable])
    assert [type(update) for update in updates] == [tf.Operation]
    state.get_session().run(updates)
    np.testing.assert_allclose(get_value(variable), [0.5, 1.75])


def test_get_updates_refuses_a_variable_without_a_gradient():
    variable = _variable([1.0])
    with pytest.raises(ValueError, match="has `None` for gradient"):
        optimizers.SGD().get_updates(tf.constant(1.0), [variable])


def test_a_sparse_gradient_is_clipped_by_its_rows(eager):
    optimizer, variable = optimizers.SGD(1.0, clipvalue=0.5), tf.Variable([[1.0], [2.0]])
    optimizer.minimize(lambda: tf.reduce_sum(3.0 * tf.gather(variable, [1])), [variable])
    np.testing.assert_allclose(variable.numpy(), [[1.0], [1.5]])


# -- variables and hyperparameters ------------------------------------------------------------------------------------


def test_variables_have_the_names_of_the_real_library(resources):
    kernel = tf.Variable([1.0, 2.0], name="dense/kernel")
    optimizer = moments.Adam()
    step = optimizer.apply_gradients([(tf.constant([0.1, 0.1]), kernel)])
    assert step.name == "Adam/Adam/AssignAddVariableOp"
    assert [v.name for v in tf.global_variables()] == [
        "dense/kernel:0",
        "Adam/iter:0",
        "Adam/beta_1:0",
        "Adam/beta_2:0",
        "Adam/decay:0",
        "Adam/learning_rate:0",
        "Adam/dense/kernel/m:0",
        "Adam/dense/kernel/v:0",
    ]
    assert [v.name for v in optimizer.weights] == [
        "Adam/iter:0",
        "Adam/dense/kernel/m:0",
        "Adam/dense/kernel/v:0",
    ]
    assert [v.name for v in tf.trainable_variables()] == ["dense/kernel:0"]
    assert "Adam/Adam/update_dense/kernel/ResourceApplyAdam" in [op.name for op in step.graph.get_operations()]


@pytest.mark.parametrize("traced", [False, True])
def test_variables_of_eager_execution_have_the_same_names(fresh, traced):
    kernel, optimizer = tf.Variable([1.0, 2.0], name="dense/kernel"), optimizers.RMSprop(momentum=0.1, centered=True)

    def step():
        optimizer.apply_gradients([(tf.constant([0.1, 0.1]), kernel)])

    (tf.function(step) if traced else step)()
    slots = [f"RMSprop/dense/kernel/{name}:0" for name in ("rms", "momentum", "mg")]
    assert [v.name for v in optimizer.variables()] == ["RMSprop/iter:0", *slots]
    assert optimizer.lr.name == "RMSprop/learning_rate:0"
    assert optimizer.get_slot_names() == ["rms", "momentum", "mg"]
    assert optimizer.get_slot(kernel, "mg") is optimizer.weights[-1]
    with pytest.raises(KeyError):
        optimizer.get_slot(kernel, "m")


def test_a_new_learning_rate_counts_from_the_next_step_of_a_session():
    variable, optimizer = _variable([1.0]), optimizers.SGD(0.5)
    state.track_variable(variable)
    step = optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    state.get_session().run(step)
    optimizer.lr = 0.25
    state.get_session().run(step)
    np.testing.assert_allclose(get_value(variable), [0.25])
    assert get_value(optimizer.learning_rate) == 0.25


@pytest.mark.parametrize("traced", [False, True])
def test_a_new_learning_rate_counts_from_the_next_eager_step(eager, traced):
    variable, optimizer = tf.Variable([1.0]), optimizers.SGD(0.5, momentum=0.5)

    def step():
        optimizer.apply_gradients([(tf.constant([1.0]), variable)])

    step = tf.function(step) if traced else step
    step()
    rate = optimizer.lr
    optimizer.learning_rate = 0.25
    optimizer.momentum = 0.0
    step()
    assert optimizer.lr is rate
    np.testing.assert_allclose(variable.numpy(), [0.25])
    assert optimizer.iterations.numpy() == 2


def test_a_variable_of_the_program_is_the_learning_rate_itself(eager):
    rate, variable = tf.Variable(0.5), tf.Variable([1.0])
    optimizer = optimizers.SGD(rate)
    optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    rate.assign(0.0)
    optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    assert optimizer.lr is rate
    np.testing.assert_allclose(variable.numpy(), [0.5])


def test_a_function_and_a_schedule_stay_what_they_are(eager):
    variable, rates = tf.Variable([1.0]), iter([0.5, 0.25])
    optimizer = optimizers.SGD(lambda: next(rates))
    for expected in ([0.5], [0.25]):
        optimizer.apply_gradients([(tf.constant([1.0]), variable)])
        np.testing.assert_allclose(variable.numpy(), expected)
    schedule = schedules.PiecewiseConstantDecay([0], [0.25, 0.0])
    optimizer.lr = schedule
    assert optimizer.lr is schedule
    optimizer.iterations.assign(0)
    optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    np.testing.assert_allclose(variable.numpy(), [0.0])
    optimizer.lr = 0.5
    optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    np.testing.assert_allclose(variable.numpy(), [-0.5])
    assert optimizer.lr.numpy() == 0.5


def test_the_number_of_steps_can_be_a_variable_of_the_program(eager):
    optimizer, steps, variable = optimizers.SGD(1.0, decay=1.0), tf.Variable(3, dtype=tf.int64), tf.Variable([1.0])
    optimizer.iterations = steps
    optimizer.apply_gradients([(tf.constant([1.0]), variable)])
    np.testing.assert_allclose(variable.numpy(), [0.75])
    assert steps.numpy() == 4
    with pytest.raises(RuntimeError, match="Cannot set `iterations`"):
        optimizer.iterations = tf.Variable(0, dtype=tf.int64)


def test_variables_of_another_type_are_updated_in_their_type(eager):
    variable, optimizer = tf.Variable([1.0], dtype=tf.float64), moments.Adam(0.5)
    other = tf.Variable([1.0])
    optimizer.apply_gradients([(tf.constant([2.0], tf.float64), variable), (tf.constant([2.0]), other)])
    assert optimizer.get_slot(variable, "m").dtype == tf.float64
    np.testing.assert_allclose(variable.numpy(), [0.5], rtol=1e-5)
    np.testing.assert_allclose(other.numpy(), [0.5], rtol=1e-5)


def test_a_constraint_follows_a_dense_update():
    variable = _variable([1.0, 3.0], constraint=lambda value: tf.minimum(value, 2.0))
    state.track_variable(variable)
    step = moments.Adam(0.5).apply_gradients([(tf.constant([1.0, 1.0]), variable)])
    state.get_session().run(step)
    np.testing.assert_allclose(get_value(variable), [0.5, 2.0], rtol=1e-5)


def test_a_constraint_follows_an_eager_update_and_refuses_sparse_gradients(eager):
    variable = tf.Variable([[1.0], [3.0]], constraint=lambda value: tf.minimum(value, 2.0))
    optimizers.SGD(0.5).apply_gradients([(tf.constant([[1.0], [1.0]]), variable)])
    np.testing.assert_allclose(variable.numpy(), [[0.5], [2.0]])
    with pytest.raises(RuntimeError, match="has a constraint"):
        optimizers.SGD().apply_gradients([(tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0])), variable)])


# -- weights, configurations, checkpoints -----------------------------------------------------------------------------


def _steps(optimizer, variable, gradients):
    for gradient in gradients:
        optimizer.apply_gradients([(tf.constant(gradient), variable)])


@pytest.mark.parametrize("case", EVERY)
def test_weights_and_a_configuration_resume_training_exactly(eager, case):
    first, variable = _made(EVERY[case]), tf.Variable(START)
    _steps(first, variable, DENSE[:3])
    config = lookup.serialize(first)
    assert config["class_name"] == EVERY[case]["class"]
    second, copy = lookup.deserialize(config), tf.Variable(variable.numpy())
    assert lookup.serialize(second)["config"] == config["config"]
    second._create_all([copy])
    second.set_weights(first.get_weights())
    _steps(first, variable, DENSE[3:])
    _steps(second, copy, DENSE[3:])
    np.testing.assert_array_equal(copy.numpy(), variable.numpy())
    assert second.iterations.numpy() == 5


def test_weights_of_a_session_are_read_and_set():
    optimizer, variable = moments.Adam(), _variable([1.0, 2.0])
    state.track_variable(variable)
    step = optimizer.apply_gradients([(tf.constant([1.0, 1.0]), variable)])
    state.get_session().run(step)
    steps, m, v = optimizer.get_weights()
    assert steps == 1
    np.testing.assert_allclose(m, [0.1, 0.1], rtol=1e-6)
    optimizer.set_weights([np.array(7), m * 2, v])
    np.testing.assert_allclose(optimizer.get_weights()[1], [0.2, 0.2], rtol=1e-6)
    assert get_value(optimizer.iterations) == 7
    assert optimizer.get_config()["beta_2"] == np.float32(0.999)


def test_set_weights_refuses_other_numbers_and_shapes(eager):
    optimizer, variable = moments.Adam(), tf.Variable([1.0, 2.0])
    _steps(optimizer, variable, [[1.0, 1.0]])
    with pytest.raises(ValueError, match="expecting 3 weights"):
        optimizer.set_weights([np.array(1)])
    with pytest.raises(ValueError, match="not compatible"):
        optimizer.set_weights([np.array(1), np.zeros(3), np.zeros(2)])


def test_old_files_of_weights_are_understood(eager):
    adam, rms, variable = moments.Adam(), optimizers.RMSprop(), tf.Variable([1.0])
    for optimizer in (adam, rms):
        _steps(optimizer, variable, [[1.0]])
    adam.set_weights([np.array(4), [0.5], [0.25], [0.125]])
    np.testing.assert_allclose([np.sum(each) for each in adam.get_weights()], [4, 0.5, 0.25])
    rms.set_weights([[0.5]])
    np.testing.assert_allclose([np.sum(each) for each in rms.get_weights()], [0, 0.5])


def test_configurations_have_the_arguments_of_the_real_library():
    assert moments.Adam(clipnorm=1.0).get_config() == {
        **{"name": "Adam", "clipnorm": 1.0, "learning_rate": 0.001, "decay": 0.0},
        **{"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-07, "amsgrad": False},
    }
    assert moments.Nadam().get_config()["decay"] == 0.004
    assert optimizers.SGD().get_config() == {
        **{"name": "SGD", "learning_rate": 0.01, "decay": 0.0, "momentum": 0.0, "nesterov": False}
    }
    assert optimizers.SGD.from_config({"lr": 0.3}).get_config()["learning_rate"] == 0.3
    assert lookup.get("adagrad").get_config()["initial_accumulator_value"] == 0.1


@pytest.mark.parametrize("kind", [moments.Adam, moments.Nadam, optimizers.Ftrl, lambda: optimizers.SGD(momentum=0.9)])
def test_a_checkpoint_resumes_training_exactly(eager, tmp_path, kind):
    first, variable = kind(), tf.Variable(START)
    _steps(first, variable, DENSE[:2])
    first.lr = 0.125
    path = tf.train.Checkpoint(optimizer=first, var=variable).save(str(tmp_path / "model"))
    second, copy = kind(), tf.Variable(np.zeros_like(START))
    status = tf.train.Checkpoint(optimizer=second, var=copy).restore(path)  # the variables are created later
    _steps(first, variable, DENSE[2:])
    _steps(second, copy, DENSE[2:])
    status.assert_consumed()
    assert second.lr.numpy() == 0.125
    np.testing.assert_array_equal(copy.numpy(), variable.numpy())
    for one, other in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_checkpoint_has_the_keys_of_the_real_library(eager, tmp_path):
    optimizer, variable = moments.Adam(), tf.Variable([1.0])
    _steps(optimizer, variable, [[1.0]])
    path = tf.train.Checkpoint(optimizer=optimizer, var=variable).write(str(tmp_path / "model"))
    keys = {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(path)}
    own = {f"optimizer/{name}" for name in ("beta_1", "beta_2", "decay", "iter", "learning_rate")}
    slots = {"var/.OPTIMIZER_SLOT/optimizer/m", "var/.OPTIMIZER_SLOT/optimizer/v"}
    assert keys == {"_CHECKPOINTABLE_OBJECT_GRAPH", "var", *own, *slots}


def test_a_checkpoint_of_a_session_resumes_training(tmp_path):
    def built():
        optimizer, variable = moments.Adam(0.1), _variable([1.0, 2.0])
        step = optimizer.apply_gradients([(tf.constant([1.0, 0.5]), variable)])
        return optimizer, variable, step, tf.train.Checkpoint(optimizer=optimizer, var=variable)

    _, variable, step, checkpoint = built()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = checkpoint.save(str(tmp_path / "model"))
        session.run(step)
        expected = session.run(variable)
    with tf.Graph().as_default(), tf.Session() as session:
        optimizer, variable, step, checkpoint = built()
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        session.run(step)
        np.testing.assert_array_equal(session.run(variable), expected)
        assert session.run(optimizer.iterations) == 2


# -- lookup, wrapped optimizers, errors -------------------------------------------------------------------------------


def test_optimizers_are_found_by_name_and_configuration():
    adam = moments.Adam()
    assert lookup.get(adam) is adam
    assert type(lookup.get("RMSprop")) is type(lookup.get("rmsprop")) is optimizers.RMSprop
    found = lookup.get({"class_name": "Ftrl", "config": {"learning_rate": 0.5}})
    assert found.get_config()["learning_rate"] == 0.5

    class Mine(optimizers.SGD):
        pass

    assert type(lookup.deserialize(lookup.serialize(Mine(0.5)), {"Mine": Mine})) is Mine
    with pytest.raises(ValueError, match="Could not interpret optimizer identifier"):
        lookup.get(3)
    with pytest.raises(ValueError, match="Unknown optimizer"):
        lookup.get("gradient")


def test_an_optimizer_of_tf_train_works_for_keras():
    wrapped, variable = lookup.get(tf.train.MomentumOptimizer(0.5, 0.5)), _variable([1.0])
    assert type(wrapped) is TFOptimizer
    assert lookup.get(wrapped) is wrapped
    state.track_variable(variable)
    updates = wrapped.get_updates(tf.reduce_sum(2.0 * variable), [variable])
    for _ in range(2):
        state.get_session().run(updates)
    np.testing.assert_allclose(get_value(variable), [-1.5])
    steps, momentum = wrapped.get_weights()
    assert steps == 2
    np.testing.assert_allclose(momentum, [3.0])
    wrapped.set_weights([np.array(5), [1.0]])
    assert get_value(wrapped.iterations) == 5


def test_a_wrapped_optimizer_runs_eagerly_and_in_checkpoints(eager, tmp_path):
    wrapped, variable = lookup.get(tf.train.MomentumOptimizer(0.5, 0.5)), tf.Variable([1.0])
    wrapped.minimize(lambda: tf.reduce_sum(2.0 * variable), [variable])
    path = tf.train.Checkpoint(optimizer=wrapped, var=variable).write(str(tmp_path / "model"))
    wrapped.apply_gradients([(tf.constant([2.0]), variable)])
    np.testing.assert_allclose(variable.numpy(), [-1.5])
    tf.train.Checkpoint(optimizer=wrapped, var=variable).read(path).assert_consumed()
    wrapped.apply_gradients([(tf.constant([2.0]), variable)])
    np.testing.assert_allclose(variable.numpy(), [-1.5])
    assert wrapped.iterations.numpy() == 2


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: moments.Adam(rate=1), TypeError, "Unexpected keyword argument"),
        (lambda: moments.Adam(clipnorm=-1.0), ValueError, "Expected clipnorm >= 0"),
        (lambda: moments.Adam(decay=-1.0), ValueError, "Expected decay >= 0"),
        (lambda: optimizers.SGD(momentum=2.0), ValueError, "must be between"),
        (lambda: optimizers.Adagrad(initial_accumulator_value=-1.0), ValueError, "must be non-negative"),
        (lambda: optimizers.Ftrl(learning_rate_power=1.0), ValueError, "learning_rate_power"),
        (lambda: optimizers.Ftrl(l1_regularization_strength=-1.0), ValueError, "l1_regularization_strength"),
        (lambda: moments.Adam().rate, AttributeError, "no attribute 'rate'"),
    ],
)
def test_wrong_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_variables_without_gradients_are_left_out(eager, caplog):
    first, second, optimizer = tf.Variable([1.0]), tf.Variable([1.0], name="second"), optimizers.SGD(1.0)
    optimizer.apply_gradients([(tf.constant([1.0]), first), (None, second)])
    assert [first.numpy()[0], second.numpy()[0]] == [0.0, 1.0]
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, second)])
    assert optimizer.apply_gradients([]) is None
    assert optimizer.iterations.numpy() == 1
    with pytest.raises(TypeError, match="expected a function that returns the loss"):
        optimizer.minimize(tf.constant(1.0), [first])


def test_a_reference_variable_is_refused_with_a_hint():
    variable = tf.Variable([1.0], use_resource=False)
    with pytest.raises(ValueError, match="use_resource=True"):
        optimizers.SGD().apply_gradients([(tf.constant([1.0]), variable)])


@pytest.mark.parametrize("takes_state", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_program_can_define_an_optimizer(mode, takes_state):
    class Halving(Optimizer):
        def __init__(self):
            super().__init__("Halving")
            self._set_hyper("learning_rate", 0.5)

        def _create_slots(self, var_list):
            for var in var_list:
                self.add_slot(var, "sum", "ones")

        def _resource_apply_dense(self, grad, var):
            total = self.get_slot(var, "sum").assign_add(grad)
            return var.assign_sub(self._decayed_lr(var.dtype.base_dtype) * total)

    class HalvingByState(Halving):
        def _resource_apply_dense(self, grad, var, apply_state=None):
            coefficients = apply_state[var.device, var.dtype.base_dtype]
            total = self.get_slot(var, "sum").assign_add(grad)
            return var.assign_sub(coefficients["lr_t"] * total)

    def make():
        return HalvingByState() if takes_state else Halving()

    expected = START - 0.5 * np.sum(np.cumsum(DENSE, 0) + 1, 0)
    if mode == "graph":
        values, _, _ = _values_after_steps(mode, make, "dense")
    else:
        with eager_mode():
            values, _, _ = _values_after_steps(mode, make, "dense")
    np.testing.assert_allclose(values[-1], expected, **CLOSE)


@pytest.mark.parametrize(
    "kind", [optimizers.SGD, moments.Adam, moments.Nadam, optimizers.RMSprop, lambda: optimizers.SGD(momentum=0.5)]
)
def test_two_replicas_train_as_one_device_does(kind):
    class ByKeras:
        """A Keras optimizer as the program of the strategies calls one."""

        def __init__(self):
            self._optimizer = kind()

        def minimize(self, loss, global_step):
            return self._optimizer.minimize(loss, tf.trainable_variables())

    expected = train(one_device(), ByKeras)
    assert_equal(train(mirrored(), ByKeras), expected)
    assert [value for name, value in expected[1].items() if name.endswith("/iter")] == [5]


@pytest.mark.parametrize(
    "kind", [optimizers.SGD, moments.Adam, lambda: moments.Adam(amsgrad=True), lambda: optimizers.SGD(momentum=0.5)]
)
def test_variables_are_updated_together_as_each_alone(eager, kind):
    together, alone = [tf.Variable(START * size) for size in range(5)], [tf.Variable(START * size) for size in range(5)]
    optimizer, others = kind(), [kind() for _ in alone]
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(grad), variable) for grad, variable in zip(DENSE, together)])
        for other, grad, variable in zip(others, DENSE, alone):
            other.apply_gradients([(tf.constant(grad), variable)])
    for one, other in zip(together, alone):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
    assert optimizer.iterations.numpy() == 3
