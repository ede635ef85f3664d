"""Small input pipelines give in TensorFlow and here the same elements, types, static shapes and classes of errors."""

import contextlib
import gzip
import inspect
import json
import random
import sqlite3
import zlib
from pathlib import Path

import pytest

import thalweg as tf
from tests.conformance import data_pipelines
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import run_tensorflow
from thalweg._src.base.formats.records import framed

_STRINGS = ["string", "[]", "Tensor"]
# Where we differ, and why.
DIFFERENT = {
    # A file that cannot be read is passed over after its error, so that `ignore_errors` comes to an end.
    "text_missing": {"elements": ["NotFoundError"], "static": _STRINGS},
    "fixed_length_wrong": {"elements": ["InvalidArgumentError"], "static": _STRINGS},
    # TensorFlow only logs a compression that it does not know, and reads the file as it is.
    "records_bad_compression": {"elements": [], "static": _STRINGS, "error": "InvalidArgumentError"},
    # These are the classes of TensorFlow 1.15.
    "map_none": {"building": "TypeError"},
    "flat_map_no_dataset": {"building": "TypeError"},
    "shard_out_of_range": {"building": "ValueError"},
}


def write_files(folder):
    """Writes the files that pipelines read."""
    rng = random.Random(3)
    (folder / "a.txt").write_bytes(b"first\nsecond\r\n\nlast")
    (folder / "b.txt").write_bytes(b"one\ntwo\n")
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"packed\nlines\n" * 3))
    (folder / "fixed.bin").write_bytes(b"HHabcdefghiF")
    (folder / "table.csv").write_bytes(b'n,x,s\n1,2.5,3\n4,,"6"\n')
    first, second = ([framed(rng.randbytes(n).hex().encode()) for n in sizes] for sizes in ((0, 5, 40), (7, 1, 2, 3)))
    (folder / "a.tfrecord").write_bytes(b"".join(first))
    (folder / "b.tfrecord").write_bytes(b"".join(second))
    (folder / "c.tfrecord").write_bytes(zlib.compress(b"".join(first + second)))
    (folder / "cut.tfrecord").write_bytes(b"".join(second)[:-3])
    with contextlib.closing(sqlite3.connect(folder / "people.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE people (name TEXT, age INTEGER, height REAL)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", [("Bob", 45, 1.8), ("Ann", 31, 1.75)])
    (folder / "damaged.tfrecord").write_bytes(b"".join(second[:2]) + b"\0" + b"".join(second[2:]))


SOURCE = [inspect.getsource(write_files), Path(data_pipelines.__file__).read_text()]
THERE = recording("data", data_pipelines.PIPELINES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipelines")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    runner, out = Path(data_pipelines.__file__), folder / "answers.jsonl"
    code = (
        "import json, runpy; runpy.run_path(sys.argv[1])['main'](tf, sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))"
    )
    names = list(data_pipelines.PIPELINES)
    run_tensorflow(code, runner, folder, out, json.dumps(names))
    lines = out.read_text().splitlines()
    return dict(zip(names, map(json.loads, lines), strict=True))


@pytest.mark.parametrize("name", data_pipelines.PIPELINES)
def test_pipeline_is_tensorflows(request, folder, name):
    theirs = THERE.answer(name, [name, *SOURCE], lambda: request.getfixturevalue("answers")[name])
    found = json.loads(json.dumps(data_pipelines.run(tf, name, str(folder))))
    assert found == DIFFERENT.get(name, theirs)
