"""tf.contrib.slim.tfexample_decoder: Decoding of serialized Examples into the items of a dataset."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.data.decoders import (
    BackupHandler as BackupHandler,
    BoundingBox as BoundingBox,
    Image as Image,
    ItemHandler as ItemHandler,
    ItemHandlerCallback as ItemHandlerCallback,
    LookupTensor as LookupTensor,
    SparseTensor as SparseTensor,
    TFExampleDecoder as TFExampleDecoder,
    Tensor as Tensor,
)

__all__ = [
    "BackupHandler", "BoundingBox", "Image", "ItemHandler", "ItemHandlerCallback", "LookupTensor", "SparseTensor",
    "TFExampleDecoder", "Tensor",
]
