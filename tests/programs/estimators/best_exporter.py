"""train_and_evaluate keeps the best model of all evaluations; a predictor serves it."""

import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(7)
x = rng.uniform(-1, 1, size=(300, 4)).astype(np.float32)
y = (np.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]).astype(np.float32)


def make_input_fn(part, training):
    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(({"position": x[part]}, y[part]))
        if training:
            dataset = dataset.apply(tf.data.experimental.shuffle_and_repeat(300, seed=1))
        return dataset.batch(40)

    return input_fn


def serving_input_fn():
    received = tf.placeholder(tf.float32, shape=[None, 4], name="received")
    return tf.estimator.export.ServingInputReceiver({"position": received}, {"position": received})


columns = [tf.feature_column.numeric_column("position", shape=[4])]
model = tf.estimator.DNNRegressor(
    hidden_units=[24, 12],
    feature_columns=columns,
    model_dir="regressor",
    optimizer=lambda: tf.train.AdamOptimizer(
        tf.train.exponential_decay(0.02, tf.train.get_global_step(), decay_steps=50, decay_rate=0.9)
    ),
    config=tf.estimator.RunConfig(tf_random_seed=3, save_checkpoints_steps=40, keep_checkpoint_max=3),
)
best = tf.estimator.BestExporter(
    name="best",
    serving_input_receiver_fn=serving_input_fn,
    compare_fn=lambda best_eval_result, current_eval_result: (
        best_eval_result["average_loss"] > current_eval_result["average_loss"]
    ),
    exports_to_keep=2,
)
last = tf.estimator.FinalExporter("final", serving_input_fn)
metrics, exported = tf.estimator.train_and_evaluate(
    model,
    tf.estimator.TrainSpec(make_input_fn(slice(0, 240), True), max_steps=160),
    tf.estimator.EvalSpec(
        make_input_fn(slice(240, 300), False), steps=None, exporters=[best, last], throttle_secs=0, start_delay_secs=0
    ),
)
assert metrics["global_step"] == 160 and metrics["average_loss"] < 0.1, metrics

kept = sorted(os.listdir(os.path.join("regressor", "export", "best")))
assert 1 <= len(kept) <= 2 and len(os.listdir(os.path.join("regressor", "export", "final"))) == 1
losses = {
    event.step: value.simple_value
    for name in os.listdir(os.path.join("regressor", "eval"))
    for event in tf.train.summary_iterator(os.path.join("regressor", "eval", name))
    for value in event.summary.value
    if value.tag == "average_loss"
}
assert sorted(losses) == [40, 80, 120, 160], losses

predict = tf.contrib.predictor.from_saved_model(
    os.path.join("regressor", "export", "best", kept[-1]), signature_def_key="predict"
)
served = predict({"position": x[240:]})["predictions"]
np.testing.assert_allclose(np.mean((served - y[240:]) ** 2), min(losses.values()), rtol=1e-3)
final = tf.contrib.predictor.from_saved_model(exported[1].decode(), signature_def_key="predict")
direct = [each["predictions"] for each in model.predict(make_input_fn(slice(240, 300), False))]
np.testing.assert_allclose(final({"position": x[240:]})["predictions"], direct, rtol=1e-4, atol=1e-6)
results = {"losses": [losses[step] for step in sorted(losses)], "kept": len(kept)}
