"""Records what the real Keras 2 gives for the programs of training_programs.py: python record_training.py FILE."""

import json
import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
import tf_keras
from tf_keras.api._v1 import keras
from training_programs import PROGRAMS

tf.compat.v1.disable_v2_behavior()


def main(path):
    answers = {}
    for name, program in PROGRAMS.items():
        tf_keras.backend.clear_session()
        answers[name] = program(keras)
    with open(path, "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main(sys.argv[1])
