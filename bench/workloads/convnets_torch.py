"""The networks in PyTorch: channels last, fused momentum, autocast for bfloat16; eager, or compiled to CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from workloads import convnets
from workloads.convnets import Average, Branches, Conv, Layer, Network, Pool, Training, Values

VERSION = torch.__version__


def start(device: str) -> str:
    """Allows TF32, initializes the device, and returns its name."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    torch.ones(8, device=_name(device)).sum().item()
    return torch.cuda.get_device_name(0) if device == "gpu" else "CPU"


def train(network: Network, precision: str, device: str, variant: str) -> Training:
    """Builds a network with its optimizer on the device; compiled: loss and gradients as one CUDA graph."""
    values = iter(convnets.first_values(network))
    where = torch.device(_name(device))
    model = nn.Sequential(*_modules(network.layers, values, where))
    images, labels = (torch.from_numpy(array).to(where) for array in convnets.batch(network))
    images, labels = images.permute(0, 3, 1, 2), labels.long()  # channels last, like the images
    optimizer = torch.optim.SGD(model.parameters(), convnets.RATE, momentum=convnets.MOMENTUM, fused=True)

    def loss_of(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with _arithmetic(precision, where):
            logits = model(images)
        return functional.cross_entropy(logits.float(), labels)

    compiled = variant == "compile"
    if compiled:
        for fixed in (images, labels):
            torch._dynamo.mark_static_address(fixed)  # they need not be copied in each step
        loss_of = torch.compile(loss_of, mode="reduce-overhead", fullgraph=True)
    last: Any = None

    def step() -> None:
        nonlocal last
        last = None  # a CUDA graph overwrites its previous outputs
        if compiled:
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        last = loss_of(images, labels)
        last.backward()
        optimizer.step()

    wait = torch.cuda.synchronize if device == "gpu" else _nothing
    wait()
    return Training(step, wait, lambda: last.item())


def _name(device: str) -> str:
    return "cuda" if device == "gpu" else device


def _nothing() -> None:
    pass


def _arithmetic(precision: str, where: torch.device) -> AbstractContextManager[Any]:
    return torch.autocast(where.type, torch.bfloat16) if precision == "bf16" else nullcontext()


class Joined(nn.Module):
    """Chains whose outputs are concatenated along the channels."""

    def __init__(self, chains: list[nn.Module]) -> None:
        super().__init__()
        self.chains = nn.ModuleList(chains)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([chain(x) for chain in self.chains], 1)


class Flatten(nn.Module):
    """Flattens in the order height, width, channels; free when the images are channels last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


def _modules(layers: tuple[Layer, ...], values: Iterator[Values], where: torch.device) -> Iterator[nn.Module]:
    flat = False
    for layer in layers:
        if isinstance(layer, Conv):
            yield _convolution(layer, next(values), where)
            yield nn.ReLU(inplace=True)
        elif isinstance(layer, Pool):
            hangs_over = layer.same and layer.stride > 1
            padding = layer.size // 2 if layer.same and layer.stride == 1 else 0
            yield nn.MaxPool2d(layer.size, layer.stride, padding, ceil_mode=hangs_over)
        elif isinstance(layer, Average):
            yield nn.AdaptiveAvgPool2d(1)
        elif isinstance(layer, Branches):
            yield Joined([nn.Sequential(*_modules(chain, values, where)) for chain in layer.chains])
        else:
            if not flat:
                yield Flatten()
            flat = True
            yield _linear(next(values), where)
            if not layer.last:
                yield nn.ReLU(inplace=True)


def _convolution(layer: Conv, values: Values, where: torch.device) -> nn.Module:
    weights, bias = (torch.from_numpy(array).to(where) for array in values)
    filters = weights.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    made = nn.Conv2d(filters.shape[1], layer.channels, layer.size, layer.stride, layer.pad, device="meta")
    made.weight, made.bias = nn.Parameter(filters), nn.Parameter(bias)
    return made


def _linear(values: Values, where: torch.device) -> nn.Module:
    weights, bias = (torch.from_numpy(array).to(where) for array in values)
    made = nn.Linear(*weights.shape, device="meta")
    made.weight, made.bias = nn.Parameter(weights.T.contiguous()), nn.Parameter(bias)
    return made
