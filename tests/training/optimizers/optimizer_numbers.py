"""Training runs of every optimizer, and what TensorFlow 2.21 makes of them.

`python tests/training/optimizers/optimizer_numbers.py`, in an environment with tensorflow 2.21, prints EXPECTED anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

OPTIMIZERS = {
    "gradient_descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "no_momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.0),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(1.0, 0.9, 1e-2),
    "rms_prop": lambda tf: tf.train.RMSPropOptimizer(0.1),
    "rms_prop_momentum": lambda tf: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
    "rms_prop_centered": lambda tf: tf.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3, centered=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "adam_betas": lambda tf: tf.train.AdamOptimizer(0.05, 0.5, 0.9, 1e-2),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.5),
    "ftrl_l1_l2": lambda tf: tf.train.FtrlOptimizer(
        0.5, l1_regularization_strength=0.2, l2_regularization_strength=0.1
    ),
    "ftrl_power": lambda tf: tf.train.FtrlOptimizer(0.5, learning_rate_power=-0.7, initial_accumulator_value=0.3),
    "ftrl_shrinkage": lambda tf: tf.train.FtrlOptimizer(
        0.5, l1_regularization_strength=0.1, l2_shrinkage_regularization_strength=0.2
    ),
    "proximal_gradient_descent": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1),
    "proximal_gradient_descent_l1_l2": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1, 0.6, 0.3),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1),
    "proximal_adagrad_l1_l2": lambda tf: tf.train.ProximalAdagradOptimizer(0.5, 0.3, 0.4, 0.2),
    "adagrad_da": lambda tf: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "adagrad_da_l1_l2": lambda tf: tf.train.AdagradDAOptimizer(
        0.5, tf.train.get_or_create_global_step(), 0.3, 0.2, 0.1
    ),
}
STEPS = 6


def train(tf: Any, name: str, dtype: str = "float32") -> list[float]:
    """Returns a dense and an embedding variable after some steps with given gradients, in one list."""
    rng = np.random.default_rng(5)
    with tf.Graph().as_default():
        w = tf.Variable(rng.normal(size=(2, 2)).astype(dtype), name="w", use_resource=True)
        e = tf.Variable(rng.normal(size=(4, 2)).astype(dtype), name="e", use_resource=True)
        dense, values = tf.placeholder(dtype, [2, 2]), tf.placeholder(dtype, [3, 2])
        indices = tf.placeholder("int32", [3])
        sparse = tf.IndexedSlices(values, indices, tf.constant([4, 2]))
        optimizer, count = OPTIMIZERS[name](tf), tf.train.get_or_create_global_step()
        step = optimizer.apply_gradients([(dense, w), (sparse, e)], count)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in range(STEPS):
                feeds = {
                    dense: rng.normal(size=(2, 2)).astype(dtype),
                    values: rng.normal(size=(3, 2)).astype(dtype),
                    indices: np.array([[3, 0, 3], [1, 1, 0]][i % 2], "int32"),
                }
                session.run(step, feeds)
            return [float(x) for value in session.run([w, e]) for x in value.ravel()]


# fmt: off
EXPECTED = {
    "gradient_descent": [
        -0.509369, -1.305297, -0.196559, 0.670689, 0.981301, 0.297088,
        -0.351093, -0.478757, 0.748746, 1.634783, 0.115201, -1.249371,
    ],
    "momentum": [
        0.147777, -1.585962, 0.075679, 1.218855, 1.174136, 0.885368,
        0.114653, -0.203266, 0.748746, 1.634783, 0.244382, -1.087612,
    ],
    "nesterov": [
        0.345369, -1.540739, 0.095077, 1.389258, 1.015582, 0.995183,
        0.249478, 0.044606, 0.748746, 1.634783, 0.089653, -1.118226,
    ],
    "no_momentum": [
        -0.509369, -1.305297, -0.196559, 0.670689, 0.981301, 0.297088,
        -0.351093, -0.478757, 0.748746, 1.634783, 0.115201, -1.249372,
    ],
    "adagrad": [
        -0.614158, -1.330619, -0.262892, 0.551509, 1.167918, 0.299234,
        -0.475042, -0.590431, 0.748746, 1.634783, 0.262929, -1.159708,
    ],
    "adadelta": [
        -0.101954, -1.179857, -0.194865, 0.947616, 0.908273, 0.764328,
        -0.343113, -0.036725, 0.748746, 1.634783, 0.124613, -1.089250,
    ],
    "rms_prop": [
        -0.516967, -1.292082, -0.189304, 0.667139, 1.014340, 0.304004,
        -0.397204, -0.510275, 0.748746, 1.634783, 0.144864, -1.243711,
    ],
    "rms_prop_momentum": [
        -0.325240, -1.298318, -0.036615, 0.820365, 1.031211, 0.523112,
        -0.284561, -0.409754, 0.748746, 1.634783, 0.225119, -1.150248,
    ],
    "rms_prop_centered": [
        -0.284423, -1.306637, -0.017529, 0.844082, 1.029475, 0.562621,
        -0.262309, -0.382421, 0.748746, 1.634783, 0.219133, -1.146277,
    ],
    "adam": [
        -0.410525, -1.475950, -0.294802, 0.698353, 1.337695, 0.522261,
        -0.305755, -0.475118, 0.748746, 1.634783, 0.445352, -0.947234,
    ],
    "adam_betas": [
        -0.634830, -1.332120, -0.246395, 0.538548, 1.159305, 0.281299,
        -0.469629, -0.615305, 0.748746, 1.634783, 0.279695, -1.156948,
    ],
    "ftrl": [
        0.388242, -1.098881, -0.111977, 1.000254, 0.785304, 0.997684,
        -0.098491, 0.651992, 0.748746, 1.634783, 0.122971, -0.297487,
    ],
    "ftrl_l1_l2": [
        0.342652, -0.973678, 0.042041, 0.895004, 0.531113, 0.745441,
        -0.061762, 0.522243, 0.748746, 1.634783, 0.000000, -0.232937,
    ],
    "ftrl_power": [
        0.251195, -1.094890, -0.071575, 0.830251, 0.756858, 0.852507,
        -0.233344, 0.529481, 0.748746, 1.634783, 0.206472, -0.148210,
    ],
    "ftrl_shrinkage": [
        0.405623, -0.413570, 0.064790, 0.647526, 0.038774, 0.486242,
        -0.046704, 0.764106, 0.748746, 1.634783, -0.106296, -0.012118,
    ],
    "proximal_gradient_descent": [
        -0.509369, -1.305297, -0.196559, 0.670689, 0.981301, 0.297088,
        -0.351093, -0.478757, 0.748746, 1.634783, 0.115201, -1.249372,
    ],
    "proximal_gradient_descent_l1_l2": [
        -0.085357, -0.754729, -0.064172, 0.250463, 0.467888, -0.000000,
        -0.155509, -0.260100, 0.748746, 1.634783, -0.000000, -0.979734,
    ],
    "proximal_adagrad": [
        -0.614158, -1.330619, -0.262892, 0.551509, 1.167918, 0.299234,
        -0.475042, -0.590431, 0.748746, 1.634783, 0.262929, -1.159708,
    ],
    "proximal_adagrad_l1_l2": [
        0.130600, -0.403709, 0.000000, 0.344344, 0.143108, 0.000000,
        -0.068552, 0.206448, 0.748746, 1.634783, -0.203036, -0.316120,
    ],
    "adagrad_da": [
        0.120165, 0.009101, 0.024274, 0.114093, -0.051379, 0.101090,
        0.072839, 0.130841, 0.748746, 1.634783, -0.064313, -0.009478,
    ],
    "adagrad_da_l1_l2": [
        0.310877, 0.000000, 0.000000, 0.256542, -0.051938, 0.152668,
        0.131411, 0.346896, 0.748746, 1.634783, -0.105032, -0.000000,
    ],
}
# fmt: on


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    print("EXPECTED = {")
    for key in OPTIMIZERS:
        values = [f"{x:.6f}" for x in train(tensorflow, key)]
        print(f'    "{key}": [\n        {", ".join(values[:6])},\n        {", ".join(values[6:])},\n    ],')
    print("}")
