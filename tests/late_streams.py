"""Streams of the pretended GPU that run behind the host: as late as CUDA allows, so that a missing wait is noticed.

A kernel is launched on the current stream of its thread and runs when something waits for it: the host, or another
stream that runs and waits for an event. Until then its results are garbage. Memory that is freed becomes garbage too,
in the order of the stream that it was allocated on, as torch's allocator gives it to later kernels there.
"""

import contextlib
import functools
import gc
import random
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

_aten = torch.ops.aten
_GARBAGE = 0xAB
_META = torch.device("meta")
_MOST = 20_000  # kernels that a stream is behind
_random = random.Random(0)
# The host waits for these, and for kernels whose results have shapes that depend on values.
_WAITING = {_aten._local_scalar_dense, _aten.is_nonzero, _aten.item, _aten.equal}
_ALLOCATING = {
    _aten.empty, _aten.empty_strided, _aten.empty_like, _aten.empty_permuted, _aten.new_empty, _aten.new_empty_strided,
}  # fmt: skip


class Event:
    """A place in the work of a stream."""

    def __init__(self, *args, **options):
        self._stream, self._position, self._time = None, 0, 0.0

    def record(self, stream=None):
        self._stream = stream or current_stream()
        self._stream.launch(self._stamp)
        self._position = self._stream.launched

    def _stamp(self):
        self._time = time.perf_counter()

    def synchronize(self):
        if self._stream is not None:
            self._stream.run_until(self._position)

    def elapsed_time(self, end):
        self.synchronize()
        end.synchronize()
        return (end._time - self._time) * 1e3


class Stream:
    """Kernels that run one after the other, after the host has gone on."""

    _running = threading.RLock()
    _all = weakref.WeakSet()

    def __init__(self, device=None):
        self.device = _indexed(device)
        self.launched = 0
        self._done = 0
        self._work = deque()
        self._changing = threading.RLock()
        Stream._all.add(self)

    def launch(self, work):
        with self._changing:
            self._work.append(work)
            self.launched += 1
        if self.launched - self._done > _MOST:
            self.run_until(self.launched - _MOST // 2)

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event):
        self.launch(event.synchronize)  # an event is recorded once

    def wait_stream(self, stream):
        self.wait_event(stream.record_event())

    def synchronize(self):
        """Runs everything that was launched, before or after everything on other streams."""
        if not _thread.at_once and _random.random() < 0.5:
            for each in list(Stream._all):
                each.run_until(each.launched)
        self.run_until(self.launched)

    def catch_up(self):
        """Runs what was launched, unless that is being run."""
        if not _thread.at_once:
            self.run_until(self.launched)

    def run_until(self, position):
        """Runs the first so many kernels, of which some may have run already."""
        with Stream._running, _collector_paused(), torch.inference_mode(), at_once():
            while self._done < position:
                with self._changing:
                    work = self._work.popleft()
                    self._done += 1
                work()
            if not any(stream._work for stream in Stream._all):
                Block.freed.clear()


