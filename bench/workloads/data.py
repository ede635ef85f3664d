"""Sizes, batches and first values, equal for every peer, made with NumPy from a fixed seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

MLP_SIZES = (784, 256, 256, 10)
MLP_BATCH = 100
MLP_RATE = 0.001

CNN_CHANNELS = (3, 32, 64, 128)
CNN_IMAGE = 32
CNN_BATCH = 64
CNN_RATE = 0.01
CNN_MOMENTUM = 0.9

CLASSES = 10

Layer = tuple[np.ndarray, np.ndarray]


def mlp_batch() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    x = random.random((MLP_BATCH, MLP_SIZES[0]), np.float32)
    return x, random.integers(0, CLASSES, MLP_BATCH).astype(np.int32)


def mlp_layers() -> list[Layer]:
    random = np.random.default_rng(2)
    return [_layer(random, (rows, columns)) for rows, columns in pairwise(MLP_SIZES)]


def cnn_batch() -> tuple[np.ndarray, np.ndarray]:
    """Returns images as NHWC and their labels."""
    random = np.random.default_rng(3)
    x = random.random((CNN_BATCH, CNN_IMAGE, CNN_IMAGE, CNN_CHANNELS[0]), np.float32)
    return x, random.integers(0, CLASSES, CNN_BATCH).astype(np.int32)


def cnn_layers() -> tuple[list[Layer], Layer]:
    """Returns the convolutions (HWIO filters, biases) and the dense layer after them."""
    random = np.random.default_rng(4)
    convolutions = [_layer(random, (3, 3, *channels)) for channels in pairwise(CNN_CHANNELS)]
    side = CNN_IMAGE // 2 ** len(convolutions)
    return convolutions, _layer(random, (side * side * CNN_CHANNELS[-1], CLASSES))


def _layer(random: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    fan_in = int(np.prod(shape[:-1]))
    weights = random.standard_normal(shape, np.float32) * np.float32(np.sqrt(2.0 / fan_in))
    return weights, np.zeros(shape[-1], np.float32)
