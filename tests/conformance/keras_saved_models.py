"""Loads SavedModels of Keras models in TensorFlow's Python, to serve them and to train them: program FOLDER."""

import json
import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
import tf_keras as keras


def answers(path, inputs):
    """Returns the outputs of the signature, of a call, and of the Keras model, and the losses of its further steps."""
    served = tf.saved_model.load(str(path))
    signature = served.signatures["serving_default"](**{name: tf.constant(x) for name, x in inputs["x"].items()})
    arrays = [tf.constant(x) for x in inputs["x"].values()]
    called = served(arrays if len(arrays) > 1 else arrays[0], training=False)
    model = keras.models.load_model(str(path))
    given = [np.float32(x) for x in inputs["x"].values()]
    targets = [np.float32(y) for y in inputs["y"]]
    predicted = model.predict(given if len(given) > 1 else given[0], verbose=0)
    losses = [
        model.train_on_batch(given if len(given) > 1 else given[0], targets if len(targets) > 1 else targets[0])
        for _ in range(2)
    ]
    return {
        "signature": {name: tensor.numpy().tolist() for name, tensor in signature.items()},
        "called": [tensor.numpy().tolist() for tensor in (called if isinstance(called, list | tuple) else [called])],
        "predicted": [
            np.asarray(each).tolist() for each in (predicted if isinstance(predicted, list) else [predicted])
        ],
        "losses": [float(np.ravel(loss)[0]) for loss in losses],
    }


def main(folder):
    for path in sorted(folder.glob("*.inputs.json")):
        name = path.name.removesuffix(".inputs.json")
        found = answers(folder / name, json.loads(path.read_text()))
        (folder / f"{name}.answers.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
