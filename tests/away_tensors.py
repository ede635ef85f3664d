"""Tensors of the pretended GPU: they wrap tensors of the host, and refuse what tensors of CUDA refuse."""

import functools
import json
import weakref
from pathlib import Path

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map_only

TYPE = "away"
streams = None  # the module `tests.late_streams`, if kernels run behind the host
FIXTURE = Path(__file__).parent / "fixtures" / "cuda_dtypes.json"
_HOST = torch.device("cpu")
_ANY = 1 << 62  # bytes that the wrapper, which has none, lets a layout use
_aten = torch.ops.aten
COPIES = {_aten.copy_.default, _aten._to_copy.default, _aten.copy.default}
_INDEXING = {
    _aten.index.Tensor, _aten._unsafe_index.Tensor, _aten.index_put.default, _aten.index_put_.default,
    _aten._index_put_impl_.default, _aten._unsafe_index_put.default,
}  # fmt: skip
# Of these, a number may be on the host; so it may for all pointwise operations.
_FILLING = {
    _aten.fill.Tensor, _aten.fill_.Tensor, _aten.masked_fill.Tensor, _aten.masked_fill_.Tensor,
    _aten.index_fill.int_Tensor, _aten.index_fill_.int_Tensor, _aten.floor_divide.default, _aten.floor_divide_.Tensor,
    _aten.rsub.Tensor,
}  # fmt: skip
_REFUSED = {
    (op, types): sentence
    for op, sentences in (json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {}).items()
    for sentence, calls in sentences.items()
    for types in calls
}


def call_types(args, kwargs):
    """Returns the types of a call by which the table of missing kernels is looked up: `float32,int64->float64`."""
    types = [str(leaf.dtype)[6:] for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    return ",".join(dict.fromkeys(types)) + (f"->{str(kwargs['dtype'])[6:]}" if kwargs.get("dtype") else "")


class Away(torch.Tensor):
    """A tensor of the pretended GPU; `on_host` is where its values are, the host's own memory."""

    @staticmethod
    def __new__(cls, inner, device):
        with torch.inference_mode(False):  # a view of an ordinary tensor has to be an ordinary tensor
            layout = (inner.shape, inner.stride(), inner.storage_offset())
            return torch.Tensor._make_wrapper_subclass(
                cls, *layout, dtype=inner.dtype, device=device, storage_size=_ANY
            )

    def __init__(self, inner, device):
        self.on_host = inner
        self._block = None if streams is None else streams.Block.of(inner, device)
        torch._C._set_conj(self, inner.is_conj())
        torch._C._set_neg(self, inner.is_neg())

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return call(function, args, kwargs or {})

    def follow(self):
        """Takes the layout of what it wraps, after a call that may have changed it."""
        inner = self.on_host
        if self.shape == inner.shape and self.stride() == inner.stride():
            return
        with no_dispatch():
            before = torch._C._meta_in_tls_dispatch_include()
            torch._C._set_meta_in_tls_dispatch_include(True)
            try:
                _aten.as_strided_.default(self, inner.shape, inner.stride(), inner.storage_offset())
            finally:
                torch._C._set_meta_in_tls_dispatch_include(before)

    def untyped_storage(self):
        return self.on_host.untyped_storage()

    def data_ptr(self):
        return self.on_host.data_ptr()

    def numpy(self, **options):
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first."
        )

    def tolist(self):
        return self.cpu().tolist()

    def record_stream(self, stream):
        if self._block is not None:
            self._block.record(stream)

    def __repr__(self):
        return f"{self.on_host!r} on {self.device}"


def call(function, args, kwargs):
    """Divides a call into those that CUDA has kernels for, and computes them."""
    return function.decompose(*args, **kwargs) if _is_composite(function) else compute(function, args, kwargs)


@functools.cache
def _is_composite(function):
    return torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CompositeImplicitAutograd")


def compute(function, args, kwargs):
    """Computes on the host what a call asks of the device."""
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    device = _common_device(function, args, tensors)
    if sentence := _REFUSED.get((str(function), call_types(args, kwargs))):
        raise NotImplementedError(sentence)
    outer = {id(tensor.on_host): tensor for tensor in tensors if isinstance(tensor, Away)}
    if kwargs.get("device") is not None or not tensors:
        device = _with_index(kwargs.get("device"))
    if "device" in kwargs:
        kwargs = {**kwargs, "device": _HOST, "pin_memory": False}
        if function is _aten._to_copy.default:
            del kwargs["pin_memory"]
    if (generator := kwargs.get("generator")) is not None:
        _require_generator(generator)
    plain_args, plain_kwargs = tree_map_only(Away, lambda tensor: tensor.on_host, (args, kwargs))
    results = _launch(function, plain_args, plain_kwargs, device, tensors, outer)
    if function in COPIES and device == _HOST:
        return args[0] if function is _aten.copy_.default else results
    if function._schema.is_mutable:
        for tensor in outer.values():
            tensor.follow()
    if device == _HOST:
        return results
    return tree_map_only(
        torch.Tensor, lambda value: outer[id(value)] if id(value) in outer else Away(value, device), results
    )


def _launch(function, args, kwargs, device, tensors, outer):
    if streams is None:
        return function(*args, **kwargs)
    away = [tensor.device for tensor in tensors if isinstance(tensor, Away)]
    if function in COPIES and (device == _HOST or len(away) < len(tensors)):
        return streams.copy(function, args, kwargs, away[0] if away else device, outer)
    return streams.run(function, args, kwargs, away[0] if away else device, outer)


def _with_index(device):
    return torch.device(device.type, device.index or 0) if device.type == TYPE else device


def _common_device(function, args, tensors):
    """Returns the device where a call computes; raises an error if its tensors are on several."""
    devices = {tensor.device for tensor in tensors}
    if len(devices) < 2:
        return next(iter(devices), _HOST)
    if function in COPIES:
        return args[0].device
    if function in _INDEXING:
        return _indexed_device(args)
    if torch.Tag.pointwise in function.tags or function in _FILLING:
        written = args[0] if function._schema.is_mutable else None
        devices = {t.device for t in tensors if t.device != _HOST or t.dim() or t is written}
    if len(devices) > 1 or devices == {_HOST}:
        first, second = sorted({str(tensor.device) for tensor in tensors})[:2]
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
        )
    return devices.pop()


def _indexed_device(args):
    indexed, indices, *values = args
    device = indexed.device
    if any(index is not None and index.device not in (device, _HOST) for index in indices):
        raise RuntimeError(
            f"indices should be either on {device} or on the same device as the indexed tensor ({device})"
        )
    if values and values[0].device != device and (values[0].dim() or values[0].device != _HOST):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {device} and "
            f"{values[0].device}!"
        )
    return device


# -- generators -------------------------------------------------------------------------------------------------------

_generators = set()  # those of the device, by their addresses


class Generator(torch.Generator):
    """A generator of the host or of the pretended GPU, which draws on the host as well."""

    def __new__(cls, device="cpu"):
        device = torch.device(device)
        made = super().__new__(cls, _HOST if device.type == TYPE else device)
        made._device = _with_index(device)
        if device.type == TYPE:
            _generators.add(made._cdata)
            weakref.finalize(made, _generators.discard, made._cdata)
        return made

    @property
    def device(self):
        return self._device


def _require_generator(generator):
    if generator._cdata not in _generators:
        raise RuntimeError(f"Expected a '{TYPE}' device type for generator but found '{generator.device.type}'")
