"""Metrics: results recorded from tf_keras, updates in all modes, resets, metrics of a program's own, names."""

import copy
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES, evaluate
from thalweg._src.keras.losses import functions
from thalweg._src.keras.metrics import accuracy, base, confusion, curves, lookup, means
from thalweg._src.keras.metrics.base import Mean, MeanMetricWrapper, MeanTensor, Metric, SumOverBatchSizeMetricWrapper
from thalweg._src.runtime.eager.mode import eager_mode

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_losses.json.gz"
RECORDED = json.loads(gzip.decompress(FIXTURE.read_bytes()))["metrics"]
CLASSES = sorted({case["class"] for case in RECORDED})


def _class(name):
    return next(getattr(module, name) for module in (base, accuracy, confusion, curves, means) if hasattr(module, name))


def _cases(name):
    return [case for case in RECORDED if case["class"] == name]


def _array(values):
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _call(metric, update):
    """Returns the result of a metric after an update."""
    *data, weight = update
    return metric(*map(_array, data), sample_weight=None if weight is None else _array(weight))


def _check(value, expected, case):
    np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-6, err_msg=str(case))


def _initialize(session, *metrics):
    session.run([variable.initializer for metric in metrics for variable in metric.variables])


# -- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_the_result_after_each_eager_update_is_that_of_keras(name, eager):
    for case in _cases(name):
        metric = _class(name)(**case["config"])
        for update, expected in zip(case["updates"], case["results"], strict=True):
            _check(_call(metric, update).numpy(), expected, case)
            _check(metric.result().numpy(), expected, case)
        metric.reset_states()
        assert not np.any(metric.result().numpy())
        _check(_call(metric, case["updates"][0]).numpy(), case["results"][0], case)


@pytest.mark.parametrize("name", CLASSES)
def test_the_result_after_each_step_of_a_session_is_that_of_keras(name):
    for case in _cases(name):
        with tf.Graph().as_default(), tf.Session() as session:
            metric = _class(name)(**case["config"])
            results = [_call(metric, update) for update in case["updates"]]
            result = metric.result()
            _initialize(session, metric)
            for each, expected in zip(results, case["results"], strict=True):
                _check(session.run(each), expected, case)
                _check(session.run(result), expected, case)
            metric.reset_states()
            assert not np.any(session.run(result))
            _check(session.run(results[0]), case["results"][0], case)


@pytest.mark.parametrize("name", CLASSES)
def test_the_result_after_each_call_of_a_function_is_that_of_keras(name, eager):
    for case in _cases(name):
        metric = _class(name)(**case["config"])
        if isinstance(metric, MeanTensor):  # creates its variables before the function is traced for the last time
            metric.update_state(np.zeros_like(case["updates"][0][0]))
            metric.reset_states()
        step = tf.function(lambda *update, metric=metric: metric(*update[:-1], sample_weight=update[-1]))
        for update, expected in zip(case["updates"], case["results"], strict=True):
            *data, weight = update
            tensors = [tf.constant(_array(values)) for values in data]
            value = step(*tensors, None if weight is None else tf.constant(_array(weight)))
            _check(value.numpy(), expected, case)


@pytest.mark.parametrize("name", CLASSES)
def test_the_results_of_batches_of_unknown_size_are_those_of_keras(name):
    if name == "MeanTensor":  # whose variables have the shape of the batch
        return
    for case in _cases(name):
        with tf.Graph().as_default(), tf.Session() as session:
            metric = _class(name)(**case["config"])
            arrays = [_array(values) for values in case["updates"][0][:-1]]
            fed = [tf.placeholder(array.dtype, [None, *array.shape[1:]]) for array in arrays]
            value = metric(*fed)
            _initialize(session, metric)
            _check(session.run(value, dict(zip(fed, arrays))), case["results"][0], case)


# At thresholds between these scores, specificities are 0, 1/3, 2/3, 2/3, 1, 1 and sensitivities 1, 1, 1, 1/2, 1/2, 0.
TRUTHS, SCORES = np.int32([0, 0, 1, 0, 1]), np.float32([0.1, 0.3, 0.4, 0.6, 0.9])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("specificity, expected", [(0.0, 1.0), (0.6, 1.0), (0.9, 0.5), (1.0, 0.5)])
def test_the_sensitivity_is_that_at_the_nearest_specificity(specificity, expected, mode):
    metric = None

    def value(truths, scores):
        nonlocal metric
        metric = metric or curves.SensitivityAtSpecificity(specificity, num_thresholds=101)
        return _initialized(metric(truths, scores), metric)

    assert evaluate(mode, value, TRUTHS, SCORES) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sensitivity, expected", [(0.0, 1.0), (0.4, 2 / 3), (0.9, 0.0)])
def test_the_specificity_is_that_at_the_nearest_sensitivity(sensitivity, expected, mode):
    metric = None

    def value(truths, scores):
        nonlocal metric
        metric = metric or curves.SpecificityAtSensitivity(sensitivity, num_thresholds=101)
        return _initialized(metric(truths, scores), metric)

    assert evaluate(mode, value, TRUTHS, SCORES) == pytest.approx(expected)


