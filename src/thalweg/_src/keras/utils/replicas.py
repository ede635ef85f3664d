"""multi_gpu_model: a model whose batches are split over several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.scopes import device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.engine.network import Network
from thalweg._src.keras.layers.core import Lambda
from thalweg._src.keras.layers.merge import Concatenate
from thalweg._src.keras.saving.models import clone_model


@export("keras.utils.multi_gpu_model")
def multi_gpu_model(
    model: Network, gpus: int | Sequence[int], cpu_merge: bool = True, cpu_relocation: bool = False
) -> Model:
    """Returns a model that computes a part of each batch on each device, with the weights of the given one.

    Where a session has no GPU, its CPU devices are used: `tf.ConfigProto(device_count={"CPU": 2})` makes two of them.

    Args:
        model: The model to replicate.
        gpus: Number of devices, or a list of their numbers.
        cpu_merge: Whether the parts are joined on the CPU, not on the first device.
        cpu_relocation: Whether the weights are on the CPU, in a copy of the model.
    """
    if executing_eagerly_outside_functions():
        raise ValueError(
            "multi_gpu_model is for graphs: in eager execution, replicate a model by `tf.distribute.MirroredStrategy`"
        )
    places = _places(gpus)
    if cpu_relocation:
        with device("/cpu:0"):
            model = clone_model(model)
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for number, place in enumerate(places):
        with device(place), name_scope(f"replica_{number}"):
            slices = [_slice_of(tensor, number, len(places)) for tensor in model.inputs]
            replica_outputs = nest.flatten(model(slices if len(slices) > 1 else slices[0]))
        for merged, output in zip(outputs, replica_outputs):
            merged.append(output)
    with device("/cpu:0" if cpu_merge else places[0]):
        whole = [Concatenate(axis=0, name=name)(slices) for name, slices in zip(model.output_names, outputs)]
    return Model(model.inputs, whole)


def _places(gpus: int | Sequence[int]) -> list[str]:
    """Returns the devices of the replicas; raises ValueError if a session has not enough of them."""
    numbers = list(range(gpus)) if isinstance(gpus, int) else list(gpus)
    if len(numbers) < 2:
        raise ValueError(f"For `multi_gpu_model` to be useful, `gpus` must be at least 2. Received: `gpus={gpus}`")
    devices = [tuple(listed.name.rsplit(":", 2)[-2:]) for listed in state.get_session().list_devices()]
    kind = "gpu" if any(kind == "GPU" for kind, _ in devices) else "cpu"
    missing = [number for number in numbers if (kind.upper(), str(number)) not in devices]
    if missing:
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the following devices to be available: "
            f"{[f'/{kind}:{number}' for number in numbers]}. However this session only has: "
            f"{[f'/{kind}:{number}'.lower() for kind, number in devices]}. Try reducing `gpus`."
        )
    return [f"/{kind}:{number}" for number in numbers]


def _slice_of(tensor: Tensor, number: int, count: int) -> Any:
    return Lambda(part_of_batch, arguments={"number": number, "parts": count})(tensor)


def part_of_batch(batch: Tensor, number: int, parts: int) -> Any:
    """Returns one of some parts of a batch; the last one also has what is left over."""
    step = shape(batch)[0] // parts
    return batch[number * step :] if number == parts - 1 else batch[number * step : (number + 1) * step]
