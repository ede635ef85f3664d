"""A bidirectional LSTM over padded sequences finds out whether a token comes before another one."""

import numpy as np
import tensorflow as tf
from numpy.random import RandomState

np.random.seed(1)
tf.set_random_seed(1)
FIRST, SECOND, LENGTH = 5, 6, 8
rng = RandomState(2)


def sentences(count):
    lists, labels = [], []
    for _ in range(count):
        words = list(rng.randint(7, 12, size=rng.randint(3, 7)))
        label = rng.randint(2)
        places = sorted(rng.choice(len(words) + 1, 2, replace=False))
        pair = (FIRST, SECOND) if label else (SECOND, FIRST)
        words.insert(places[1], pair[1])
        words.insert(places[0], pair[0])
        lists.append(words)
        labels.append(label)
    return tf.keras.preprocessing.sequence.pad_sequences(lists, maxlen=LENGTH), np.array(labels)


x_train, y_train = sentences(240)
x_test, y_test = sentences(80)

words = tf.keras.Input(shape=(LENGTH,), dtype="int32", name="words")
embedded = tf.keras.layers.Embedding(input_dim=12, output_dim=6, mask_zero=True)(words)
state = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(8))(embedded)
output = tf.keras.layers.Dense(2, activation="softmax")(state)
model = tf.keras.Model(words, output)
model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
tf.keras.backend.set_value(model.optimizer.lr, 0.02)
assert abs(float(tf.keras.backend.get_value(model.optimizer.lr)) - 0.02) < 1e-7

model.fit({"words": x_train}, y_train, batch_size=40, epochs=12, verbose=0)
accuracy = model.evaluate(x_test, y_test, batch_size=80, verbose=0)[1]
assert accuracy > 0.9, accuracy

# Zeros are padding: a shorter sequence has the same prediction, however much of it there is.
row = np.array([[0, 0, 0, 0, 7, FIRST, 8, SECOND]])
wider = tf.keras.preprocessing.sequence.pad_sequences(row, maxlen=LENGTH)
np.testing.assert_allclose(model.predict(row), model.predict(wider), rtol=1e-5)

same = tf.keras.Model.from_config(model.get_config())
same.set_weights(model.get_weights())
np.testing.assert_allclose(same.predict(x_test), model.predict(x_test), rtol=1e-4, atol=1e-6)
assert [w.name.split("/")[-1] for w in model.weights][:3] == ["embeddings:0", "kernel:0", "recurrent_kernel:0"]
results = {"accuracy": float(accuracy), "parameters": model.count_params()}
