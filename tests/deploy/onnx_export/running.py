"""Runs graphs in a session and, exported, in onnxruntime, and compares what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime

import thalweg as tf
from thalweg._src.deploy.onnx_export.export import from_session
from thalweg._src.deploy.onnx_export.prepare import prepare

onnxruntime.disable_telemetry_events()
STATIC, BATCH, ANY = "static", "batch", "any"  # which sizes of the inputs are known: all, all but the first, none


@dataclass(frozen=True)
class Case:
    """A graph with one op to export, as a function of placeholders for arrays.

    modes: what is known of the shapes
    """

    op: str
    build: Callable[..., Any]
    arrays: tuple[Any, ...]
    modes: tuple[str, ...] = (STATIC, BATCH, ANY)
    rtol: float = 1e-4
    atol: float = 1e-5


def case(op, build, *arrays, **options):
    return Case(op, build, tuple(np.asarray(array) for array in arrays), **options)


def parameters(cases: Iterable[Case]):
    """Returns each case with each mode, and their names for pytest."""
    given = [(each, mode) for each in cases for mode in each.modes]
    return {"argvalues": given, "ids": [f"{each.op}-{i}-{mode}" for i, (each, mode) in enumerate(given)]}


def random(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def check(each: Case, mode: str = STATIC):
    """Compares the results of a case; returns the model."""
    with tf.Graph().as_default():
        inputs = [
            tf.placeholder(tf.string if array.dtype.kind in "OSU" else array.dtype, _known(array.shape, mode), f"x{i}")
            for i, array in enumerate(each.arrays)
        ]
        built = each.build(*inputs)
        outputs = list(built) if isinstance(built, list | tuple) else [built]
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            step, _ = prepare(session, inputs, outputs, [tensor.dims for tensor in inputs])
            assert each.op in {node.type for node in step.everything()}, "the graph lacks the op that it is to test"
            return compare(session, inputs, outputs, each.arrays, each.rtol, each.atol)


def _known(shape, mode):
    return {STATIC: list(shape), BATCH: [None, *shape[1:]] if shape else [], ANY: [None] * len(shape)}[mode]


def compare(session, inputs, outputs, arrays, rtol=1e-4, atol=1e-5, **options):
    """Exports a graph and compares its outputs for some arrays with those of the session."""
    names = [f"y{i}" for i in range(len(outputs))]
    model = from_session(session, inputs, dict(zip(names, outputs)), **options)
    expected = session.run(outputs, dict(zip(inputs, arrays)))
    fed = {tensor.op.name: array for tensor, array in zip(inputs, arrays)}
    for name, want, got in zip(names, expected, run(model, fed, names)):
        equal(name, want, got, rtol, atol)
    return model


def run(model, feeds, names=None):
    """Runs a model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {name: array.astype(object) if array.dtype.kind in "SU" else array for name, array in feeds.items()}
    return session.run(names, feeds)


def equal(name, want, got, rtol=1e-4, atol=1e-5):
    want = np.asarray(want)
    if want.dtype == object:
        assert [each.decode() for each in want.ravel()] == list(np.ravel(got)), name
        return
    assert got.dtype == want.dtype, f"{name} is {got.dtype} in the model and {want.dtype} in the session"
    np.testing.assert_allclose(got, want, rtol, atol, err_msg=name)


def types(model):
    """Returns the types of a model's nodes, those of its branches and loops after their node."""
    return [node.op_type for node in nodes(model.graph)]


def nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes(attribute.g)
