"""AOTInductor libraries: compiled clusters as functions of tensors, called through ctypes without the GIL.

torch's own runner of such libraries holds the GIL while they compute, so that no other thread could run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch

_Pointer = ctypes.c_void_p
_aoti: Any = torch._C._aoti
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = _Pointer, [ctypes.py_object, ctypes.c_char_p]
_capsule_of = ctypes.pythonapi.PyCapsule_New
_capsule_of.restype, _capsule_of.argtypes = ctypes.py_object, [_Pointer, ctypes.c_char_p, _Pointer]


def load(file: str) -> Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]:
    """Returns the function of a CPU library; it takes values, then buffers, some of which it changes in place."""
    library = ctypes.CDLL(file)
    container, count = _Pointer(), ctypes.c_size_t()
    create = library.AOTInductorModelContainerCreateWithDevice
    _require(library, create(ctypes.byref(container), ctypes.c_size_t(1), b"cpu", None))
    _require(library, library.AOTInductorModelContainerGetNumOutputs(container, ctypes.byref(count)))
    compute = library.AOTInductorModelContainerRun
    size = ctypes.c_size_t
    compute.argtypes = [_Pointer, _Pointer, size, _Pointer, size, _Pointer, _Pointer]
    results_of = _Pointer * count.value

    def run(values: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        handles = [_pointer_of(capsule, None) for capsule in _aoti.unsafe_alloc_void_ptrs_from_tensors(values)]
        results = results_of()
        arguments = (_Pointer * len(handles))(*handles)
        _require(library, compute(container, arguments, len(handles), results, len(results), None, None))
        tensors: Sequence[torch.Tensor] = _aoti.alloc_tensors_by_stealing_from_void_ptrs(
            [_capsule_of(pointer, None, None) for pointer in results]
        )
        return tensors

    return run


def _require(library: ctypes.CDLL, status: int) -> None:
    """Raises the error of a call that failed; a backtrace of the library's own functions is left out."""
    if not status:
        return
    message = ctypes.c_char_p()
    library.AOTInductorGetLastError(ctypes.byref(message))
    text = (message.value or b"").decode(errors="replace").partition("\n")[0]
    if "aoti_torch_empty_strided" in text:
        raise MemoryError("a compiled part of the step can't allocate memory")
    raise RuntimeError(f"a compiled part of the step failed: {text}")
