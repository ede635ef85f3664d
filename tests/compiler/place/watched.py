"""Measures the memory that torch holds while a step runs."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Watch(TorchDispatchMode):
    """Counts the bytes of the storages that were made under it and are still there."""

    def __init__(self):
        super().__init__()
        self._live = {}
        self.peak = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        storages = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        self._live = {key: held for key, held in self._live.items() if not held[0].expired()}
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage()._cdata not in storages:
                storage = tensor.untyped_storage()
                self._live[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        self.peak = max(self.peak, sum(size for _, size in self._live.values()))
        return result


def held_in(session, fetches, feeds=None):
    """Returns the measured peak memory of a step, and the estimate for its only device."""
    plan, values = session._prepare(fetches, feeds or {})
    session._execute(plan.executable, values)  # the first run may make more than the others
    with Watch() as watch:
        session._execute(plan.executable, values)
    (estimate,) = plan.executable.placement.memory.estimates.values()
    return watch.peak, estimate
