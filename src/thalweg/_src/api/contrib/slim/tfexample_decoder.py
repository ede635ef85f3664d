"""tf.contrib.slim.tfexample_decoder: from serialized Examples to the items of a dataset."""

from thalweg._src.contrib.slim.data.decoders import (
    BackupHandler,
    BoundingBox,
    Image,
    ItemHandler,
    ItemHandlerCallback,
    LookupTensor,
    SparseTensor,
    Tensor,
    TFExampleDecoder,
)

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "Tensor",
]
