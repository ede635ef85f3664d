"""Times single operations in Thalweg's compiled step against the same torch functions called directly.

python bench/ops.py                     # every operation and the decoding of images; saved in results/ops.json
python bench/ops.py --only relu,conv2d  # some of them; nothing is saved
python bench/ops.py --rounds 21         # more rounds, steadier medians
python bench/ops.py --show relu         # the program that a step runs
"""

from __future__ import annotations

import argparse
import io
import json
import math
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import environments
import numpy as np
import quiet
import torch
import torch.nn.functional as F  # noqa: N812

sys.path.insert(0, str(environments.ROOT / "src"))

from PIL import Image
from report import _cpu
from workloads.op_cases import CASES, Case

import thalweg as tf

COPIES = 10
ROUND_SECONDS = 0.05
PATIENCE_SECONDS = 10
TARGET = 1.1
IMAGE_TARGET = 1.05  # Pillow's time, with a margin for noise
IMAGES = 4
IMAGE_SHAPE = (480, 640, 3)

Step = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """The same work in a step of Thalweg and in direct calls of a library, with its number of operations and target."""

    name: str
    ours: Step
    direct: Step
    operations: int
    target: float = TARGET
    program: str = ""


def operation(case: Case) -> Pair:
    """Returns a step with several copies of an operation, each on its own inputs, and as many calls of torch."""
    rng = np.random.default_rng(7)
    arrays = [[make(rng) for make in case.inputs] for _ in range(COPIES)]
    session, variables, outputs, everything = _graph(case, arrays)
    direct = _direct(case, session.run(variables) if case.inputs else arrays)
    _compare(case, session.run(outputs[0]), direct(True))
    step = session.make_callable(everything)
    return Pair(case.name, step, direct, len(outputs), program=session.show_program(everything))


def _graph(case: Case, arrays: list[list[np.ndarray[Any, Any]]]) -> tuple[Any, list[Any], list[Any], Any]:
    variants = [(variant,) for variant in case.variants] or [()]
    with tf.Graph().as_default() as graph:
        # Variables, since operations on constants would be folded.
        variables = [[tf.Variable(array) for array in row] for row in arrays]
        values = [[v.read_value() for v in row] for row in variables] if case.variants else variables
        outputs = [case.graph(tf, *row, *variant) for row in values for variant in variants]
        everything = tf.group(*outputs)  # run, not fetched, to time operations without copies to NumPy
        initializer = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(initializer)
    return session, variables, outputs, everything


def _direct(case: Case, arrays: list[list[np.ndarray[Any, Any]]]) -> Callable[..., Any]:
    """Generates straight-line calls of torch, like the code of a step: no loop and no extra frame."""
    names: dict[str, Any] = {"torch": torch, "F": F}
    lines = []
    for copy, row in enumerate(arrays):
        for place, array in enumerate(row):
            names[f"x{copy}_{place}"] = _tensor(array, case.given.get(place))
        inputs = [f"x{copy}_{place}" for place in range(len(row))]
        lines += [case.direct.format(*inputs, k=variant) for variant in case.variants or (None,)]
    text = f"def step(first=False):\n    if first: return {lines[0]}\n" + "".join(f"    {line}\n" for line in lines)
    exec(text, names)
    step: Callable[..., Any] = names["step"]
    return step


def _tensor(fetched: np.ndarray[Any, Any], change: Callable[[torch.Tensor], torch.Tensor] | None) -> torch.Tensor:
    """Returns torch's input in the memory of the variable, so that caches treat both alike."""
    with torch.inference_mode():
        tensor = torch.from_numpy(fetched)
        return tensor if change is None else change(tensor)


def _compare(case: Case, ours: Any, theirs: Any) -> None:
    """Checks that both compute the same results."""
    theirs = (theirs if case.taken is None else case.taken(theirs)).numpy()
    assert ours.shape == theirs.shape, f"{case.name}: {ours.shape} is not {theirs.shape}"
    if case.taken is not None:
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3, err_msg=case.name)


def decoding(kind: str) -> Pair:
    """Decodes photographs: Thalweg to a tensor in a step, Pillow to an array."""
    files = [_photograph(seed, kind) for seed in range(IMAGES)]
    decode = tf.image.decode_jpeg if kind == "jpeg" else tf.image.decode_png
    with tf.Graph().as_default() as graph:
        contents = [tf.placeholder(tf.string, []) for _ in files]
        images = [decode(content, channels=3) for content in contents]
        session = tf.Session(graph=graph)
        callable_ = session.make_callable(tf.group(*images), contents)
        first = session.run(images[0], {contents[0]: files[0]})

    def pillow() -> list[Any]:
        return [np.asarray(Image.open(io.BytesIO(file)).convert("RGB")) for file in files]

    difference = np.abs(first.astype(int) - pillow()[0].astype(int)).mean()
    assert difference < 2, f"decode_{kind}: {difference} levels from Pillow's image"
    program = session.show_program(images[0])
    return Pair(f"decode_{kind}", lambda: callable_(*files), pillow, len(files), IMAGE_TARGET, program)


