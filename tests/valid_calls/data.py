"""Valid calls of the operations of input pipelines; the iterator has one element, so that no operation blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.sandbox import Variable
from tests.valid_calls.values import Call, floats


@dataclass(frozen=True)
class Handle(Variable):
    """An input that is a dataset, an optional, or an iterator over one; spoiled, it becomes a variable's handle."""

    kind: str = "iterator"

    def make_handle(self, setup: list[Any]) -> Any:
        from thalweg._src.training.data.dataset import Dataset
        from thalweg._src.training.data.optional import Optional

        dataset = Dataset.from_tensors(floats(2, 3))
        if self.kind == "dataset":
            return dataset._variant
        if self.kind == "optional":
            return Optional.from_value(floats(2, 3))._variant
        if self.kind == "one shot":
            return dataset.make_one_shot_iterator()._iterator_resource
        iterator = dataset.repeat().make_initializable_iterator()
        setup.append(iterator.initializer)
        return iterator._iterator_resource


def _handle(kind: str) -> Handle:
    return Handle("float32", (), None, kind)


_OUTPUTS = {"output_types": ["float32"], "output_shapes": [(2, 3)]}

VALID: dict[str, Call] = {
    "IteratorV2": ((), {"shared_name": "iterator", "container": "", **_OUTPUTS}),
    "_OneShotIterator": ((), {"token": "not known", **_OUTPUTS}),
    "MakeIterator": ((_handle("dataset"), _handle("iterator")), {}),
    "IteratorGetNext": ((_handle("iterator"),), _OUTPUTS),
    "IteratorGetNextSync": ((_handle("one shot"),), _OUTPUTS),
    "IteratorToStringHandle": ((_handle("iterator"),), {}),
    "IteratorFromStringHandleV2": ((np.array(b"iterator/no such", dtype=object),), {}),
    "_IteratorState": ((_handle("iterator"),), {}),
    "_RestoreIterator": ((_handle("iterator"), np.array(b"no position", dtype=object)), {}),
    "DatasetCardinality": ((_handle("dataset"),), {}),
    "OptionalFromValue": (([floats(2, 3)],), {}),
    "OptionalHasValue": ((_handle("optional"),), {}),
    "OptionalGetValue": ((_handle("optional"),), _OUTPUTS),
    "IteratorGetNextAsOptional": ((_handle("iterator"),), _OUTPUTS),
    "DatasetToSingleElement": ((_handle("dataset"),), _OUTPUTS),
}
