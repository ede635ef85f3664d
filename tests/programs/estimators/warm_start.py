"""A model starts from variables of another one: some by name, some renamed, an embedding with a larger vocabulary."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(5)
OLD, NEW = ["apple", "pear", "plum"], ["quince", "pear", "apple", "plum"]
for name, words in (("old.txt", OLD), ("new.txt", NEW)):
    with open(name, "w") as file:
        file.write("\n".join(words) + "\n")
sweetness = {"apple": 1.0, "pear": 2.0, "plum": -1.0, "quince": -2.0}


def input_fn(words, epochs=None, count=120):
    fruit = rng.choice(words, count)
    size = rng.uniform(size=count).astype(np.float32)
    taste = np.array([sweetness[each] for each in fruit], np.float32) + 2 * size
    dataset = tf.data.Dataset.from_tensor_slices(({"fruit": fruit, "size": size}, taste))
    return dataset.repeat(epochs).batch(30)


def columns(vocabulary, size):
    fruit = tf.feature_column.categorical_column_with_vocabulary_file("fruit", vocabulary, vocabulary_size=size)
    return [tf.feature_column.embedding_column(fruit, 3), tf.feature_column.numeric_column("size")]


def make(folder, vocabulary, size, warm_start_from=None):
    return tf.estimator.DNNRegressor(
        hidden_units=[8],
        feature_columns=columns(vocabulary, size),
        model_dir=folder,
        optimizer="Adam",
        config=tf.estimator.RunConfig(tf_random_seed=6, log_step_count_steps=None),
        warm_start_from=warm_start_from,
    )


EMBEDDING = "dnn/input_from_feature_columns/input_layer/fruit_embedding/embedding_weights"
old = make("old", "old.txt", 3)
old.train(lambda: input_fn(OLD), steps=200)
before = old.evaluate(lambda: input_fn(OLD, 1))["average_loss"]

# All variables by name: after one more step the model is still much better than one that starts anew.
same = make("same", "old.txt", 3, warm_start_from="old")
same.train(lambda: input_fn(OLD), steps=1)
after = same.evaluate(lambda: input_fn(OLD, 1))["average_loss"]
cold = make("cold", "old.txt", 3)
cold.train(lambda: input_fn(OLD), steps=1)
started = cold.evaluate(lambda: input_fn(OLD, 1))["average_loss"]
assert before < 0.01 and after < 0.2 * started, (before, after, started)

# The rows of an embedding follow their words into another vocabulary; those of new words are initialized.
info = tf.estimator.VocabInfo(
    new_vocab="new.txt", new_vocab_size=4, num_oov_buckets=0, old_vocab="old.txt", old_vocab_size=3
)
settings = tf.estimator.WarmStartSettings(
    ckpt_to_initialize_from=old.latest_checkpoint(),
    vars_to_warm_start=".*(input_layer|hiddenlayer).*",
    var_name_to_vocab_info={EMBEDDING: info},
)
larger = make("larger", "new.txt", 4, warm_start_from=settings)
larger.train(lambda: input_fn(NEW), steps=1)
rows, source = larger.get_variable_value(EMBEDDING), old.get_variable_value(EMBEDDING)
assert rows.shape == (4, 3)
np.testing.assert_allclose(rows[[2, 1, 3]], source, atol=0.06)
assert np.abs(larger.get_variable_value("dnn/logits/kernel") - old.get_variable_value("dnn/logits/kernel")).max() > 0.05
larger.train(lambda: input_fn(NEW), steps=200)
final = larger.evaluate(lambda: input_fn(NEW, 1))["average_loss"]
assert final < 0.3, final


# A model function of our own starts from the same checkpoint under other names.
def model_fn(features, labels, mode):
    with tf.variable_scope("tower"):
        hidden = tf.get_variable("kernel", [4, 8])
    loss = tf.reduce_sum(tf.square(hidden)) * 0.0
    step = tf.assign_add(tf.train.get_global_step(), 1)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


renamed = tf.estimator.Estimator(
    model_fn,
    "renamed",
    warm_start_from=tf.estimator.WarmStartSettings(
        "old", "tower/.*", var_name_to_prev_var_name={"tower/kernel": "dnn/hiddenlayer_0/kernel"}
    ),
)
renamed.train(lambda: input_fn(OLD), steps=1)
np.testing.assert_array_equal(
    renamed.get_variable_value("tower/kernel"), old.get_variable_value("dnn/hiddenlayer_0/kernel")
)
results = {"before": float(before), "after": float(after), "cold": float(started), "final": float(final)}
