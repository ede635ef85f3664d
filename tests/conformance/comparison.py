"""Compares what came of a case here with what came of it in TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import thalweg as tf
from tests.conformance.case_runner import decode
from thalweg._src.base.formats.example import parse_message
from thalweg._src.runtime.kernels.image_files import decode_png

# Words of a TensorFlow that has no kernel for a case, or has none on this device: nothing to compare with.
_NO_KERNEL = re.compile(
    r"No OpKernel was registered|Could not find device|[Oo]nly supports? (the )?NHWC|NHWC (format|is)|"
    r"not supported on CPU|not (yet )?(been )?implemented|do not yet support|currently only supports|"
    r"implementation only supports"
)
_REFUSALS = {"InvalidArgumentError", "OutOfRangeError", "UnimplementedError", "TypeError", "ValueError"}
_TOLERANCE = {
    "float64": 1e-9,
    "float32": 2e-5,
    "float16": 8e-3,
    "bfloat16": 6e-2,
    "complex64": 2e-5,
    "complex128": 1e-9,
}


def nothing_to_compare(theirs: dict[str, Any] | None) -> str | None:
    """Says why a case means nothing in TensorFlow, if so."""
    if theirs is None:
        return "kills TensorFlow"
    for report in theirs.values():
        for stage in ("building", "running"):
            error = report.get(stage)
            if error and (error["class"] == "UnimplementedError" or _NO_KERNEL.search(error["text"])):
                return "no kernel"
    return None


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """Yields a line for each way in which we differ."""
    refused = {stage for report in theirs.values() for stage in ("building", "running") if stage in report}
    for mode, report in theirs.items():
        # What TensorFlow sees only in the step may be seen here while the graph is built.
        early = "building" in ours[mode] and "building" not in report and "running" in refused
        # Knowing less, TensorFlow may accept what it refuses with the shapes in view, or not know how to go on.
        lax = _failure(ours[mode]) and not _failure(report) and "building" in refused
        lost = mode == "unknown" and "building" in report and (not _failure(theirs["host"]) or "running" in ours[mode])
        if not (early or lax or lost):
            for line in _of_mode(ours[mode], report):
                yield f"{mode}: {line}"


def eager_differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """Yields a line for each way in which eager execution differs from a session of TensorFlow.

    It knows all shapes and values, but fails with the errors of kernels: those of a graph that knows nothing.
    """
    mode = "unknown" if "running" in ours and "running" in theirs["unknown"] else "host"
    report = {**theirs[mode], "shapes": []}  # shapes are compared with the values
    if "running" in ours and "building" in report:  # what class the error of a kernel would have is not known
        if ours["running"]["class"] not in _REFUSALS:
            yield f"{mode}: {_named(_failure(ours))} ({ours['running']['text']})"
        return
    for line in _of_mode(ours, report):
        yield f"{mode}: {line}"


def _of_mode(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    if _failure(ours) or _failure(theirs):
        yield from _of_failures(ours, theirs)
        return
    if ours["dtypes"] != theirs["dtypes"]:
        yield f"dtypes {ours['dtypes']}, there {theirs['dtypes']}"
        return
    for i, (mine, other) in enumerate(zip(ours["shapes"], theirs["shapes"])):
        if not _at_least(mine, other):
            yield f"output {i} has the static shape {mine}, there {other}"
    if "values" not in theirs:
        return
    yield from _of_arrays("value", ours["values"], theirs["values"])
    yield from _of_gradients(ours, theirs)


def _failure(report: dict[str, Any]) -> tuple[str, Any] | None:
    return next(((stage, report[stage]) for stage in ("building", "running") if stage in report), None)


def _of_failures(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    mine, other = _failure(ours), _failure(theirs)
    if _named(mine) != _named(other):
        told = next(failure[1]["text"] for failure in (mine, other) if failure)
        yield f"{_named(mine)}, there {_named(other)} ({told})"


def _named(failure: tuple[str, Any] | None) -> str:
    return f"{failure[1]['class']} when {failure[0]}" if failure else "a value"


def _at_least(mine: list[Any] | None, other: list[Any] | None) -> bool:
    """Says whether our shape agrees with theirs and knows as much."""
    if other is None:
        return True
    return mine is not None and len(mine) == len(other) and all(b is None or a == b for a, b in zip(mine, other))


def _of_arrays(what: str, ours: list[Any], theirs: list[Any]) -> Iterator[str]:
    if len(ours) != len(theirs):
        yield f"{len(ours)} {what}s, there {len(theirs)}"
        return
    for i, (mine, other) in enumerate(zip(ours, theirs)):
        if (mine is None) != (other is None):
            yield f"{what} {i} is {'None, there a tensor' if mine is None else 'a tensor, there None'}"
        elif mine is not None:
            a, b = decode(mine, tf), decode(other, tf)
            if (a.dtype, a.shape) != (b.dtype, b.shape):
                yield f"{what} {i} is {a.dtype}{list(a.shape)}, there {b.dtype}{list(b.shape)}"
            elif line := _unequal(a, b):
                yield f"{what} {i}: {line}"


def _unequal(a: np.ndarray, b: np.ndarray) -> str | None:
    name = a.dtype.name
    if a.dtype.kind == "O":
        wrong = np.array([_meant(p) != _meant(q) for p, q in zip(a.flat, b.flat)], bool).reshape(a.shape)
    elif name not in _TOLERANCE:
        wrong = a != b
    else:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        with np.errstate(all="ignore"):
            finite = np.abs(y[np.isfinite(y)])
            scale = max(np.median(finite), min(finite.max(), 1.0), 0.01) if finite.size else 1.0
            wrong = ~np.isclose(x, y, rtol=_TOLERANCE[name], atol=_TOLERANCE[name] * scale, equal_nan=True)
    if not np.any(wrong):
        return None
    pairs = [f"{p!r}/{q!r}" for p, q in list(zip(a[wrong].tolist(), b[wrong].tolist()))[:5]]
    where = np.argwhere(wrong)[:3].tolist()
    return f"{int(np.sum(wrong))} of {a.size} differ, ours/theirs {', '.join(pairs)} at {where}"


def _meant(text: bytes) -> Any:
    """Returns what a string stands for: of a PNG file, which has many forms, header and pixels; else itself.

    Numbers in an Example may be packed or not.
    """
    if text.startswith(b"\x89PNG"):
        return text[:33], decode_png(text, 0, True).tobytes()
    if text.startswith(b"\n"):
        try:
            return parse_message("Example", text).SerializeToString(deterministic=True)
        except ValueError:
            return text
    return text


def _of_gradients(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """Compares gradients where TensorFlow has them; it has none of its gradient operations, and some bugs."""
    if "gradients" not in theirs:
        return
    for stage in ("differentiating", "running backward"):
        if stage in ours:
            yield f"{ours[stage]['class']} when {stage}, there not ({ours[stage]['text']})"
            return
    yield from _of_arrays("gradient", ours["gradients"], theirs["gradients"])


def program_differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """Yields a line for each way in which a program's outcome differs."""
    mine, other = _failure(ours), _failure(theirs)
    early = mine and other and (mine[0], other[0]) == ("building", "running")
    if early and mine[1]["class"] == "ValueError" and other[1]["class"] == "InvalidArgumentError":  # type: ignore[index]
        return  # what TensorFlow sees only in the step may be seen here while the graph is built
    if mine or other:
        yield from _of_failures(ours, theirs)
        return
    yield from _of_results(ours["result"], theirs["result"], "result")
    yield from _of_arrays("value", ours["values"], theirs["values"])


def _of_results(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from _of_results(*pair, f"{where}[{i}]")
    elif isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        if "array" in ours:
            yield from _of_arrays(where, [ours["array"]], [theirs["array"]])
        elif "tensor" in ours and not (
            ours["tensor"] == theirs["tensor"] and _at_least(ours["shape"], theirs["shape"])
        ):
            yield f"{where} is {ours['tensor']}{ours['shape']}, there {theirs['tensor']}{theirs['shape']}"
    elif isinstance(ours, float) and isinstance(theirs, float):
        if not np.isclose(ours, theirs, rtol=1e-5, equal_nan=True):
            yield f"{where}: {ours}, there {theirs}"
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{where}: {ours!r}, there {theirs!r}"
