"""Queues, accumulators, barriers, staging areas and readers give what TensorFlow's give: values and errors."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

import thalweg as tf
from tests.conformance import queue_programs
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import run_tensorflow
from tests.runtime.resources.queue_model import Model, Request
from thalweg._src.compat.contrib.staging import MapStagingArea, StagingArea
from thalweg._src.training.input.barrier import Barrier

pytestmark = pytest.mark.timeout(400)

KINDS = ("fifo", "padding", "priority", "shuffle")
SEQUENCES = 8  # of each kind

_THERE = """
import json, os, runpy
from types import SimpleNamespace
from tensorflow.python.ops import data_flow_ops
path, folder, sequences, out = sys.argv[1:]
programs = runpy.run_path(path)
extra = SimpleNamespace(**{name: getattr(data_flow_ops, name) for name in ("Barrier", "StagingArea", "MapStagingArea")})
answers = {}
for name, sequence in json.loads(sequences).items():
    with tf.Graph().as_default():
        answers[name] = programs["run_sequence"](tf, *sequence)
for name in programs["PROGRAMS"]:
    answers[name] = programs["run_program"](tf, name, folder, extra)
with open(out, "w") as file:
    json.dump(answers, file)
"""


def sequence(kind, seed):
    """Returns a sequence of operations none of which waits, as the model tells."""
    choose = random.Random(f"{kind} {seed}")
    capacity, stay = choose.choice([4, 7, -1]), choose.choice([0, 2])
    model = Model(kind if kind != "padding" else "fifo", capacity, stay, 0)
    operations, count = [], 0
    # Priorities are all different: which of two equal ones TensorFlow takes first is its own affair.
    numbers = choose.sample(range(1000), 400)
    while len(operations) < 25:
        late = len(operations) > 18
        words = ["put", "put_many", "take", "take_many", "take_up_to", *["close", "close_and_cancel"] * late]
        word, number = choose.choice(words), choose.randint(1, 4)
        if word.startswith("put"):
            argument = numbers[count : count + (1 if word == "put" else number)]
            request = Request("put", elements=[(n,) for n in argument])
            waits = not model.closed and 0 <= capacity < len(model.items) + len(argument)
        elif word.startswith("take"):
            argument = 1 if word == "take" else number
            request = Request("take", wanted=argument, small=word == "take_up_to")
            waits = not model.closed and len(model.items) - model.stay < argument
            # TensorFlow's priority queue drops the elements that are too few, and fails.
            waits |= kind == "priority" and word == "take_up_to" and len(model.items) < argument
        else:
            argument, request, waits = 0, Request("close"), False
        if waits:
            continue
        count += len(argument) if isinstance(argument, list) else 0
        model.close_and_cancel() if word == "close_and_cancel" else model.request(request)
        operations.append((word, argument))
    return kind, capacity, stay, operations


ASKED = {f"{kind}-{seed}": sequence(kind, seed) for kind in KINDS for seed in range(SEQUENCES)}
SOURCE = Path(queue_programs.__file__).read_text()
THERE = recording("queues", [*ASKED, *queue_programs.PROGRAMS])


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queues")
    out = folder / "answers.json"
    run_tensorflow(_THERE, queue_programs.__file__, folder, json.dumps(ASKED), out, seconds=300)
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", ASKED)
def test_same_sequence(request, name):
    theirs = THERE.answer(name, [ASKED[name], SOURCE], lambda: request.getfixturevalue("there")[name])
    ours = queue_programs.run_sequence(tf, *ASKED[name])
    assert json.loads(json.dumps(ours)) == theirs


@pytest.mark.parametrize("name", queue_programs.PROGRAMS)
def test_same_outcomes(request, name, tmp_path):
    theirs = THERE.answer(name, [name, SOURCE], lambda: request.getfixturevalue("there")[name])
    extra = SimpleNamespace(Barrier=Barrier, StagingArea=StagingArea, MapStagingArea=MapStagingArea)
    ours = json.loads(json.dumps(queue_programs.run_program(tf, name, str(tmp_path), extra)))
    assert len(ours) == len(theirs)
    # What cannot be right in any step is refused here while the graph is built.
    earlier = ("refused", "InvalidArgumentError")
    different = [(i, a, b) for i, (a, b) in enumerate(zip(ours, theirs)) if a != b and (a, b) != earlier]
    assert not different
