"""One peer in one process that trains Keras models: answers requests, one JSON value per line.

    python high_level_worker.py thalweg|tensorflow

A request is the name of a program and a number of examples; the answer, the steps per second of one epoch of `fit`.
Thalweg also answers how many steps per second an Estimator makes, and a MonitoredTrainingSession, in so many steps.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np
from workloads import data


def load(name: str) -> Any:
    """Returns the Keras of a peer, with models that run in sessions."""
    if name == "thalweg":
        import thalweg as tf

        return tf.keras
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow as tf
    from tf_keras.api._v1 import keras

    tf.compat.v1.disable_v2_behavior()
    return keras


def mlp(keras: Any) -> Any:
    layers, (given, first, second, classes) = keras.layers, data.MLP_SIZES
    model = keras.Sequential(
        [
            layers.Dense(first, "relu", input_shape=(given,)),
            layers.Dense(second, "relu"),
            layers.Dense(classes, "softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(data.MLP_RATE), "sparse_categorical_crossentropy")
    return model


def cnn(keras: Any) -> Any:
    layers, parts = keras.layers, []
    image = (data.CNN_IMAGE, data.CNN_IMAGE, data.CNN_CHANNELS[0])
    for index, channels in enumerate(data.CNN_CHANNELS[1:]):
        given = {} if index else {"input_shape": image}
        parts += [layers.Conv2D(channels, 3, padding="same", activation="relu", **given), layers.MaxPooling2D()]
    model = keras.Sequential([*parts, layers.Flatten(), layers.Dense(data.CLASSES, "softmax")])
    model.compile(keras.optimizers.SGD(data.CNN_RATE, data.CNN_MOMENTUM), "sparse_categorical_crossentropy")
    return model


def rate_of(program: str, steps: int) -> float:
    """Returns the steps per second of a program without Keras."""
    from workloads import estimator_programs

    return float(getattr(estimator_programs, program)(steps))


PROGRAMS = {"mlp": (mlp, data.MLP_BATCH), "cnn": (cnn, data.CNN_BATCH)}


def main() -> None:
    keras = load(sys.argv[1])
    models: dict[str, Any] = {}
    print("ready", flush=True)
    for line in sys.stdin:
        program, examples = json.loads(line)
        if program not in PROGRAMS:
            print(json.dumps(rate_of(program, examples)), flush=True)
            continue
        make, batch = PROGRAMS[program]
        if program not in models:
            rng, model = np.random.default_rng(0), make(keras)
            inputs = rng.random((examples, *model.input_shape[1:]), np.float32)
            models[program] = model, inputs, rng.integers(0, data.CLASSES, examples)
        model, inputs, labels = models[program]
        start = time.perf_counter()
        model.fit(inputs, labels, batch_size=batch, epochs=1, verbose=0)
        print(json.dumps(examples / batch / (time.perf_counter() - start)), flush=True)


if __name__ == "__main__":
    main()
