"""A program that was written for TPUs runs with use_tpu=False: batch sizes in params, metric functions, a host call."""

import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
tpu = tf.contrib.tpu
rng = np.random.RandomState(10)
images = rng.normal(0, 0.5, size=(240, 6, 6, 1)).astype(np.float32)
labels = rng.randint(3, size=240).astype(np.int32)
for index, label in enumerate(labels):
    images[index, 2 * label : 2 * label + 2] += 1.0
seen = []


class Flags(object):
    use_tpu = False
    iterations = 20
    batch_size = 30


def input_fn(params):
    batch_size = params["batch_size"]
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(240, seed=1).repeat()
    return dataset.batch(batch_size, drop_remainder=True).prefetch(2)


def predict_input_fn(params):
    return tf.data.Dataset.from_tensor_slices(images).batch(params["batch_size"])


def metric_fn(labels, logits):
    predictions = tf.argmax(logits, axis=1)
    return {
        "accuracy": tf.metrics.accuracy(labels, predictions),
        "top": tf.metrics.mean(tf.nn.in_top_k(logits, labels, 2)),
    }


def model_fn(features, labels, mode, params):
    seen.append((mode, params.get("batch_size"), params["use_tpu"]))
    net = tf.layers.conv2d(features, 8, 3, activation=tf.nn.relu)
    logits = tf.layers.dense(tf.layers.flatten(net), 3)
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"class": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits)}
        outputs = {"classify": tf.estimator.export.PredictOutput(predictions)}
        return tpu.TPUEstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))
    optimizer = tf.train.MomentumOptimizer(params["rate"], 0.9)
    if params["sharded"]:
        optimizer = tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())

    def host_call_fn(step, loss):
        step = step[0]
        writer = tf.contrib.summary.create_file_writer(params["folder"], max_queue=10)
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.scalar("host_loss", loss[0], step=step)
            return tf.contrib.summary.all_summary_ops()

    step = tf.reshape(tf.train.get_global_step(), [1])
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=(host_call_fn, [step, tf.reshape(loss, [1])])
    )


config = tpu.RunConfig(
    cluster=None,
    model_dir="tpu",
    tf_random_seed=5,
    session_config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False),
    tpu_config=tpu.TPUConfig(
        Flags.iterations, num_shards=8, per_host_input_for_training=tpu.InputPipelineConfig.PER_HOST_V2
    ),
)
model = tpu.TPUEstimator(
    model_fn=model_fn,
    use_tpu=Flags.use_tpu,
    config=config,
    train_batch_size=Flags.batch_size,
    eval_batch_size=40,
    predict_batch_size=24,
    params={"rate": 0.05, "sharded": True, "folder": "host"},
)
model.train(input_fn=input_fn, max_steps=60)
found = model.evaluate(input_fn=input_fn, steps=6)
assert found["global_step"] == 60 and found["accuracy"] > 0.9 and found["top"] >= found["accuracy"], found
predicted = [int(each["class"]) for each in model.predict(predict_input_fn)]
assert len(predicted) == 240 and np.mean(np.array(predicted) == labels) > 0.9


def serving_input_receiver_fn():
    images = tf.placeholder(tf.float32, [None, 6, 6, 1], name="images")
    return tf.estimator.export.TensorServingInputReceiver(images, images)


folder = model.export_saved_model("export", serving_input_receiver_fn)
served = tf.contrib.predictor.from_saved_model(folder.decode(), signature_def_key="classify")({"input": images})
assert served["class"].tolist() == predicted
assert seen == [("train", 30, False), ("eval", 40, False), ("infer", 24, False), ("infer", None, False)], seen

events = [
    (event.step, value.tag)
    for name in os.listdir("host")
    for event in tf.train.summary_iterator(os.path.join("host", name))
    for value in event.summary.value
]
assert len(events) == 60 and {tag for _, tag in events} == {"host_loss"}, events
results = {"accuracy": float(found["accuracy"]), "modes": [mode for mode, _, _ in seen]}
