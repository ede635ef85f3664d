"""tf.contrib.tpu: programs for TPUs, on the devices that there are."""

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, YS, events, numbers

tpu = tf.contrib.tpu
WEIGHTS = [[1.0], [2.0]]


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.delenv("TPU_NAME", raising=False)
    yield
    tf.summary.FileWriterCache.clear()


def model_fn(features, labels, mode, params):
    params.get("seen").append((mode, params.get("batch_size"), params.get("use_tpu")))
    prediction = tf.matmul(features["x"], tf.get_variable("w", initializer=tf.constant(WEIGHTS)))
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, {"y": prediction})
    loss = tf.losses.mean_squared_error(labels, prediction)
    train_op = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.001)).minimize(
        loss, tf.train.get_global_step()
    )
    metrics = (lambda y, p: {"mae": tf.metrics.mean_absolute_error(y, p)}, {"y": labels, "p": prediction})
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, eval_metrics=metrics)


class Shared(list):
    """A list that copies of parameters share."""

    def __deepcopy__(self, memo):
        return self


def rows(params):
    return tf.data.Dataset.from_tensor_slices(({"x": XS}, YS)).repeat().batch(params["batch_size"])


def once(params):
    return tf.data.Dataset.from_tensor_slices({"x": XS}).batch(params["batch_size"])


def estimator(folder, params=None, **options):
    config = tpu.RunConfig(model_dir=str(folder), log_step_count_steps=2, save_summary_steps=2)
    sizes = {"train_batch_size": 3, "eval_batch_size": 2, "predict_batch_size": 4, "use_tpu": False}
    params = {"seen": Shared()} if params is None else params
    return tpu.TPUEstimator(**{"model_fn": model_fn, "config": config, "params": params} | sizes | options)


def test_every_mode_has_the_size_of_its_batches(tmp_path):
    seen = Shared()
    model = estimator(tmp_path, {"seen": seen})
    model.train(rows, max_steps=4)
    found = model.evaluate(rows, steps=3)
    assert found["mae"] == pytest.approx(0, abs=1e-4) and found["global_step"] == 4
    assert len(list(model.predict(once))) == 6
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 2])})
    predict = tf.contrib.predictor.from_saved_model(model.export_saved_model(str(tmp_path / "export"), receiver))
    np.testing.assert_allclose(predict({"x": XS})["y"], YS, rtol=1e-4)
    predict.session.close()
    assert seen == [("train", 3, False), ("eval", 2, False), ("infer", 4, False), ("infer", None, False)]
    assert set(numbers(tmp_path, "examples/sec")) == set(numbers(tmp_path, "global_step/sec")) == {3}


def test_parameters_may_be_hparams(tmp_path):
    seen = Shared()
    params = tf.contrib.training.HParams(seen=None)
    params.seen = seen
    estimator(tmp_path, params).train(lambda params: rows({"batch_size": params.batch_size}), steps=1)
    assert seen == [("train", 3, False)]


def test_a_host_call_runs_in_each_step_and_its_event_file_is_complete(tmp_path):
    def write(step, loss):
        with tf.contrib.summary.create_file_writer(str(tmp_path / "host")).as_default():
            with tf.contrib.summary.always_record_summaries():
                tf.contrib.summary.scalar("seen", loss[0], step=step[0])
            return tf.contrib.summary.all_summary_ops()

    def with_host_call(features, labels, mode, params):
        spec = model_fn(features, labels, mode, params)
        step = tf.train.get_global_step()
        return spec._replace(host_call=(write, [tf.reshape(step, [1]), tf.reshape(spec.loss, [1])]))

    estimator(tmp_path / "model", model_fn=with_host_call).train(rows, steps=3)
    tags = [value.tag for event in events(tmp_path / "host") for value in event.summary.value]
    assert tags == ["seen"] * 3


def test_train_and_evaluate(tmp_path):
    train, evaluated = tf.estimator.TrainSpec(rows, max_steps=3), tf.estimator.EvalSpec(rows, steps=2)
    metrics, _ = tf.estimator.train_and_evaluate(estimator(tmp_path), train, evaluated)
    assert metrics["global_step"] == 3


def test_what_needs_tpus_is_refused(tmp_path):
    config = tpu.RunConfig(model_dir=str(tmp_path))
    for options, error, words in [
        ({"use_tpu": True}, ValueError, "use_tpu=False"),
        ({"config": tf.estimator.RunConfig()}, ValueError, "tf.contrib.tpu.RunConfig"),
        ({"params": {"batch_size": 1}}, ValueError, "reserved keys"),
        ({"params": {"context": 1}}, ValueError, "reserved keys"),
        ({"embedding_config_spec": object()}, ValueError, "embedding_config_spec"),
        ({"export_to_cpu": False}, ValueError, "export_to_cpu"),
        ({"train_batch_size": 0}, ValueError, "train_batch_size"),
        ({"model_fn": lambda features, labels, mode: None, "params": None}, ValueError, "params argument"),
    ]:
        with pytest.raises(error, match=words):
            tpu.TPUEstimator(**{"model_fn": model_fn, "config": config, "use_tpu": False, "params": {}} | options)
    with pytest.raises(ValueError, match=r"input_fn .* does not include params"):
        estimator(tmp_path).train(lambda: None)


