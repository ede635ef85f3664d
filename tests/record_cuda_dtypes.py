"""Asks a CUDA device for which types it lacks the kernels that ours call, and writes the answers to a file.

`python -m tests.record_cuda_dtypes tests/fixtures/cuda_dtypes.json` takes a minute on a machine with a GPU. Every call
of `tests/fixtures/aten_calls.json.gz` is made with every type in place of its first one, on the CPU and on the GPU.
"""

import gzip
import json
import sys
import warnings

import torch

from tests.aten_calls import FIXTURE, read
from tests.away_tensors import call_types

TYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip


def first_type(call):
    """Returns the type of the first tensor of a call."""
    if isinstance(call, dict) and "tensor" in call:
        return call["tensor"]
    items = call if isinstance(call, list) else list(call.values()) if isinstance(call, dict) else []
    return next(filter(None, map(first_type, items)), None)


def refusals(name, calls, device):
    """Returns what the device says to the calls of an operation that the CPU can make, with their types."""
    _, packet, overload = name.split(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    found = {}
    for args, kwargs in calls:
        first = first_type([args, kwargs]) or kwargs.get("dtype", {}).get("torch")
        for dtype in TYPES if first else ():
            try:
                made = read([args, list(kwargs.values())], torch.device("cpu"), {first: dtype})
                keywords = dict(zip(kwargs, made[1]))
                types = call_types(made[0], keywords)
                function(*made[0], **keywords)
            except Exception:
                continue  # the pretended GPU cannot either
            args_there, values = read([args, list(kwargs.values())], device, {first: dtype})
            try:
                function(*args_there, **dict(zip(kwargs, values)))
                torch.cuda.synchronize(device)
            except Exception as error:
                sentence = str(error).partition("\n")[0]
                if "CUDA error" in sentence:
                    raise SystemExit(f"{name} with {types} ended the context: {sentence}") from None
                found.setdefault(sentence, []).append(types)
    return {sentence: sorted(set(types)) for sentence, types in sorted(found.items())}


def main(path):
    warnings.simplefilter("ignore")
    device = torch.device("cuda", 0)
    calls = json.loads(gzip.decompress(FIXTURE.read_bytes()))
    table = {}
    for index, name in enumerate(calls):
        if index % 20 == 0:
            print(f"{index} of {len(calls)} operations, {len(table)} with refusals", flush=True)
        if name.startswith("aten.") and (found := refusals(name, calls[name], device)):
            table[name] = found
    with open(path, "w") as file:
        json.dump(table, file, indent=1)
        file.write("\n")
    print(f"wrote {sum(map(len, table.values()))} refusals of {len(table)} operations")


if __name__ == "__main__":
    main(sys.argv[1])
