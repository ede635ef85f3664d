"""Writes HDF5 files of the real Keras 2, with what it gives after them: python record_models.py FOLDER."""

import json
import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tf_keras as keras

X = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
Y = np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 1]]


def functional():
    inputs = keras.layers.Input((4,), name="i")
    hidden = keras.layers.Dense(3, activation="relu", name="h", kernel_regularizer="l2")(inputs)
    return keras.Model(inputs, keras.layers.Dense(2, activation="softmax", name="o")(hidden), name="net")


def sequential():
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Dense(5, activation="tanh", input_shape=(4,)),
            layers.Dropout(0.0),
            layers.Dense(2, activation="softmax"),
        ]
    )


def main(folder):
    for make in (functional, sequential):
        keras.backend.clear_session()
        model = make()
        optimizer = keras.optimizers.legacy.Adam(0.01) if make is functional else keras.optimizers.legacy.RMSprop(0.01)
        model.compile(optimizer, "categorical_crossentropy", metrics=["accuracy"])
        model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
        model.save(f"{folder}/{make.__name__}.h5")
        outputs = model.predict(X, verbose=0).tolist()
        continued = []
        for _ in range(3):
            continued.append([float(value) for value in model.train_on_batch(X, Y)])
            model.reset_metrics()
        with open(f"{folder}/{make.__name__}.json", "w") as file:
            json.dump({"outputs": outputs, "continued": continued}, file)


if __name__ == "__main__":
    main(sys.argv[1])
