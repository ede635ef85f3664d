"""Asks a CUDA device for which types it lacks the kernels that ours call, and writes the answers to a file.

`python -m tests.record_cuda_dtypes tests/fixtures/cuda_dtypes.json` takes a minute on a machine with a GPU. Every call
of `tests/fixtures/aten_calls.json.gz` is made with every type in place of each of its own, on the CPU and on the GPU.
"""

import gzip
import json
import os
import sys
import warnings
from pathlib import Path

import torch

from tests.aten_calls import FIXTURE, read
from tests.away_tensors import call_types

TYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip
# Other errors are those of types that do not go together, which no kernel of ours calls with.
NO_KERNEL = ("not implemented for", "not supported for", "unable to find an engine")


def types_of(call):
    """Returns the types of the tensors of a call, each once."""
    if isinstance(call, dict) and "tensor" in call:
        return [call["tensor"]]
    items = call if isinstance(call, list) else list(call.values()) if isinstance(call, dict) else []
    return list(dict.fromkeys(dtype for item in items for dtype in types_of(item)))


def refusals(name, calls, device):
    """Returns what the device says to the calls of an operation that the CPU can make, with their types."""
    _, packet, overload = name.split(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    found = {}
    for args, kwargs in calls:
        replaced = types_of([args, kwargs]) or filter(None, [kwargs.get("dtype", {}).get("torch")])
        for types in ({before: dtype} for before in replaced for dtype in TYPES):
            try:
                made = read([args, list(kwargs.values())], torch.device("cpu"), types)
                keywords = dict(zip(kwargs, made[1]))
                names = call_types(made[0], keywords)
                function(*made[0], **keywords)
            except Exception:
                continue  # the pretended GPU cannot either
            args_there, values = read([args, list(kwargs.values())], device, types)
            try:
                function(*args_there, **dict(zip(kwargs, values)))
                torch.cuda.synchronize(device)
            except Exception as error:
                sentence = str(error).partition("\n")[0]
                if "CUDA error" in sentence:  # no kernel runs in this process from now on
                    raise _ContextEnded(f"{names}: {sentence}") from None
                if any(words in sentence for words in NO_KERNEL):
                    found.setdefault(sentence, []).append(names)
    return {sentence: sorted(set(names)) for sentence, names in sorted(found.items())}


class _ContextEnded(Exception):
    pass


def main(path, start=0):
    """Writes the table; after an error that ends all use of the GPU, another process goes on with what comes next."""
    warnings.simplefilter("ignore")
    calls = json.loads(gzip.decompress(FIXTURE.read_bytes()))
    table = json.loads(Path(path).read_text()) if start else {}
    for index, (name, made) in enumerate(calls.items()):
        if index < start or not name.startswith("aten."):
            continue
        if index % 20 == 0:
            print(f"{index} of {len(calls)} operations, {len(table)} with refusals", flush=True)
        try:
            if found := refusals(name, made, torch.device("cuda", 0)):
                table[name] = found
        except _ContextEnded as error:
            print(f"{name} with {error}", flush=True)
            Path(path).write_text(json.dumps(table))
            os.execv(sys.executable, [sys.executable, "-m", "tests.record_cuda_dtypes", path, str(index + 1)])
    Path(path).write_text(json.dumps(table, indent=1) + "\n")
    print(f"wrote {sum(map(len, table.values()))} refusals of {len(table)} operations")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
