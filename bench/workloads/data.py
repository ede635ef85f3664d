"""Sizes, batches and initial values, equal for every peer, generated with NumPy from a fixed seed."""

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

ALL_REDUCE_FLOATS = 25_000_000  # 100 MB

LOOP_ITERATIONS = 1000

EAGER_CALLS = 1000  # of one operation, in a step

LSTM_STEPS = 50
LSTM_LONG_STEPS = 500
LSTM_SHORTEST = 5
LSTM_BATCH = 32
LSTM_WIDTH = 128
LSTM_RATE = 0.1

QUEUE_ELEMENTS = 2000
QUEUE_CAPACITY = 100

RECORDS = 20_000
RECORD_FLOATS = 256
RECORD_BATCH = 128
SHUFFLED = 10_000
PREFETCHED_BYTES = 1 << 20  # eight batches

CHECKPOINT_VARIABLES = 16
CHECKPOINT_ROWS = 16_384  # of 1024 floats: 64 MiB a variable

WIDE_SIZES = (784, 2048, 2048, 10)
SAVING_STEPS = 100  # a few seconds, enough for several checkpoints

TABLE_ROWS = 1_000_000
TABLE_WIDTH = 16
LOOKED_UP = 32
LOOKUPS = 64  # batches of random rows, used one after another
DENSE_FLOATS = 25_000_000  # 100 MB
CLUSTER_NODES = 10_000
CLUSTER_RUN = 25  # consecutive nodes on one task: a tower of 100 nodes passes through four tasks
SCALING_WORKERS = 8

Layer = tuple[np.ndarray, np.ndarray]


def mlp_batch() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    x = random.random((MLP_BATCH, MLP_SIZES[0]), np.float32)
    return x, random.integers(0, CLASSES, MLP_BATCH).astype(np.int32)


def mlp_layers(sizes: tuple[int, ...] = MLP_SIZES) -> list[Layer]:
    random = np.random.default_rng(2)
    return [_layer(random, (rows, columns)) for rows, columns in pairwise(sizes)]


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


def lstm_batch(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns time-major inputs, and the targets of the last output."""
    random = np.random.default_rng(5)
    x = random.standard_normal((steps, LSTM_BATCH, LSTM_WIDTH), np.float32)
    return x, random.random((LSTM_BATCH, LSTM_WIDTH), np.float32)


def lstm_weights() -> Layer:
    """Returns one matrix for input and state, and biases, for the gates i, j, f, o; f starts open."""
    random = np.random.default_rng(6)
    weights = random.standard_normal((2 * LSTM_WIDTH, 4 * LSTM_WIDTH), np.float32) / np.float32(16)
    bias = np.zeros((4, LSTM_WIDTH), np.float32)
    bias[2] = 1
    return weights, bias.reshape(-1)


def lstm_lengths() -> np.ndarray:
    return np.random.default_rng(7).integers(LSTM_SHORTEST, LSTM_STEPS + 1, LSTM_BATCH).astype(np.int32)


def lookups() -> list[np.ndarray]:
    random = np.random.default_rng(8)
    return [random.integers(0, TABLE_ROWS, LOOKED_UP).astype(np.int32) for _ in range(LOOKUPS)]


def _layer(random: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    fan_in = int(np.prod(shape[:-1]))
    weights = random.standard_normal(shape, np.float32) * np.float32(np.sqrt(2.0 / fan_in))
    return weights, np.zeros(shape[-1], np.float32)