def test_specs_check_the_calls_of_the_host():
    def one(tensor):
        return tensor

    for call, error, words in [
        (3, ValueError, "tuple or list"),
        ((one,), ValueError, "two elements"),
        ((1, []), TypeError, "callable"),
        ((one, 1), ValueError, "tuple or list, or dict"),
        ((one, [1, 2]), RuntimeError, "do not match"),
        ((one, {"other": 1}), RuntimeError, "do not match"),
    ]:
        with pytest.raises(error, match=words):
            tpu.TPUEstimatorSpec("eval", eval_metrics=call)
        with pytest.raises(error, match=words):
            tpu.TPUEstimatorSpec("train", host_call=call)
    with pytest.raises(TypeError, match="SessionRunHook"):
        tpu.TPUEstimatorSpec("train", training_hooks=[1])


def test_a_spec_makes_its_scaffold_and_keeps_its_hooks():
    loss, hook, scaffold = tf.constant(1.0), tf.train.SessionRunHook(), tf.train.Scaffold()
    spec = tpu.TPUEstimatorSpec(
        "eval", loss=loss, scaffold_fn=lambda: scaffold, evaluation_hooks=[hook], host_call=(lambda x: [x], [loss])
    ).as_estimator_spec()
    assert spec.scaffold is scaffold and spec.evaluation_hooks[0] is hook and len(spec.evaluation_hooks) == 2


def test_configurations_are_checked_and_kept():
    defaults = tpu.TPUConfig()
    assert (defaults.iterations_per_loop, defaults.num_shards) == (2, None)
    assert defaults.per_host_input_for_training == tpu.InputPipelineConfig.PER_HOST_V1
    assert tpu.TPUConfig(per_host_input_for_training=False).per_host_input_for_training == 1
    for options, words in [
        ({"iterations_per_loop": 0}, "iterations_per_loop"),
        ({"num_shards": -1}, "num_shards"),
        ({"num_cores_per_replica": 3}, "num_cores_per_replica"),
        ({"initial_infeed_sleep_secs": 0}, "initial_infeed_sleep_secs"),
        ({"input_partition_dims": 1}, "input_partition_dims"),
        ({"input_partition_dims": [[1]]}, "num_cores_per_replica"),
        ({"input_partition_dims": [[1]], "num_cores_per_replica": 2}, "PER_HOST_V2"),
    ]:
        with pytest.raises(ValueError, match=words):
            tpu.TPUConfig(**options)


def test_targets_of_a_run_config():
    config = tpu.RunConfig(master="grpc://a:1", tpu_config=tpu.TPUConfig(7))
    assert (config.master, config.evaluation_master, config.cluster) == ("grpc://a:1", "grpc://a:1", None)
    assert tpu.RunConfig(master="grpc://a:1", evaluation_master="").evaluation_master == ""
    again = config.replace(save_summary_steps=3)
    assert again.tpu_config.iterations_per_loop == 7 and again.save_summary_steps == 3 and again.master == "grpc://a:1"
    assert config.replace(tpu_config=tpu.TPUConfig(8)).tpu_config.iterations_per_loop == 8
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    assert tpu.RunConfig(cluster=resolver).cluster is resolver and tpu.RunConfig(cluster=resolver).master == ""
    with pytest.raises(ValueError, match="both given"):
        tpu.RunConfig(master="", cluster=resolver)


def test_resolvers_find_this_machine_alone(monkeypatch):
    make = tf.distribute.cluster_resolver.TPUClusterResolver
    local = make("local", job_name="tpu_worker", coordinator_name="coordinator", coordinator_address="a:1")
    assert local.master() == local.get_master() == "" and local.get_job_name() == "tpu_worker"
    assert local.cluster_spec().as_dict() == {"coordinator": ["a:1"]} and not make(b"").cluster_spec()
    assert local.num_accelerators() == {"TPU": 0}
    with pytest.raises(ValueError, match="Please provide a TPU Name"):
        make()
    for name in ("my-tpu", "grpc://a:1"):
        with pytest.raises(ValueError, match="use_tpu=False"):
            make(name)
    monkeypatch.setenv("TPU_NAME", "local")
    assert make().master() == ""


def test_cross_shard_optimizers_apply_the_wrapped_one():
    v = tf.Variable(2.0)
    inner = tf.train.MomentumOptimizer(0.5, 0.9)
    optimizer = tpu.CrossShardOptimizer(inner, tf.losses.Reduction.SUM)
    update = optimizer.minimize(3.0 * v)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(v) == 0.5
    assert optimizer.get_slot_names() == ["momentum"] and optimizer.variables() == inner.variables()
    with pytest.raises(ValueError, match="reduction"):
        tpu.CrossShardOptimizer(inner, "none")
    with pytest.raises(ValueError, match="group_assignment"):
        tpu.CrossShardOptimizer(inner, group_assignment=[[0]])
    with pytest.raises(TypeError, match="Optimizer"):
        tpu.CrossShardOptimizer(3)


def test_variables_of_a_bfloat16_scope_are_kept_as_float32():
    with tf.contrib.tpu.bfloat16_scope():
        rounded = tf.get_variable("a", [2], tf.bfloat16)
        whole = tf.get_variable("b", [2], tf.float32)
    assert rounded.dtype == tf.bfloat16 and whole.dtype.base_dtype == tf.float32
    assert [v.dtype.base_dtype for v in tf.global_variables()] == [tf.float32, tf.float32]
    assert [v.op.name for v in tf.global_variables()] == ["a", "b"]
    assert tf.tpu.outside_compilation(lambda x, y: x - y, 5, y=3) == 2
