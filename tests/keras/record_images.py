"""Records changes of images by Keras 2, SciPy and Pillow: `.venv-bench/tf/bin/python tests/keras/record_images.py`."""

import gzip
import json
import os
import sys
from pathlib import Path

os.environ.update(TF_USE_LEGACY_KERAS="1", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
sys.path.insert(0, str(Path(__file__).parent))

import image_cases
import numpy as np
import tf_keras as keras

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_images.json.gz"
IMAGE = keras.preprocessing.image


def numbers(value):
    """Returns an array as a list of numbers with six digits."""
    return [float(f"{x:.6g}") for x in np.asarray(value).ravel().tolist()]


if __name__ == "__main__":
    flows = {name: image_cases.flowed(IMAGE.ImageDataGenerator, name) for name in image_cases.GENERATORS}
    answers = {
        "flows": {name: {"x": numbers(x), "y": y.tolist()} for name, (x, y) in flows.items()},
        "fitted": {name: numbers(image_cases.fitted(IMAGE.ImageDataGenerator, name)) for name in image_cases.FITTED},
        "functions": {name: numbers(image_cases.called(IMAGE, name)) for name in image_cases.FUNCTIONS},
    }
    FIXTURE.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))
