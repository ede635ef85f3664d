"""Calibration: a trained model is rounded to a few bits, with ranges that are measured on a dataset."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base.errors import format_bytes
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import GraphDef
from thalweg._src.deploy.quantize.insert import insert, plan
from thalweg._src.deploy.quantize.ranges import MinMax, Percentile, Range
from thalweg._src.deploy.quantize.samples import batches, feeds_of
from thalweg._src.deploy.saved_model.files import SERVING
from thalweg._src.deploy.transform.apply import TransformGraph
from thalweg._src.deploy.transform.calls import inline_calls
from thalweg._src.deploy.transform.files import FrozenModel, freeze_saved_model
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.runtime.session.freezing import source_of
from thalweg._src.runtime.session.session import Session

_PREPARED = ("fold_constants", "fold_batch_norms", "fold_old_batch_norms", "merge_duplicate_nodes")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a calibrated model differs from the original on a dataset.

    accuracy, quantized_accuracy: shares of elements whose largest output is that of the label; None without labels
    agreement: the share of elements whose largest outputs are the same
    difference: the mean absolute difference of outputs
    """

    accuracy: float | None
    quantized_accuracy: float | None
    agreement: float
    difference: float
    bytes: int
    quantized_bytes: int

    def __str__(self) -> str:
        sizes = f"weights: {format_bytes(self.bytes)}, quantized {format_bytes(self.quantized_bytes)}"
        summary = f"agreement {self.agreement:.4f}, mean difference {self.difference:.3g}; {sizes}"
        if self.accuracy is None or self.quantized_accuracy is None:
            return summary
        return f"accuracy {self.accuracy:.4f}, quantized {self.quantized_accuracy:.4f}; {summary}"


@export("export.CalibratedModel")
@dataclass(frozen=True, slots=True)
class CalibratedModel:
    """A frozen graph that rounds weights and activations.

    graph_def: its GraphDef, with FakeQuantWithMinMaxVars and FakeQuantWithMinMaxVarsPerChannel
    inputs, outputs: the names of tensors by the names of the signature
    ranges: the measured ranges of activations, by the names of nodes
    original: the same graph without rounding

    Args:
        graph_def: The graph that rounds.
        inputs: Names of the tensors that are fed, by key.
        outputs: Names of the tensors that are fetched, by key.
        ranges: Ranges of activations, by the names of nodes.
        original: The graph that does not round.
        weight_bits: Bits of a weight.
    """

    graph_def: GraphDef = field(repr=False)
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    ranges: Mapping[str, tuple[float, float]]
    original: Any = field(repr=False)
    weight_bits: int

    def compare(self, dataset: Any, max_batches: int | None = None) -> Comparison:
        """Compares outputs, and accuracy if elements are pairs of inputs and labels, with those of the original."""
        fetched = next(iter(self.outputs.values()))
        runs = [_Run(graph_def, [fetched]) for graph_def in (self.original, self.graph_def)]
        counts, hits, difference = np.zeros(2), np.zeros(2), 0.0  # elements and equal ones; correct ones of both
        has_labels = True
        for element in batches(dataset, max_batches):
            feeds, labels = feeds_of(element, self.inputs)
            one, other = (run(feeds)[0] for run in runs)
            counts += len(one), np.sum(_largest(one) == _largest(other))
            difference += float(np.abs(one - other).mean()) * len(one)
            has_labels = has_labels and labels is not None
            if has_labels:
                hits += [np.sum(_largest(outputs) == np.asarray(labels).reshape(-1)) for outputs in (one, other)]
        for run in runs:
            run.close()
        if not counts[0]:
            raise ValueError("dataset: it has no elements; at least one is needed")
        count, equal = counts.tolist()
        accuracy, quantized = (hits / count).tolist() if has_labels else (None, None)
        sizes = _weight_bytes(self.graph_def, 32), _weight_bytes(self.graph_def, self.weight_bits)
        return Comparison(accuracy, quantized, equal / count, difference / count, *sizes)


def _largest(outputs: Any) -> Any:
    """Returns the place of the largest output of each element, or whether the only one is positive."""
    flat = np.asarray(outputs).reshape(len(outputs), -1)
    return flat.argmax(1) if flat.shape[1] > 1 else flat[:, 0] > 0


def _weight_bytes(graph_def: GraphDef, bits: int) -> int:
    """Returns how many bytes the rounded weights of a graph take, with so many bits each."""
    constants = [node for node in graph_def.node if node.op == "Const" and node.name.endswith("/weights_quant/weights")]
    shapes = [node.attr["value"].tensor.tensor_shape for node in constants]
    return int(sum(prod(dim.size for dim in shape.dim) for shape in shapes)) * bits // 8


class _Run:
    """A session with a graph, as a function from feeds to the values of tensors."""

    def __init__(self, graph_def: GraphDef, names: Sequence[str]) -> None:
        graph = Graph()
        with graph.as_default():
            import_graph_def(graph_def, name="")
        self._session = Session(graph=graph)
        self._names = [name if ":" in name else f"{name}:0" for name in names]

    def __call__(self, feeds: Mapping[str, Any]) -> list[Any]:
        return self._session.run(self._names, dict(feeds))  # type: ignore[no-any-return]

    def close(self) -> None:
        self._session.close()


