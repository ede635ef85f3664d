"""Stream capture on the pretended GPU: keeps the kernels that a function launches, and replays them on the same memory.

As in CUDA, memory allocated meanwhile belongs to the capture, memory from outside is known by its address alone,
nothing has been computed when the capture ends, and a kernel that makes the host wait is an error.
"""

import contextlib
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from tests import away_tensors
from tests.away_tensors import COPIES, Away

_aten = torch.ops.aten
_WAITING = {
    _aten._local_scalar_dense, _aten.is_nonzero, _aten.item, _aten.equal, _aten.nonzero, _aten.masked_select,
    _aten._unique2, _aten.unique_dim, _aten.unique_consecutive, _aten.unique_dim_consecutive, _aten.bincount,
    _aten.repeat_interleave,
}  # fmt: skip
_GARBAGE = 0xAB


@dataclass(frozen=True, slots=True)
class _Outside:
    """A tensor that the capture does not own: an address with a layout."""

    storage: StorageWeakRef
    offset: int
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    is_conj: bool
    is_neg: bool

    def tensor(self):
        storage = torch.UntypedStorage._new_with_weak_ptr(self.storage.cdata)
        streams = away_tensors.streams
        if storage is None or (streams is not None and streams.Block.is_freed(storage)):
            raise RuntimeError(f"a captured kernel uses memory that was freed: shape {list(self.shape)}, {self.dtype}")
        inner = torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.shape, self.stride)
        torch._C._set_conj(inner, self.is_conj)
        torch._C._set_neg(inner, self.is_neg)
        return Away(inner, self.device)

    def address(self):
        return _Placed(away_tensors.streams.Address.of(self.tensor().on_host), self.device)


@dataclass(frozen=True, slots=True)
class _Placed:
    """An address of the device."""

    address: Any
    device: torch.device

    def tensor(self):
        return Away(self.address.tensor(), self.device)


class Capture(TorchDispatchMode):
    """Keeps each call with its results, and undoes afterwards what the calls did to memory from outside."""

    def __init__(self, draws):
        super().__init__()
        self._draws = draws
        self._calls = []
        self._saved = []
        self._own = {}  # storages by their addresses

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        away = [tensor for tensor in tensors if isinstance(tensor, Away)]
        if (away and function.overloadpacket in _WAITING) or _crosses(function, tensors, kwargs):
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        outside = [tensor for tensor in away if not self._owns(tensor)]
        if function._schema.is_mutable:
            self._saved += [(tensor.on_host, tensor.on_host.clone()) for tensor in outside]
        kept = tree_map_only(Away, self._kept, (args, kwargs))
        results = function(*args, **kwargs)
        made = [leaf for leaf in tree_leaves(results) if isinstance(leaf, Away)]
        shared = {tensor.untyped_storage()._cdata for tensor in away}
        for tensor in made:
            if tensor.untyped_storage()._cdata not in shared:
                self._own[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        if away or made:
            self._calls.append((function, *kept, tree_map_only(Away, self._kept, results)))
        return results

    def _owns(self, tensor):
        return tensor.untyped_storage()._cdata in self._own

    def _kept(self, tensor):
        if self._owns(tensor):
            return tensor
        storage, layout = StorageWeakRef(tensor.untyped_storage()), (tensor.shape, tensor.stride())
        bits = (tensor.is_conj(), tensor.is_neg())
        return _Outside(storage, tensor.storage_offset(), *layout, tensor.dtype, tensor.device, *bits)

    def undo(self):
        """Leaves memory from outside as it was, and garbage in the capture's own, as no kernel has run."""
        for inner, saved in reversed(self._saved):
            inner.copy_(saved)
        self._saved.clear()
        for storage in self._own.values():
            storage.is_captured = True
            storage.fill_(_GARBAGE)

    def replay(self):
        """Launches the kernels again."""
        streams = away_tensors.streams
        if streams is None:
            self._run(self._calls)
            return
        # The host may free memory after the launch, and use it again after the kernels have run.
        calls = tree_map_only(_Outside, _Outside.address, self._calls)
        streams.current_stream().launch(lambda: self._run(calls))
        if self._draws:  # the host may use the generators next
            streams.current_stream().synchronize()

    def _run(self, calls):
        with torch.inference_mode():
            for function, args, kwargs, results in calls:
                args, kwargs = tree_map_only((_Outside, _Placed), lambda each: each.tensor(), (args, kwargs))
                again = function(*args, **kwargs)
                for old, new in zip(tree_leaves(results), tree_leaves(again)):
                    if isinstance(old, Away) and old.data_ptr() != new.data_ptr():
                        old.on_host.copy_(new.on_host)


def _crosses(function, tensors, kwargs):
    """Returns whether a call copies between the host and the device, for which the host waits."""
    if function not in COPIES:
        return False
    return len({kwargs.get("device") or tensors[0].device, *(tensor.device for tensor in tensors)}) > 1


def capture(function, generators):
    """Runs a function in stream capture; returns its values, without contents, and the function that replays it."""
    states = [(generator, generator.get_state()) for generator in generators]
    captured = Capture(bool(states))
    with contextlib.nullcontext() if away_tensors.streams is None else away_tensors.streams.all_at_once():
        try:
            with captured:
                values = function()
        finally:
            captured.undo()
            for generator, state in states:
                generator.set_state(state)
    return values, captured.replay
