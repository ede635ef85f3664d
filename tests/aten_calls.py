"""The calls of torch that kernels make on a GPU, written down so that they can be made again on a real one.

`pytest --pretend-gpu -p tests.aten_calls` adds those of the tests it runs to `tests/fixtures/aten_calls.json.gz`.
"""

import gzip
import json
import math
from pathlib import Path

import torch

FIXTURE = Path(__file__).parent / "fixtures" / "aten_calls.json.gz"
_MOST = 64  # integers that are kept, as they may be indices
_EACH = 4  # calls of one operation, with other types or ranks


def written(value):
    """Returns an argument of a call in JSON's own types."""
    if isinstance(value, torch.Tensor):
        value = getattr(value, "on_host", value)
        is_kept = not value.is_floating_point() and not value.is_complex() and value.numel() <= _MOST
        return {
            "tensor": str(value.dtype)[6:],
            "shape": list(value.shape),
            "values": value.flatten().tolist() if is_kept else None,
        }
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return {"torch": str(value)[6:]}
    if isinstance(value, torch.device):
        return {"device": value.type}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value if isinstance(value, int | float | str | bool | None) else None


def read(value, device, types):
    """Returns an argument as `written` had it, on a device; `types` replaces names of types by others."""
    if isinstance(value, list):
        return [read(item, device, types) for item in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        dtype = getattr(torch, types.get(value["tensor"], value["tensor"]))
        if value["values"] is None:  # an index of many may be 0, not 1
            is_index = value["tensor"].startswith(("int", "uint"))
            return torch.full(value["shape"], 0.0 if is_index else 1.0, device=device).to(dtype)
        return torch.tensor(value["values"], dtype=torch.int64, device=device).reshape(value["shape"]).to(dtype)
    if "torch" in value:
        return getattr(torch, types.get(value["torch"], value["torch"]))
    if "device" in value:
        return device if value["device"] != "cpu" else torch.device("cpu")
    return complex(*value["complex"]) if "complex" in value else float(value["float"])


def _shape_of(call):
    """Returns what distinguishes two calls of one operation."""
    leaves = [call]
    for leaf in leaves:
        leaves += leaf if isinstance(leaf, list) else list(leaf.values()) if isinstance(leaf, dict) else []
    return str([(leaf["tensor"], len(leaf["shape"])) for leaf in leaves if isinstance(leaf, dict) and "tensor" in leaf])


class _Calls:
    def __init__(self, compute):
        self._compute = compute
        self._known = _stored()
        self.found = {}

    def __call__(self, function, args, kwargs):
        name = str(function)
        found = self.found.setdefault(name, [])
        if len(self._known.get(name, [])) + len(found) >= _EACH:
            return self._compute(function, args, kwargs)
        call = [written(args), {key: written(value) for key, value in kwargs.items()}]
        results = self._compute(function, args, kwargs)  # a call that fails is none
        _add(call, found)
        return results


def _stored():
    return json.loads(gzip.decompress(FIXTURE.read_bytes())) if FIXTURE.exists() else {}


def _add(call, calls):
    if len(calls) < _EACH and _shape_of(call) not in map(_shape_of, calls):
        calls.append(call)


def pytest_configure(config):
    from tests import away_tensors

    config.aten_calls = away_tensors.compute = _Calls(away_tensors.compute)


def pytest_unconfigure(config):
    stored = _stored()  # another process may have added some
    for name, calls in config.aten_calls.found.items():
        for call in calls:
            _add(call, stored.setdefault(name, []))
    text = json.dumps(dict(sorted(stored.items())), indent=0)
    FIXTURE.write_bytes(gzip.compress(text.encode(), mtime=0))