def _initialized(value, metric):
    """Returns a value; in a session, after the variables of a metric are initialized."""
    if not tf.executing_eagerly() and tf.get_default_session() is not None:
        _initialize(tf.get_default_session(), metric)
    return value


# -- updates ----------------------------------------------------------------------------------------------------------


def test_an_update_in_a_graph_is_one_operation():
    metrics = [Mean(), confusion.Precision(), curves.AUC(), confusion.MeanIoU(2), MeanTensor()]
    values = [tf.constant([0.0, 1.0])]
    updates = [metric.update_state(*values * (1 if type(metric) in (Mean, MeanTensor) else 2)) for metric in metrics]
    assert all(isinstance(update, tf.Operation) for update in updates)
    assert [metric.updates for metric in metrics] == [[update] for update in updates]
    with tf.Session() as session:
        _initialize(session, *metrics)
        session.run(updates)
        results = session.run([metric.result() for metric in metrics])
        assert results[:4] == [0.5, 1.0, 1.0, 1.0]
        np.testing.assert_array_equal(results[4], [0, 1])


def test_the_result_is_read_without_an_update():
    metric = Mean()
    value, result = metric([2.0, 4.0]), metric.result()
    with tf.Session() as session:
        _initialize(session, metric)
        assert session.run(result) == 0
        assert session.run(value) == 3
        assert session.run(result) == 3


def test_variables_are_not_trained_and_are_named_by_what_they_hold():
    metric = Mean()
    assert [variable.op.name for variable in metric.variables] == ["total", "count"]
    assert metric.non_trainable_variables == metric.variables
    assert not tf.trainable_variables()


def test_targets_and_predictions_are_squeezed_to_one_rank(eager):
    metric = confusion.TruePositives()
    metric.update_state([0, 1, 1], [[0.9], [0.8], [0.1]], sample_weight=[[1.0], [3.0], [5.0]])
    assert metric.result().numpy() == 3
    error = means.MeanSquaredError()
    error.update_state([[1.0], [2.0]], [[1.0], [4.0]], sample_weight=[1.0, 3.0])
    assert error.result().numpy() == 3


def test_a_metric_sums_up_in_its_own_type(eager):
    metric = Mean(dtype=tf.float64)
    metric.update_state(np.float64([1, 1 + 1e-12]))
    assert metric.result().dtype == tf.float64
    assert metric.result().numpy() == pytest.approx(1 + 5e-13, rel=1e-14)
    assert metric.dtype == "float64"


def test_a_sum_over_the_batch_is_divided_by_the_number_of_values(eager):
    metric = SumOverBatchSizeMetricWrapper(functions.mean_absolute_error, name="error")
    metric.update_state([[1.0], [2.0]], [[2.0], [4.0]], sample_weight=[0.0, 3.0])
    assert metric.result().numpy() == 3


def test_values_of_another_shape_are_refused_by_a_mean_of_each_element(eager):
    metric = MeanTensor()
    with pytest.raises(ValueError, match="before the first update"):
        metric.result()
    metric.update_state([1.0, 2.0])
    assert metric.total.shape.as_list() == metric.count.shape.as_list() == [2]
    with pytest.raises(ValueError, match="first update"):
        metric.update_state([1.0, 2.0, 3.0])


@pytest.mark.parametrize("score", [-0.1, 1.1])
def test_predictions_that_are_no_probabilities_are_refused(score, eager):
    with pytest.raises(tf.errors.InvalidArgumentError, match="predictions must be"):
        confusion.Recall().update_state([1, 0], [0.5, score])


def test_arguments_out_of_range_are_refused():
    for wrong in (-0.1, [0.5, 1.2], [None]):
        with pytest.raises(ValueError, match="thresholds"):
            confusion.FalsePositives(wrong)
    with pytest.raises(ValueError, match="from 0 to 1"):
        curves.SensitivityAtSpecificity(1.5)
    with pytest.raises(ValueError, match="num_thresholds"):
        curves.SpecificityAtSensitivity(0.5, num_thresholds=0)
    with pytest.raises(ValueError, match="num_thresholds"):
        curves.AUC(num_thresholds=1)
    with pytest.raises(ValueError, match="curve"):
        curves.AUC(curve="other")
    with pytest.raises(ValueError, match="summation_method"):
        curves.AUC(summation_method="other")


def test_replicas_of_a_strategy_share_one_result():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        metric = Mean()

    def step():
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        return metric.update_state([number, number + 4])

    with strategy.scope():
        update = strategy.experimental_run_v2(step)
        result = metric.result()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run([variable.initializer for variable in metric.variables])
        session.run(strategy.experimental_local_results(update))
        assert session.run(result) == 2.5


# -- metrics of a program's own ---------------------------------------------------------------------------------------


class Twice(Metric):
    """Sums values, and keeps twice the sum; its second assignment reads what the first has written."""

    def __init__(self, name="twice", **kwargs):
        super().__init__(name=name, **kwargs)
        self.sum = self.add_weight("sum", initializer="zeros")
        self.double = self.add_weight("double", initializer="zeros")

    def update_state(self, values, sample_weight=None):
        self.sum.assign_add(tf.reduce_sum(values))
        self.double.assign(2 * self.sum)

    def result(self):
        return self.sum + self.double


