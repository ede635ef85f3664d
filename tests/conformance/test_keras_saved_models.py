"""TensorFlow serves the Keras models that we save, and the real Keras 2 loads them and trains them on."""

import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.conformance.tensorflow import PYTHON, environment, needs_tensorflow
from tests.keras.saved_models import MODELS, data, losses_of, outputs_of, trained

pytestmark = [needs_tensorflow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """Returns, by model, what we give and what TensorFlow gives after loading it."""
    folder = tmp_path_factory.mktemp("models")
    ours = {}
    for name in MODELS:
        with tf.Graph().as_default():
            model = trained(tf.keras, name)
            model.save(str(folder / name), save_format="tf")
            x, y = (part if isinstance(part, list) else [part] for part in data(name))
            inputs = {key: part.tolist() for key, part in zip(model.input_names, x, strict=True)}
            (folder / f"{name}.inputs.json").write_text(json.dumps({"x": inputs, "y": [part.tolist() for part in y]}))
            ours[name] = model.output_names, outputs_of(model, name), losses_of(model, name)
    program = Path(__file__).with_name("keras_saved_models.py")
    children.run([PYTHON, "-P", program, folder], timeout=500, env=environment())
    return {name: (*ours[name], json.loads((folder / f"{name}.answers.json").read_text())) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_equal_numbers(answered, name):
    names, outputs, losses, theirs = answered[name]
    assert sorted(theirs["signature"]) == sorted(names)
    for key, expected, called, predicted in zip(names, outputs, theirs["called"], theirs["predicted"], strict=True):
        for found in (theirs["signature"][key], called, predicted):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    steps = 2 if name == "nested" else 1  # Keras does not restore the slots of optimizers from SavedModels
    np.testing.assert_allclose(theirs["losses"][:steps], losses[:steps], rtol=1e-4)