def _photograph(seed: int, kind: str) -> bytes:
    """Returns an image like a photograph: smooth shapes and a little noise."""
    rng = np.random.default_rng(seed)
    soft = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8)).resize(IMAGE_SHAPE[1::-1], Image.BICUBIC)
    noisy = np.asarray(soft).astype(np.int16) + rng.integers(-4, 5, IMAGE_SHAPE, dtype=np.int16)
    file = io.BytesIO()
    options: dict[str, Any] = {"quality": 90} if kind == "jpeg" else {}
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file, kind, **options)
    return file.getvalue()


PAIRS: dict[str, Callable[[], Pair]] = {
    **{case.name: lambda case=case: operation(case) for case in CASES},
    "decode_jpeg": lambda: decoding("jpeg"),
    "decode_png": lambda: decoding("png"),
}


def _seconds(step: Step, times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - start) / times


def measure(pair: Pair, rounds: int) -> dict[str, Any]:
    """Times both alternately; rounds that other processes disturbed are repeated, up to as many again."""
    with torch.inference_mode():  # torch without overhead; steps use inference mode as well
        for step in (pair.ours, pair.direct):
            _seconds(step, 5)
        times = max(1, math.ceil(ROUND_SECONDS / min(_seconds(pair.ours, 3), _seconds(pair.direct, 3))))
        ours: list[float] = []
        direct: list[float] = []
        disturbed, spare = 0.0, rounds
        while len(ours) < rounds:
            others = quiet.Others([])
            values = [_seconds(pair.ours, times), _seconds(pair.direct, times), _seconds(pair.direct, times)]
            values.append(_seconds(pair.ours, times))  # each is first once, so that neither always finds warm caches
            cores = others.cores()
            if cores > quiet.ALLOWED and spare:
                spare -= 1
                quiet.wait([], PATIENCE_SECONDS)
                continue
            disturbed = max(disturbed, cores)
            ours.append((values[0] + values[3]) / 2 / pair.operations * 1e6)
            direct.append((values[1] + values[2]) / 2 / pair.operations * 1e6)
    ratio = median(a / b for a, b in zip(ours, direct))
    return {
        "name": pair.name,
        "ours": median(ours),
        "direct": median(direct),
        "ratio": ratio,
        "target": pair.target,
        "met": ratio <= pair.target,
        "others": disturbed,
        "rounds": {"ours": ours, "direct": direct},
    }


def line(row: dict[str, Any]) -> str:
    verdict = "met" if row["met"] else "MISSED"
    note = f"  others used {row['others']:.1f} cores" if row["others"] > quiet.ALLOWED else ""
    numbers = f"{row['ours']:12.2f}{row['direct']:12.2f}{row['ratio']:9.2f}   <= {row['target']:.2f}"
    return f"{row['name']:30}{numbers}  {verdict:6}{note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help=f"some of {','.join(PAIRS)}; nothing is saved then")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per operation (default %(default)s)")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results"), help="where to save")
    parser.add_argument("--show", default="", help="only prints the program of this operation's step")
    given = parser.parse_args()
    unknown = {*filter(None, given.only.split(",")), *filter(None, [given.show])} - set(PAIRS)
    if unknown:
        parser.error(f"no such operation: {', '.join(sorted(unknown))}")
    if given.show:
        print(PAIRS[given.show]().program)
        return
    cores = environments.two_cores()
    print(f"{'operation':30}{'Thalweg us':>12}{'direct us':>12}{'ratio':>9}   {'target':8} verdict")
    rows = []
    for name in filter(None, given.only.split(",")) if given.only else PAIRS:
        rows.append(measure(PAIRS[name](), given.rounds))
        print(line(rows[-1]), flush=True)
    met = sum(row["met"] for row in rows)
    print(f"{met} of {len(rows)} targets met; torch {torch.__version__}, {torch.get_num_threads()} threads, {_cpu()}")
    if not given.only:
        machine = {"cpu": _cpu(), "cores": cores, "python": platform.python_version(), "torch": torch.__version__}
        summary = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "rows": rows}
        given.results.mkdir(parents=True, exist_ok=True)
        (given.results / "ops.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