class Largest(Metric):
    """The largest value."""

    def __init__(self, name="largest", **kwargs):
        super().__init__(name=name, **kwargs)
        self.value = self.add_weight("value", initializer="zeros")

    def update_state(self, value, sample_weight=None):
        if value > self.value:
            self.value.assign(value)

    def result(self):
        return self.value


class Doubled(Mean):
    """The mean of doubled values."""

    def update_state(self, values, sample_weight=None):
        return super().update_state(2 * tf.convert_to_tensor(values), sample_weight)


def test_assignments_of_a_metric_of_the_programs_own_run_in_their_order():
    metric, mean = Twice(), Doubled()
    large, small = metric.update_state([3.0, 4.0]), metric.update_state([1.0])
    assert isinstance(large, tf.Operation) and metric.updates == [large, small]
    value, result = mean([1.0, 2.0]), metric.result()
    with tf.Session() as session:
        _initialize(session, metric, mean)
        session.run(large)
        assert session.run(result) == 21
        session.run(small)
        assert session.run(result) == 24
        assert session.run(value) == 3


def test_a_metric_of_the_programs_own_may_have_conditions_on_tensors():
    metric = Largest()
    updates = [metric.update_state(tf.constant(value)) for value in (1.0, 3.0, 2.0)]
    result = metric.result()
    with tf.Session() as session:
        _initialize(session, metric)
        values = [(session.run(update), session.run(result))[1] for update in updates]
        assert values == [1, 3, 3]


@pytest.mark.parametrize("traced", [False, True])
def test_a_metric_of_the_programs_own_updates_eagerly_and_in_functions(traced, eager):
    metric, mean = Twice(), Doubled()

    def step(values):
        return metric(values), mean(values)

    step = tf.function(step) if traced else step
    assert [value.numpy() for value in step(tf.constant([3.0, 4.0]))] == [21, 7]
    assert [value.numpy() for value in step(tf.constant([1.0, 0.0]))] == [24, 4]
    metric.reset_states()
    assert metric.result().numpy() == 0


def test_a_metric_without_methods_is_refused(eager):
    with pytest.raises(NotImplementedError):
        Metric().update_state(1.0)
    with pytest.raises(NotImplementedError):
        Metric().result()


def test_a_metric_knows_that_it_returned_a_result(eager):
    metric = Mean()
    assert metric([1.0])._metric_obj is metric


def test_a_copy_of_a_metric_updates_itself(eager):
    metric = confusion.Precision(thresholds=[0.2, 0.5])
    other = copy.deepcopy(metric)
    assert other.update_state.__self__ is other and other.result.__self__ is other


# -- names and configurations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_a_metric_is_made_again_from_its_configuration(name, eager):
    for case in _cases(name):
        metric = _class(name)(name="mine", dtype="float32", **case["config"])
        again = lookup.deserialize(lookup.serialize(metric))
        assert type(again) is type(metric) and again.name == "mine"
        config = metric.get_config()
        for key, value in case["config"].items():
            np.testing.assert_array_equal(config[key], value)
        np.testing.assert_array_equal(
            _call(again, case["updates"][0]).numpy(), _call(metric, case["updates"][0]).numpy()
        )


def test_a_metric_without_a_name_is_named_by_its_class(fresh):
    assert [metric.name for metric in (curves.AUC(), curves.AUC(), confusion.Precision())] == [
        "auc",
        "auc_1",
        "precision",
    ]
    assert [metric.name for metric in (Mean(), Mean(), accuracy.Accuracy())] == ["mean", "mean", "accuracy"]
    assert means.KLDivergence().name == "kullback_leibler_divergence"


def test_a_metric_is_found_by_name(eager):
    assert lookup.get("acc") is accuracy.accuracy
    assert lookup.get("mse") is functions.mean_squared_error
    assert lookup.get("sparse_categorical_accuracy") is accuracy.sparse_categorical_accuracy
    assert isinstance(lookup.get("AUC"), curves.AUC)
    metric = MeanMetricWrapper(functions.hinge)
    assert lookup.get(metric) is metric
    with pytest.raises(ValueError, match="Could not interpret metric function identifier"):
        lookup.get(None)


def test_a_metric_named_by_the_cosine_is_positive(eager):
    vector = tf.constant([[3.0, 4.0]])
    assert lookup.get("cosine_proximity")(vector, vector).numpy() == pytest.approx(1)
    assert functions.cosine_similarity(vector, vector).numpy() == pytest.approx(-1)


def test_variables_of_metrics_are_saved_with_objects(tmp_path):
    with eager_mode():
        metric = Mean()
        metric.update_state([1.0, 2.0])
        path = tf.train.Checkpoint(metric=metric).save(str(tmp_path / "metric"))
        other = Mean()
        tf.train.Checkpoint(metric=other).restore(path)
        assert other.result().numpy() == 1.5