@export("export.calibrate")
def calibrate(
    model: Any,
    dataset: Any,
    inputs: Sequence[str] | Mapping[str, str] | None = None,
    outputs: Sequence[str] | Mapping[str, str] | None = None,
    method: str = "min_max",
    percentile: float = 99.9,
    weight_bits: int = 8,
    activation_bits: int = 8,
    per_channel: bool = True,
    max_batches: int | None = None,
    tags: Iterable[str] = (SERVING,),
    signature_def_key: str | None = None,
) -> CalibratedModel:
    """Rounds weights and activations of a trained model, with ranges of activations that are measured on a dataset.

    The model is the folder of a SavedModel, or a frozen GraphDef with the names of its inputs and outputs. Batch
    normalization is folded into weights first.

    Args:
        model: The folder of a SavedModel, or a frozen GraphDef.
        dataset: A `tf.data.Dataset`, a function that returns one, or an iterable of batches: arrays, dictionaries by
            the names of inputs, or pairs of these and labels.
        inputs: Names of the tensors that a GraphDef takes, or a dictionary from the dataset's keys to them.
        outputs: Names of the tensors that a GraphDef gives, or a dictionary of them.
        method: "min_max" for the range of all values, "percentile" for one without outliers.
        percentile: Share of the values, in percent, that is below the upper end of a range.
        weight_bits: Bits of a weight.
        activation_bits: Bits of an activation.
        per_channel: Whether each channel of weights has a range of its own.
        max_batches: How many elements of the dataset are used; None uses all.
        tags: Tags of the graph in a SavedModel.
        signature_def_key: Signature of a SavedModel; by default that for serving, or the only one.
    """
    make = _range_maker(method, percentile)
    for name, bits in (("weight_bits", weight_bits), ("activation_bits", activation_bits)):
        if not 2 <= bits <= 16:
            raise ValueError(f"{name}: expected 2 to 16, received {bits}")
    frozen = _frozen(model, inputs, outputs, tags, signature_def_key)
    ends = [source_of(name) for name in frozen.outputs.values()]
    fed = [source_of(name) for name in frozen.inputs.values()]
    original = TransformGraph(inline_calls(frozen.graph_def), fed, ends, _PREPARED)
    chosen = plan(original, set(ends))
    if not chosen.products:
        raise ValueError("model: no convolution or matrix product with constant weights was found; freeze it first")
    # Ranges are measured in the original, not in the rounded graph: each activation gets the range that it has without
    # rounding errors before it, and one pass over the dataset measures all of them.
    ranges = _measured(original, chosen.activations, frozen.inputs, batches(dataset, max_batches), make)
    quantized = insert(original, chosen, ranges, weight_bits, activation_bits, per_channel)
    return CalibratedModel(quantized, frozen.inputs, frozen.outputs, ranges, original, weight_bits)


def _range_maker(method: str, percentile: float) -> Callable[[], Range]:
    if method == "min_max":
        return MinMax
    if method != "percentile":
        raise ValueError(f"method: expected 'min_max' or 'percentile', received {method!r}")
    if not 50 < percentile <= 100:
        raise ValueError(f"percentile: expected more than 50, and 100 at most, received {percentile}")
    return lambda: Percentile(percentile)


def _frozen(model: Any, inputs: Any, outputs: Any, tags: Iterable[str], signature_def_key: str | None) -> FrozenModel:
    if isinstance(model, str | os.PathLike):
        frozen = freeze_saved_model(model, tags, signature_def_key)
        return FrozenModel(frozen.graph_def, _by_key(inputs) or frozen.inputs, _by_key(outputs) or frozen.outputs)
    if getattr(getattr(model, "DESCRIPTOR", None), "name", "") != "GraphDef":
        raise TypeError(f"model: expected the folder of a SavedModel or a GraphDef, received {type(model).__name__}")
    if not inputs or not outputs:
        raise ValueError("inputs, outputs: expected the names of the tensors that a GraphDef takes and gives")
    return FrozenModel(model, _by_key(inputs), _by_key(outputs))


def _by_key(names: Any) -> dict[str, str]:
    """Returns the full names of tensors by key, by their own names if they are a list."""
    items = names.items() if isinstance(names, Mapping) else [(name.removesuffix(":0"), name) for name in names or ()]
    return {key: name if ":" in name else f"{name}:0" for key, name in items}


def _measured(
    graph_def: GraphDef,
    names: Sequence[str],
    inputs: Mapping[str, str],
    elements: Iterable[Any],
    make: Callable[[], Range],
) -> dict[str, tuple[float, float]]:
    """Returns the ranges of nodes over all elements of a dataset."""
    ranges = {name: make() for name in names}
    run, count = _Run(graph_def, names), 0
    for element in elements:
        for values, range_ in zip(run(feeds_of(element, inputs)[0]), ranges.values()):
            if not np.isfinite(values).all():
                raise ValueError("dataset: an element leads to values that are not finite; remove it")
            range_.see(values)
        count += 1
    run.close()
    if not count:
        raise ValueError("dataset: it has no elements; at least one is needed to measure ranges")
    return {name: range_.ends() for name, range_ in ranges.items()}