@contextlib.contextmanager
def _collector_paused():
    """Keeps finalizers, which may take locks of threads that wait for the device, from running between kernels."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Thread(threading.local):
    def __init__(self):
        self.streams = {}
        self.at_once = False


_thread = _Thread()


def _indexed(device):
    device = torch.device("away" if device is None else device)
    return torch.device(device.type, device.index or 0)


@functools.cache
def _default_stream(device):
    return Stream(device)


def default_stream(device=None):
    return _default_stream(_indexed(device))


def current_stream(device=None):
    device = _indexed(device)
    return _thread.streams.get(device) or _default_stream(device)


@contextlib.contextmanager
def stream(chosen):
    """Launches the kernels of this thread on a stream."""
    before = _thread.streams.get(chosen.device)
    _thread.streams[chosen.device] = chosen
    try:
        yield
    finally:
        _thread.streams[chosen.device] = before


@contextlib.contextmanager
def at_once():
    """Runs kernels when they are called: those of a stream whose turn it is, and those of a capture."""
    before, _thread.at_once = _thread.at_once, True
    try:
        yield
    finally:
        _thread.at_once = before


@contextlib.contextmanager
def all_at_once():
    """Waits for all streams, and runs kernels of this thread when they are called."""
    for each in list(Stream._all):
        each.synchronize()
    with at_once():
        yield


# -- memory -----------------------------------------------------------------------------------------------------------


class Block:
    """Memory of the device, which is used for other values as soon as no tensor refers to it."""

    freed = []  # storages that kernels may still use
    _known = weakref.WeakValueDictionary()  # by the address of the storage

    def __init__(self, storage, device):
        self._storage, self._stream = storage, current_stream(device)
        self._is_recorded = False

    @classmethod
    def of(cls, tensor, device):
        """Returns the block of a new tensor; None if the memory belongs to a capture, or to a kernel that runs."""
        storage = tensor.untyped_storage()
        if _thread.at_once or hasattr(storage, "is_captured"):
            return None
        found = cls._known.get(storage._cdata)
        if found is None:
            found = cls._known[storage._cdata] = cls(storage, device)
        return found

    @classmethod
    def is_freed(cls, storage):
        """Returns whether no tensor refers to memory, other than kernels that have been launched."""
        return storage._cdata not in cls._known and not hasattr(storage, "is_captured")

    def record(self, stream):
        """Keeps the memory for another stream."""
        self._is_recorded = self._is_recorded or stream is not self._stream

    def __del__(self):
        storage = self._storage
        Block.freed.append(storage)
        if not self._is_recorded:
            self._stream.launch(lambda: storage.fill_(_GARBAGE))
            if self._stream is not current_stream(self._stream.device):
                self._stream.synchronize()  # as early as possible: kernels of this stream may still use the memory


@dataclass(frozen=True, slots=True)
class Address:
    """Memory as a kernel knows it: what the host counts as references to a value are not those of kernels."""

    pointer: int
    size: int
    offset: int
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    is_conj: bool
    is_neg: bool

    @classmethod
    def of(cls, tensor):
        storage, bits = tensor.untyped_storage(), (tensor.is_conj(), tensor.is_neg())
        layout = (tensor.storage_offset(), tensor.shape, tensor.stride())
        return cls(storage.data_ptr(), storage.nbytes(), *layout, tensor.dtype, *bits)

    def tensor(self):
        storage = torch._C._construct_storage_from_data_pointer(self.pointer, torch.device("cpu"), self.size)
        made = torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.shape, self.stride)
        torch._C._set_conj(made, self.is_conj)
        torch._C._set_neg(made, self.is_neg)
        return made


def pin(tensor):
    """Marks host memory as pinned: a copy from or to it need not be complete when the call returns."""
    tensor.untyped_storage()._is_pinned = True
    return tensor


def is_pinned(tensor, device=None):
    return hasattr(tensor.untyped_storage(), "_is_pinned")


def _garbage(like):
    made = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)
    made.untyped_storage().fill_(_GARBAGE)
    return made


# -- kernels ----------------------------------------------------------------------------------------------------------


class _Unknown(Exception):
    """Raised if it is not known what a kernel returns before it has run."""


def run(function, args, kwargs, device, on_device):
    """Launches a kernel; returns its results, which are garbage until it has run.

    args, kwargs: with tensors of the host in the place of those of the device
    on_device: the identities of those
    """
    if _thread.at_once or function.is_view:
        return function(*args, **kwargs)
    here = current_stream(device)
    if function.overloadpacket in _ALLOCATING:
        return _garbage(function(*args, **kwargs))
    find = _written if function._schema.is_mutable else _allocated
    try:
        if _waits(function, kwargs):
            raise _Unknown
        results = find(function, args, kwargs)
    except _Unknown:
        here.synchronize()
        return function(*args, **kwargs)
    given = tree_map_only(torch.Tensor, lambda tensor: _given(tensor, on_device), (args, kwargs))
    returned = tree_map_only(torch.Tensor, Address.of, results)
    here.launch(lambda: _run(function, *given, returned))
    return results


def copy(function, args, kwargs, device, on_device):
    """Copies between host and device: later, if the memory of the host is pinned and the caller does not wait."""
    if _thread.at_once:
        return function(*args, **kwargs)
    target = args[0] if function is _aten.copy_.default else None
    source = args[1] if target is not None else args[0]
    is_later = bool(kwargs.get("non_blocking") or (target is not None and len(args) > 2 and args[2]))
    here = current_stream(device)
    if id(source) in on_device:
        if not is_later or (target is not None and not is_pinned(target)):
            here.synchronize()
            return function(*args, **kwargs)
        results = target if target is not None else pin(_garbage(_like(function, args, kwargs)))
        source, returned = Address.of(source), results
    else:
        source = source if is_later and is_pinned(source) else source.clone()
        results = target if target is not None else _garbage(_like(function, args, kwargs))
        returned = Address.of(results)
    here.launch(lambda: _move(source, returned))
    return results


def _move(source, target):
    source, target = tree_map_only(Address, Address.tensor, (source, target))
    target.copy_(source)


def _run(function, args, kwargs, returned):
    args, kwargs, returned = tree_map_only(Address, Address.tensor, (args, kwargs, returned))
    for new, old in zip(tree_leaves(function(*args, **kwargs)), tree_leaves(returned)):
        # The CPU leaves out some results that CUDA has, such as the averages of a batch that it does not need.
        if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr() and new.numel():
            old.copy_(new)


def _waits(function, kwargs):
    return (
        function.overloadpacket in _WAITING
        or kwargs.get("generator") is not None
        or torch.Tag.nondeterministic_seeded in function.tags
        or torch.Tag.dynamic_output_shape in function.tags
        or torch.Tag.data_dependent_output in function.tags
        or torch.Tag.inplace_view in function.tags
    )


def _given(tensor, on_device):
    """Returns what a kernel gets of an argument; of one on the host the values at the time of the launch."""
    return Address.of(tensor) if id(tensor) in on_device else tensor.clone()


def _written(function, args, kwargs):
    """Returns the results of a kernel that changes its arguments, which are some of these."""
    schema = function._schema
    given = dict(zip([argument.name for argument in schema.arguments], args)) | kwargs
    written = {
        tuple(argument.alias_info.before_set): given.get(argument.name)
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    results = [
        written.get(tuple(result.alias_info.before_set)) if result.alias_info is not None else None
        for result in schema.returns
    ]
    if any(result is None for result in results):
        raise _Unknown
    if any(leaf.numel() == 0 for leaf in tree_leaves(list(written.values())) if isinstance(leaf, torch.Tensor)):
        raise _Unknown  # the kernel may allocate it
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _like(function, args, kwargs):
    """Returns the results of a kernel without their values."""
    given, options = tree_map_only(
        torch.Tensor,
        lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=_META),
        tree_map_only(torch.device, lambda device: _META, (args, kwargs)),
    )
    return function(*given, **options)


def _allocated(function, args, kwargs):
    """Returns new tensors for the results of a kernel."""
    try:
        like = _like(function, args, kwargs)
    except Exception:
        raise _Unknown from None  # the kernel itself says what is wrong
    if not all(leaf is None or isinstance(leaf, torch.Tensor) for leaf in tree_leaves(like)):
        raise _Unknown
    return tree_map_only(torch.Tensor, _garbage, like)
