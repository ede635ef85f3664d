"""A model function with dropout, moving averages, summaries and hooks of every mode."""

import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(9)
x = rng.normal(size=(320, 6)).astype(np.float32)
y = (np.square(x[:, :2]).sum(1) < 1.5).astype(np.int32)


class LossRecorder(tf.train.SessionRunHook):
    """Records the loss of each step, and what was called."""

    def __init__(self):
        self.losses, self.calls = [], []

    def begin(self):
        self.calls.append("begin")
        self.step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        self.calls.append("after_create_session %d" % session.run(self.step))

    def before_run(self, run_context):
        return tf.train.SessionRunArgs({"loss": tf.get_collection("loss")[0]})

    def after_run(self, run_context, run_values):
        self.losses.append(float(run_values.results["loss"]))

    def end(self, session):
        self.calls.append("end %d" % session.run(self.step))


recorder = LossRecorder()


def model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    net = features["x"]
    for number, units in enumerate(params.hidden):
        net = tf.layers.dense(net, units, tf.nn.relu, name="layer_%d" % number)
        net = tf.layers.batch_normalization(net, training=training, momentum=0.9)
        net = tf.layers.dropout(net, params.dropout, training=training)
    logits = tf.layers.dense(net, 2)
    predictions = {"classes": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits, name="softmax")}
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"serving_default": tf.estimator.export.PredictOutput(predictions)}
        return tf.estimator.EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "kernel" in v.name])
    accuracy = tf.metrics.accuracy(labels, predictions["classes"], name="acc_op")
    if mode == tf.estimator.ModeKeys.EVAL:
        recall = tf.metrics.recall(labels, predictions["classes"])
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy, "recall": recall})
    tf.add_to_collection("loss", loss)
    tf.summary.scalar("accuracy", accuracy[1])
    tf.summary.histogram("probabilities", predictions["probabilities"])
    rate = tf.train.polynomial_decay(0.05, tf.train.get_global_step(), 100, 0.005)
    optimizer = tf.train.AdamOptimizer(rate)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
        train_op = optimizer.apply_gradients(zip(gradients, variables), tf.train.get_global_step())
    tf.summary.scalar("norm", norm)
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([train_op]):
        train_op = average.apply(tf.trainable_variables())
    saver = tf.train.SummarySaverHook(
        save_steps=20, output_dir="own", summary_op=tf.summary.scalar("rate", rate, collections=[])
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[recorder, saver])


hparams = tf.contrib.training.HParams(hidden=[24, 12], dropout=0.1)
config = tf.estimator.RunConfig(model_dir="hooked", tf_random_seed=2, save_summary_steps=10, save_checkpoints_steps=30)
model = tf.estimator.Estimator(model_fn, config=config, params=hparams)
train_input = tf.estimator.inputs.numpy_input_fn({"x": x[:240]}, y[:240], batch_size=40, num_epochs=None, shuffle=True)
test_input = tf.estimator.inputs.numpy_input_fn({"x": x[240:]}, y[240:], batch_size=40, num_epochs=1, shuffle=False)
logged = tf.train.LoggingTensorHook({"p": "softmax"}, every_n_iter=30)
model.train(train_input, steps=60, hooks=[logged])
model.train(train_input, max_steps=100)
assert recorder.calls == ["begin", "after_create_session 0", "end 60", "begin", "after_create_session 60", "end 100"]
assert len(recorder.losses) == 100 and np.mean(recorder.losses[-10:]) < 0.6 * np.mean(recorder.losses[:5])

found = model.evaluate(test_input, name="held")
assert found["accuracy"] > 0.8 and found["recall"] > 0.6, found
classes = [each["classes"] for each in model.predict(test_input, predict_keys="classes")]
np.testing.assert_allclose(np.mean(np.array(classes) == y[240:]), found["accuracy"], rtol=1e-5)
assert os.path.isdir(os.path.join("hooked", "eval_held"))


def tags(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                for value in event.summary.value:
                    found.setdefault(value.tag, []).append(event.step)
    return found


written = tags("hooked")
assert written["accuracy"][:3] == [1, 11, 21] and {"loss", "norm", "probabilities"} <= set(written), written
assert tags("own") == {"rate": [1, 21, 41, 61, 81]}, tags("own")
checkpoints = tf.train.get_checkpoint_state("hooked").all_model_checkpoint_paths
steps = [int(path.rsplit("-", 1)[1]) for path in checkpoints]
assert steps[-1] == 100 and 60 in steps, steps
averaged = model.get_variable_value("layer_0/kernel/ExponentialMovingAverage")
assert 0 < np.abs(averaged - model.get_variable_value("layer_0/kernel")).max() < 0.5
results = {"losses": recorder.losses[::10], "accuracy": float(found["accuracy"]), "steps": steps}
