"""The same steps in idiomatic PyTorch: channels last, fused optimizers, optionally compiled."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from workloads import data, records

try:
    from google_crc32c import value as crc32c
except ImportError:
    crc32c = None

Step = Callable[[], Any]


def session_run() -> Step:
    def step() -> float:
        return (torch.tensor(1.0) + 1.0).item()

    return step


def mlp(compiled: bool = False) -> Step:
    modules: list[nn.Module] = []
    for layer in data.mlp_layers():
        modules += [_linear(layer), nn.ReLU()]
    model = nn.Sequential(*modules[:-1])
    optimizer = torch.optim.Adam(model.parameters(), data.MLP_RATE, fused=True)
    return _training(model, optimizer, data.mlp_batch(), compiled)


def cnn(compiled: bool = False, replicate: Callable[[nn.Module], nn.Module] = lambda model: model) -> Step:
    convolutions, dense = data.cnn_layers()
    modules: list[nn.Module] = []
    for layer in convolutions:
        modules += [_convolution(layer), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*modules, Flatten(), _linear(dense)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), data.CNN_RATE, momentum=data.CNN_MOMENTUM, fused=True)
    return _training(replicate(model), optimizer, data.cnn_batch(), compiled)


def lstm(compiled: bool = False) -> Step:
    """Trains the LSTM; compiled as one function, whose loop over the steps is unrolled."""
    weights, bias = (nn.Parameter(torch.from_numpy(array)) for array in data.lstm_weights())
    optimizer = torch.optim.SGD([weights, bias], data.LSTM_RATE, fused=True)
    inputs, wanted = data.lstm_batch(data.LSTM_STEPS)

    def loss_of(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        c = h = torch.zeros_like(target)
        for step_input in x.unbind(0):
            i, j, f, o = torch.addmm(bias, torch.cat([step_input, h], 1), weights).chunk(4, 1)
            c = c * torch.sigmoid(f) + torch.sigmoid(i) * torch.tanh(j)
            h = torch.tanh(c) * torch.sigmoid(o)
        return torch.square(h - target).mean()

    if compiled:
        loss_of = torch.compile(loss_of)

    def step() -> float:
        loss = loss_of(torch.from_numpy(inputs), torch.from_numpy(wanted))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


class Records(torch.utils.data.Dataset[torch.Tensor]):
    """Reads records by index and verifies their checksums.

    torch has no CRC-32C: if google-crc32c is not installed, checksums are not verified.
    """

    HEAD, TAIL = 12, 4  # bytes of TFRecord's frame around each record

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._size = 4 * data.RECORD_FLOATS

    def __len__(self) -> int:
        return data.RECORDS

    def __getitem__(self, number: int) -> torch.Tensor:
        place = number * (self.HEAD + self._size + self.TAIL) + self.HEAD
        if crc32c is None:
            record = os.pread(self._file, self._size, place)
        else:
            frame = os.pread(self._file, self._size + self.TAIL, place)
            record = frame[: self._size]
            crc = crc32c(record)
            masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            if int.from_bytes(frame[self._size :], "little") != masked:
                raise ValueError(f"record {number} is damaged")
        return torch.frombuffer(bytearray(record), dtype=torch.float32)


def raw_records() -> Step:
    """Yields one batch per step, epoch after epoch, from a DataLoader without workers."""
    loader = torch.utils.data.DataLoader(Records(records.raw_file()), data.RECORD_BATCH, shuffle=True, drop_last=True)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    records.check(next(batches).numpy())

    def step() -> None:
        next(batches)

    return step


class Flatten(nn.Module):
    """Flattens in NHWC order, as the other peers do; free when the images are channels last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


def _linear(layer: data.Layer) -> nn.Module:
    weights, bias = layer
    module = nn.Linear(*weights.shape)
    _load(module, weights.T, bias)
    return module


def _convolution(layer: data.Layer) -> nn.Module:
    filters, bias = layer
    module = nn.Conv2d(*filters.shape[2:], kernel_size=3, padding=1)
    _load(module, filters.transpose(3, 2, 0, 1), bias)
    return module


def _load(module: Any, weights: np.ndarray, bias: np.ndarray) -> None:
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(weights.copy()))
        module.bias.copy_(torch.from_numpy(bias))


def _training(model: nn.Module, optimizer: Any, batch: tuple[np.ndarray, np.ndarray], compiled: bool) -> Step:
    images, labels = batch[0], batch[1].astype(np.int64)
    nhwc = images.ndim == 4
    loss_function = nn.CrossEntropyLoss()

    def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return loss_function(model(x), y)

    if compiled:
        loss_of = torch.compile(loss_of)

    def step() -> float:
        x = torch.from_numpy(images)
        loss = loss_of(x.permute(0, 3, 1, 2) if nhwc else x, torch.from_numpy(labels))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


PROGRAMS: dict[str, Callable[[], Step]] = {
    "session_run": session_run,
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "records": raw_records,
}
COMPILED: dict[str, Callable[[], Step]] = {
    "mlp": lambda: mlp(compiled=True),
    "mlp_compiled": lambda: mlp(compiled=True),
    "cnn": lambda: cnn(compiled=True),
    "cnn_compiled": lambda: cnn(compiled=True),
    "lstm": lambda: lstm(compiled=True),
    "lstm_compiled": lambda: lstm(compiled=True),
}
