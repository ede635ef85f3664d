"""Records the networks of Keras 2: `.venv-bench/tf/bin/python tests/keras/record_applications.py`."""

import json
import os
import sys
from pathlib import Path

os.environ.update(TF_USE_LEGACY_KERAS="1", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
sys.path.insert(0, str(Path(__file__).parent))

import application_cases
import numpy as np
import tf_keras as keras

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_applications.json"


def network(name):
    """Returns what Keras says of one network: its layers, and the outputs of a small one."""
    make = getattr(keras.applications, name)
    keras.backend.clear_session()
    found = application_cases.description_of(make(weights=None))
    keras.backend.clear_session()
    model = make(**application_cases.arguments_of(name))
    model.set_weights(application_cases.weights_of([(w.name, w.shape.as_list()) for w in model.weights]))
    outputs = model(application_cases.image_of(name), training=False)
    return {**found, "outputs": [float(f"{x:.7g}") for x in application_cases.summary_of(outputs)]}


def images():
    """Returns images as each kind of network takes them, in both places of channels."""
    values = np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3) * 10
    found = {}
    for mode in ("caffe", "tf", "torch"):
        for data_format in ("channels_last", "channels_first"):
            given = values if data_format == "channels_last" else values.transpose(0, 3, 1, 2)
            done = keras.applications.imagenet_utils.preprocess_input(given.copy(), data_format, mode)
            found[f"{mode} {data_format}"] = [round(float(x), 5) for x in done.ravel()]
    return found


if __name__ == "__main__":
    answers = {"networks": {name: network(name) for name in application_cases.NETWORKS}, "images": images()}
    FIXTURE.write_text(json.dumps(answers, indent=1) + "\n")
