"""Saves models as TensorFlow 2 does; runs in TensorFlow's Python: python tensorflow_2_models.py FOLDER.

Each model is a SavedModel in a folder of its name, beside a file with inputs and outputs of its default signature.
"""

import os
import sys

import numpy as np
import tensorflow as tf

import keras

WORDS = ["apple", "bread", "cheese", "dates"]


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


class Affine(tf.Module):
    """A module with functions that call each other, and a variable that a call changes."""

    def __init__(self):
        self.w = tf.Variable(numbers(3, 4, seed=1), name="w")
        self.b = tf.Variable(numbers(4, seed=2), name="b")
        self.calls = tf.Variable(0, name="calls")

    @tf.function
    def layer(self, x):
        return tf.tanh(x @ self.w + self.b)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def __call__(self, x):
        self.calls.assign_add(1)
        return {"y": self.layer(x) + self.layer(2 * x), "calls": self.calls.read_value()}


class Branches(tf.Module):
    """A module with conditionals and loops on tensors, nested."""

    def __init__(self):
        self.scale = tf.Variable(1.5, name="scale")
        self.total = tf.Variable(0.0, name="total")

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.float32, name="x"), tf.TensorSpec([], tf.int32, name="which")]
    )
    def __call__(self, x, which):
        if tf.reduce_sum(x) > 0:
            y = x * self.scale
            self.total.assign_add(tf.reduce_sum(x))
        else:
            y = -x
        steps = 0
        while tf.reduce_max(y) < 100:
            steps += 1
            for i in tf.range(3):
                if i % 2 == 0:
                    y = y * 1.5
                else:
                    y = y + tf.cast(i, tf.float32)
            if steps > 20:
                break
        rows = tf.TensorArray(tf.float32, size=4, element_shape=[])
        for i in tf.range(4):
            rows = rows.write(i, tf.reduce_sum(y) + tf.cast(i, tf.float32))
        z = tf.switch_case(which, [lambda: y, lambda: y * 2, lambda: tf.reverse(y, [0])])
        return {"y": y, "z": z, "steps": steps, "rows": rows.stack(), "total": self.total.read_value()}


class Vocabulary(tf.Module):
    """A module with a table that an asset initializes."""

    def __init__(self, path):
        source = tf.lookup.TextFileInitializer(
            path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.table = tf.lookup.StaticHashTable(source, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def __call__(self, words):
        return {"ids": self.table.lookup(tf.strings.lower(words))}


def dense():
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((5,), name="x"), layers.Dense(7, "relu"), layers.Dropout(0.5), layers.Dense(3, "softmax")]
    )


def convolutional():
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 3), name="x"),
            layers.Conv2D(4, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(2),
        ]
    )


def recurrent():
    layers = keras.layers
    x = keras.Input((6, 3), name="x")
    y = layers.LSTM(4, return_sequences=True)(x)
    y = layers.Bidirectional(layers.GRU(3))(y)
    return keras.Model(x, layers.Dense(2)(y))


def textual():
    layers = keras.layers
    x = keras.Input((4,), dtype="string", name="x")
    y = layers.StringLookup(vocabulary=WORDS)(x)
    y = layers.Embedding(6, 5)(y)
    return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))


def words(folder):
    path = os.path.join(folder, "words.txt")
    with open(path, "w") as file:
        file.write("\n".join(WORDS) + "\n")
    return path


def main(folder):
    keras.utils.set_random_seed(4)
    text = np.array([["bread", "dates", "none", "apple"], ["cheese"] * 4])
    models = {
        "affine": (Affine(), [{"x": numbers(2, 3)}, {"x": numbers(5, 3, seed=5)}]),
        "branches": (
            Branches(),
            [{"x": numbers(3) * sign, "which": np.int32(which)} for sign, which in ((1, 0), (-1, 1), (1, 2), (-1, 7))],
        ),
        "vocabulary": (Vocabulary(words(folder)), [{"words": np.array(["Bread", "DATES", "none"])}]),
        "dense": (dense(), [{"x": numbers(4, 5)}]),
        "convolutional": (convolutional(), [{"x": numbers(2, 8, 8, 3)}]),
        "recurrent": (recurrent(), [{"x": numbers(3, 6, 3)}]),
        "textual": (textual(), [{"x": text}]),
    }
    for name, (model, calls) in models.items():
        path = os.path.join(folder, name)
        if isinstance(model, keras.Model):
            model.export(path, verbose=False)
        else:
            tf.saved_model.save(model, path)
        serve = tf.saved_model.load(path).signatures["serving_default"]
        kept = {}
        for number, feeds in enumerate(calls):
            results = serve(**{key: tf.constant(value) for key, value in feeds.items()})
            kept.update({f"{number}/in/{key}": np.asarray(value) for key, value in feeds.items()})
            kept.update({f"{number}/out/{key}": value.numpy() for key, value in results.items()})
        np.savez(os.path.join(folder, f"{name}.npz"), **kept)
    os.remove(os.path.join(folder, "words.txt"))


main(sys.argv[1])
