"""Writing the elements of a dataset to a TFRecord file."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.formats.record_files import TFRecordWriter as FileWriter
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.data import single_element_op
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.kernels.elements import number
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.iteration import BoundDataset, Element, Unary
from thalweg._src.training.data.node import add_dataset
from thalweg._src.training.data.structure import TensorSpec


class Written(Unary):
    """One element, the number of records, after all elements of another dataset are written to a file."""

    __slots__ = ("done",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.done = False

    def __next__(self) -> Element:
        if self.done:
            raise StopIteration
        self.done = True
        name, compression = (value.item().decode("utf-8", "surrogateescape") for value in self.dataset.values)
        count = 0
        with FileWriter(name, compression) as writer:
            for element in self.input:
                writer.write(element[0].item())
                count += 1
        return (number(count),)


@export("data.experimental.TFRecordWriter", "contrib.data.TFRecordWriter")
class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file.

    Args:
        filename: Path of the file to write.
    """

    def __init__(self, filename: TensorLike, compression_type: TensorLike | None = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, name="filename")
        compression = "" if compression_type is None else compression_type
        self._compression_type: Tensor = convert_to_tensor(compression, dtypes.string, name="compression_type")

    def write(self, dataset: Dataset) -> Operation | None:
        """Returns an operation that writes all elements; in eager execution they are written at once."""
        if not isinstance(dataset, Dataset):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        spec = dataset._structure
        if not isinstance(spec, TensorSpec) or spec.dtype is not dtypes.string or spec.dims not in (None, ()):
            raise TypeError(f"the dataset must produce scalar `DT_STRING` tensors, it has {spec}")
        variant = add_dataset(
            Written, TensorSpec((), dtypes.int64), [dataset], [self._filename, self._compression_type]
        )
        written: Tensor = single_element_op.many(variant, output_types=[dtypes.int64], output_shapes=[()])[0]
        return None if written.is_eager else written.op
