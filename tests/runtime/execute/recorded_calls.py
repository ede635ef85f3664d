"""A fake capture of torch's calls: what a CUDA graph records, on tensors in host memory."""

import ctypes

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map


class Notes(TorchDispatchMode):
    """Captures each call with its results; in-place changes are undone when the capture ends.

    Outer tensors are captured by address only, as on a device: their use is not visible as a reference.
    """

    def __init__(self):
        super().__init__()
        self.calls = []
        self.saved = []
        self.own = {}
        self.count = 0

    def by_address(self, value):
        if not isinstance(value, torch.Tensor) or value.untyped_storage().data_ptr() in self.own:
            return value
        if not value.is_floating_point():  # numbers of the host
            return value
        storage = value.untyped_storage()
        memory = (ctypes.c_char * max(storage.nbytes(), 1)).from_address(storage.data_ptr())
        whole = torch.frombuffer(memory, dtype=torch.uint8)
        return torch.empty(0, dtype=value.dtype).set_(
            whole.untyped_storage(), value.storage_offset(), value.shape, value.stride()
        )

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("a wait for the device")
        if function._schema.is_mutable:
            self.saved += [(t, t.clone()) for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        args, kwargs = tree_map(self.by_address, (args, kwargs))
        results = function(*args, **kwargs)
        outside = {t.untyped_storage().data_ptr() for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        for value in tree_leaves(results):
            if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() not in outside:
                self.own[value.untyped_storage().data_ptr()] = value.untyped_storage()
        self.calls.append((function, args, kwargs, results))
        return results

    def replay(self):
        self.count += 1
        for function, args, kwargs, results in self.calls:
            again = function(*args, **kwargs)
            for old, new in zip(tree_leaves(results), tree_leaves(again)):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


def record(function, records):
    """Captures the calls of a function, whose record it adds; returns its values, and what replays the calls."""
    notes = Notes()
    try:
        with notes:
            values = function()
    finally:
        for tensor, saved in reversed(notes.saved):
            tensor.copy_(saved)
        del notes.saved[:]
    records.append(notes)
    return values, notes.replay
