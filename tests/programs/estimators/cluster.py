"""The same program at every task of a cluster, which TF_CONFIG describes; without one it trains alone."""

import argparse
import json
import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
parser = argparse.ArgumentParser()
parser.add_argument("--model_dir", default="clustered")
parser.add_argument("--max_steps", type=int, default=60)
arguments, _ = parser.parse_known_args([])
task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {})
rng = np.random.RandomState(1)
x = rng.normal(size=(200, 3)).astype(np.float32)
y = x.dot(np.array([[1.0], [-2.0], [0.5]], np.float32)) + 3.0


def input_fn(epochs=None):
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat(epochs).shuffle(100).batch(20)


def model_fn(features, labels, mode, params, config):
    prediction = tf.layers.dense(features["x"], 1, name="line")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction})
    loss = tf.losses.mean_squared_error(labels, prediction)
    train_op = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, prediction)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


config = tf.estimator.RunConfig(
    model_dir=arguments.model_dir, save_checkpoints_steps=30, experimental_max_worker_delay_secs=0
)
assert config.task_type == task.get("type", "worker")
assert config.is_chief == (task.get("type", "chief") == "chief")
model = tf.estimator.Estimator(model_fn, params={"rate": 0.1}, config=config)
receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 3])})
tf.estimator.train_and_evaluate(
    model,
    tf.estimator.TrainSpec(input_fn, max_steps=arguments.max_steps),
    tf.estimator.EvalSpec(
        lambda: input_fn(1),
        steps=None,
        start_delay_secs=0,
        throttle_secs=0,
        exporters=tf.estimator.LatestExporter("latest", receiver),
    ),
)
results = {"task": config.task_type}
if not task:
    found = model.evaluate(lambda: input_fn(1))
    assert found["global_step"] == arguments.max_steps and found["error"] < 0.1, found
    results["error"] = float(found["error"])
