"""A model function of our own with two heads, a classifier and a regressor, joined by a multi-head."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(3)
x = rng.normal(size=(400, 5)).astype(np.float32)
kinds = (x.dot(rng.normal(size=(5, 3)))).argmax(1).astype(np.int64)
heights = (x[:, :1] - 0.5 * x[:, 1:2]).astype(np.float32)


def input_fn(epochs, shuffle):
    labels = {"kind": kinds[:, None], "height": heights}
    dataset = tf.data.Dataset.from_tensor_slices(({"x": x}, labels))
    return (dataset.shuffle(400, seed=2) if shuffle else dataset).repeat(epochs).batch(50)


def model_fn(features, labels, mode, params, config):
    kind = tf.contrib.estimator.multi_class_head(n_classes=3, name="kind")
    height = tf.contrib.estimator.regression_head(name="height")
    head = tf.contrib.estimator.multi_head([kind, height], head_weights=[1.0, params["weight"]])
    hidden = tf.layers.dense(features["x"], 16, activation=tf.nn.relu, name="hidden")
    logits = {
        "kind": tf.layers.dense(hidden, 3, name="kind"),
        "height": tf.layers.dense(hidden, 1, name="height"),
    }
    assert config.tf_random_seed == 4
    return head.create_estimator_spec(
        features=features,
        mode=mode,
        logits=logits,
        labels=labels,
        train_op_fn=lambda loss: tf.train.AdamOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step()),
    )


model = tf.estimator.Estimator(
    model_fn,
    model_dir="heads",
    params={"rate": 0.02, "weight": 2.0},
    config=tf.estimator.RunConfig(tf_random_seed=4, log_step_count_steps=None),
)
model = tf.contrib.estimator.add_metrics(
    model,
    lambda labels, predictions: {
        "error": tf.metrics.mean_absolute_error(labels["height"], predictions[("height", "predictions")])
    },
)
model.train(lambda: input_fn(12, True), max_steps=80)
found = model.evaluate(lambda: input_fn(1, False))
assert found["global_step"] == 80
assert found["accuracy/kind"] > 0.9 and found["average_loss/height"] < 0.1 and found["error"] < 0.3, found
np.testing.assert_allclose(found["loss"], found["loss/kind"] + 2 * found["loss/height"], rtol=1e-4)

predicted = next(model.predict(lambda: input_fn(1, False), yield_single_examples=False))
assert predicted[("kind", "probabilities")].shape == (50, 3)
errors = np.abs(predicted[("height", "predictions")] - heights[:50])
assert errors.mean() < 0.3

receive = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 5])})
folder = model.export_saved_model("export", receive)
with tf.Session(graph=tf.Graph()) as session:
    signatures = tf.saved_model.loader.load(session, ["serve"], folder.decode()).signature_def
    signature = signatures["height/predict"]
    (name,) = (info.name for key, info in signature.outputs.items() if "predictions" in key)
    served = session.run(name, {signature.inputs["x"].name: x[:50]})
np.testing.assert_allclose(served, predicted[("height", "predictions")], rtol=1e-4, atol=1e-6)
results = {"accuracy": float(found["accuracy/kind"]), "error": float(found["error"]), "signatures": sorted(signatures)}
