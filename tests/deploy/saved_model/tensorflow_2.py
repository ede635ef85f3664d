"""Models that TensorFlow 2 saved, with inputs and outputs of their signatures, and how they are served here."""

from pathlib import Path

import numpy as np

import thalweg as tf

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "tensorflow_2_models"
MODELS = ("affine", "branches", "convolutional", "dense", "recurrent", "textual", "vocabulary")


def assert_served(folder, name):
    """Serves the default signature of a model, and compares with the outputs that TensorFlow gave, call by call."""
    kept = np.load(folder / f"{name}.npz")
    with tf.Session(graph=tf.Graph()) as session:
        message = tf.saved_model.load(session, [tf.saved_model.SERVING], str(folder / name))
        signature = message.signature_def["serving_default"]
        for number in sorted({key.partition("/")[0] for key in kept}, key=int):
            given, expected = (
                {key.removeprefix(start): kept[key] for key in kept if key.startswith(start)}
                for start in (f"{number}/in/", f"{number}/out/")
            )
            feeds = {signature.inputs[key].name: value for key, value in given.items()}
            found = session.run({key: signature.outputs[key].name for key in expected}, feeds)
            for key, value in expected.items():
                np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
