"""Records what the optimizers of Keras do in five steps, by the real library: python tests/keras/record_optimizers.py

It runs in the Python of `make conformance`, whose tf_keras has the optimizers of TensorFlow 1.15 as `legacy`.
"""

import gzip
import json
import os
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
import tf_keras

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_optimizers.json.gz"
STEPS = 5
SHAPE = (4, 3)


def schedule(name, **config):
    return {"class_name": name, "config": config}


CASES = [
    ("SGD", {}),
    ("SGD", {"learning_rate": 0.1, "decay": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True}),
    ("SGD", {"learning_rate": schedule("ExponentialDecay", initial_learning_rate=0.1, decay_steps=2, decay_rate=0.5)}),
    ("SGD", {"learning_rate": schedule("PiecewiseConstantDecay", boundaries=[1, 3], values=[0.3, 0.2, 0.1])}),
    ("RMSprop", {}),
    ("RMSprop", {"learning_rate": 0.05, "rho": 0.8, "epsilon": 0.01, "decay": 0.1}),
    ("RMSprop", {"centered": True, "learning_rate": 0.01}),
    ("RMSprop", {"momentum": 0.5}),
    ("RMSprop", {"momentum": 0.5, "centered": True, "rho": 0.7}),
    ("Adagrad", {}),
    ("Adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.0, "epsilon": 0.1}),
    ("Adadelta", {}),
    ("Adadelta", {"learning_rate": 1.0, "rho": 0.5, "epsilon": 0.001}),
    ("Adam", {}),
    ("Adam", {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.7, "epsilon": 0.01, "decay": 0.3}),
    ("Adam", {"amsgrad": True, "learning_rate": 0.1, "beta_2": 0.5}),
    ("Adam", {"learning_rate": schedule("PolynomialDecay", initial_learning_rate=0.1, decay_steps=3)}),
    ("Adamax", {}),
    ("Adamax", {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.7, "epsilon": 0.01}),
    ("Nadam", {}),
    ("Nadam", {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.7, "epsilon": 0.01}),
    ("Ftrl", {}),
    ("Ftrl", {"learning_rate": 0.1, "learning_rate_power": -0.7, "initial_accumulator_value": 0.2}),
    ("Ftrl", {"learning_rate": 0.1, "l1_regularization_strength": 0.3, "l2_regularization_strength": 0.2}),
    ("Ftrl", {"learning_rate": 0.1, "l2_shrinkage_regularization_strength": 0.2}),
    ("SGD", {"learning_rate": 0.1, "clipnorm": 1.0}),
    ("Adam", {"learning_rate": 0.1, "clipvalue": 0.5}),
]

SCHEDULES = [
    schedule("ExponentialDecay", initial_learning_rate=0.5, decay_steps=4, decay_rate=0.3),
    schedule("ExponentialDecay", initial_learning_rate=0.5, decay_steps=4, decay_rate=0.3, staircase=True),
    schedule("InverseTimeDecay", initial_learning_rate=0.5, decay_steps=4, decay_rate=0.3),
    schedule("InverseTimeDecay", initial_learning_rate=0.5, decay_steps=4, decay_rate=0.3, staircase=True),
    schedule("PolynomialDecay", initial_learning_rate=0.5, decay_steps=4),
    schedule("PolynomialDecay", initial_learning_rate=0.5, decay_steps=4, end_learning_rate=0.2, power=2.0, cycle=True),
    schedule("PiecewiseConstantDecay", boundaries=[2, 5], values=[1.0, 0.5, 0.25]),
    schedule("CosineDecay", initial_learning_rate=0.5, decay_steps=7, alpha=0.1),
    schedule("CosineDecayRestarts", initial_learning_rate=0.5, first_decay_steps=3, m_mul=0.5),
]


def listed(array):
    return np.asarray(array).tolist()


def optimizer_of(name, config):
    config = dict(config)
    if isinstance(config.get("learning_rate"), dict):
        config["learning_rate"] = schedule_of(config["learning_rate"])
    return getattr(tf_keras.optimizers.legacy, name)(**config)


def schedule_of(described):
    return getattr(tf_keras.optimizers.schedules, described["class_name"])(**described["config"])


def record(name, config, start, gradients):
    """Returns the values of a variable after each step, and the weights of the optimizer after the last one."""
    optimizer, variable, values = optimizer_of(name, config), tf.Variable(start), []
    for gradient in gradients:
        optimizer.apply_gradients([(gradient, variable)])
        values.append(listed(variable))
    names = [weight.name.removeprefix(f"{name}/Variable/") for weight in optimizer.weights]
    return {"values": values, "weights": [listed(value) for value in optimizer.get_weights()], "names": names}


def main():
    random = np.random.RandomState(7)
    start = random.normal(size=SHAPE).round(2).astype(np.float32)
    dense = [random.normal(size=SHAPE).round(2).astype(np.float32) for _ in range(STEPS)]
    rows = [random.normal(size=(3, SHAPE[1])).round(2).astype(np.float32) for _ in range(STEPS)]
    indices = [[0, 2, 0], [1, 0, 2], [2, 2, 2], [0, 1, 0], [1, 2, 1]]  # row 3 has no gradient
    sparse = [tf.IndexedSlices(tf.constant(values), tf.constant(at)) for values, at in zip(rows, indices)]
    cases = []
    for name, config in CASES:
        case = {"class": name, "config": config, "dense": record(name, config, start, map(tf.constant, dense))}
        if "clipnorm" not in config and "clipvalue" not in config:  # repeated rows are clipped before they are summed
            case["sparse"] = record(name, config, start, sparse)
        cases.append(case)
    schedules = [
        {"schedule": each, "rates": [float(schedule_of(each)(step)) for step in range(12)]} for each in SCHEDULES
    ]
    written = {
        "start": listed(start),
        "dense": [listed(each) for each in dense],
        "rows": [listed(each) for each in rows],
        "indices": indices,
        "cases": cases,
        "schedules": schedules,
    }
    FIXTURE.write_bytes(gzip.compress(json.dumps(written).encode(), mtime=0))


if __name__ == "__main__":
    main()
