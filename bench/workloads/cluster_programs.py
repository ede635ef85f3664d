"""Steps over several tasks as TensorFlow 1 programs: one source text, run by TensorFlow and by Thalweg."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

import numpy as np

from workloads import data, graph_programs
from workloads.task import Task

Step = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The process that holds the session: the cluster, its own worker task, and the target of the session."""

    jobs: dict[str, list[str]]
    task: int = 0
    target: str = ""

    @property
    def worker(self) -> str:
        return f"/job:worker/task:{self.task}"

    @property
    def servers(self) -> list[str]:
        """Returns the devices of the parameter servers."""
        return [f"/job:ps/task:{i}" for i in range(len(self.jobs.get("ps", ())))]


@dataclass(frozen=True, slots=True)
class Program:
    """A program and its tasks, each in a process of its own.

    client: the session is in one more process; otherwise each worker's process holds the session of its worker.
    transport: THALWEG_CLUSTER_TRANSPORT of all processes; TensorFlow always uses TCP.
    """

    build: Callable[[Any, Place], Step]
    ps: int = 1
    workers: int = 1
    client: bool = False
    transport: str = ""


def noop(tf: Any, place: Place) -> Step:
    with tf.Graph().as_default() as graph, tf.device(place.worker):
        nothing = tf.no_op()
    session = tf.Session(place.target, graph)
    return lambda: session.run(nothing)


def scalar(tf: Any, place: Place, through_callable: bool = False) -> Step:
    """Adds a scalar from each parameter server at the worker."""
    with tf.Graph().as_default() as graph:
        values = []
        for i, device in enumerate(place.servers):
            with tf.device(device):
                values.append(tf.Variable(1.5, name=f"scalar{i}"))
        with tf.device(place.worker):
            total = tf.add_n([value + 1.0 for value in values])
        session = _session(tf, graph, place)
    return session.make_callable(total) if through_callable else lambda: session.run(total)


def sparse(tf: Any, place: Place) -> Step:
    """Looks up random rows of a table at the parameter servers and adds them at the worker."""
    with tf.Graph().as_default() as graph:
        parts, size = [], data.TABLE_ROWS // len(place.servers)
        for i, device in enumerate(place.servers):
            with tf.device(device):
                values = tf.range(float(size * data.TABLE_WIDTH)) * 1e-6
                parts.append(tf.Variable(tf.reshape(values, [size, data.TABLE_WIDTH]), name=f"table{i}"))
        with tf.device(place.worker):
            ids = tf.placeholder(tf.int32, [data.LOOKED_UP])
            total = tf.reduce_sum(tf.nn.embedding_lookup(parts, ids))
        session = _session(tf, graph, place)
    batches = cycle(data.lookups())
    return lambda: session.run(total, {ids: next(batches)})


def pull(tf: Any, place: Place, floats: int = data.DENSE_FLOATS) -> Step:
    """Sends variables from the parameter servers to the worker, which reads one element of each."""
    with tf.Graph().as_default() as graph:
        values = []
        for i, device in enumerate(place.servers):
            with tf.device(device):
                ones = tf.ones([floats // len(place.servers)])
                values.append(tf.Variable(ones, name=f"dense{i}"))
        with tf.device(place.worker):
            total = tf.add_n([value[-1] for value in values])
        session = _session(tf, graph, place)
    return lambda: session.run(total)


def push(tf: Any, place: Place) -> Step:
    """Sends a variable of the worker to the parameter server, which adds it to its own."""
    with tf.Graph().as_default() as graph:
        with tf.device(place.worker):
            change = tf.Variable(tf.ones([data.DENSE_FLOATS]), name="change")
            sent = change.read_value()
        with tf.device(place.servers[0]):
            total = tf.Variable(tf.zeros([data.DENSE_FLOATS]), name="total")
            last = tf.assign_add(total, sent)[-1]
        session = _session(tf, graph, place)
    return lambda: session.run(last)


def mlp(tf: Any, place: Place) -> Step:
    """Trains the MLP; every worker has its own graph, and the variables at the parameter servers are shared."""
    return graph_programs.mlp(tf, device=_replica(tf, place), target=place.target)


def cnn(tf: Any, place: Place) -> Step:
    return graph_programs.cnn(tf, device=_replica(tf, place), target=place.target)


def once(tf: Any, place: Place, is_whole: bool = True) -> Step:
    """Trains the MLP of one worker; each update is applied exactly once to the variables of all parameter servers."""
    with tf.Graph().as_default() as graph, tf.device(_replica(tf, place)):
        x = tf.placeholder(tf.float32, [data.MLP_BATCH, data.MLP_SIZES[0]])
        labels = tf.placeholder(tf.int32, [data.MLP_BATCH])
        layers = [graph_programs.variables(tf, f"layer{i}", layer) for i, layer in enumerate(data.mlp_layers())]
        logits = graph_programs.mlp_logits(tf, x, layers)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer = tf.train.AdamOptimizer(data.MLP_RATE)
        if is_whole:
            optimizer = tf.train.experimental.ExactlyOnceOptimizer(optimizer)
        train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
        session = _session(tf, graph, place)
    images, classes = data.mlp_batch()
    feeds = {x: images, labels: classes}
    if not is_whole:
        return lambda: session.run([loss, train], feeds)[0]
    claim, _ = session.run(optimizer.claim)
    numbers = count(1)
    return lambda: session.run([loss, train], {**feeds, optimizer.identity: [claim, next(numbers)]})[0]


def _replica(tf: Any, place: Place) -> Any:
    return tf.train.replica_device_setter(cluster=place.jobs, worker_device=place.worker) if place.servers else None


def first_step(tf: Any, place: Place) -> Step:
    """Opens a session and runs one step of a graph whose towers pass through all workers."""
    feed = np.full((4, 4), 0.5, np.float32)
    graphs: list[tuple[Any, Any, Any]] = []
    sessions: list[Any] = []

    def build() -> None:
        number, workers = count(), len(place.jobs["worker"])
        with (
            tf.Graph().as_default() as graph,
            tf.device(lambda _: f"/job:worker/task:{next(number) // data.CLUSTER_RUN % workers}"),
        ):
            x, _, loss = graph_programs.towers(tf, data.CLUSTER_NODES)
        graphs.append((graph, x, loss))

    def run() -> Any:
        graph, x, loss = graphs.pop()
        sessions.append(tf.Session(place.target, graph))
        return sessions[-1].run(loss, {x: feed})

    return Task(run, before=build, after=lambda: sessions.pop().close())


def _session(tf: Any, graph: Any, place: Place) -> Any:
    session = tf.Session(place.target, graph)
    session.run(tf.global_variables_initializer())
    return session


SCALING: dict[str, Program] = {
    "scale_scalar": Program(scalar, ps=2, workers=data.SCALING_WORKERS),
    "scale_dense_1mb": Program(lambda tf, place: pull(tf, place, 250_000), ps=2, workers=data.SCALING_WORKERS),
    "scale_dense_10mb": Program(lambda tf, place: pull(tf, place, 2_500_000), ps=2, workers=data.SCALING_WORKERS),
    "scale_sparse": Program(sparse, ps=2, workers=data.SCALING_WORKERS),
    "scale_mlp": Program(mlp, ps=2, workers=data.SCALING_WORKERS),
}
PROGRAMS: dict[str, Program] = {
    "noop": Program(noop),
    "noop_client": Program(noop, client=True),
    "scalar": Program(scalar),
    "scalar_callable": Program(lambda tf, place: scalar(tf, place, through_callable=True)),
    "scalar_client": Program(scalar, client=True),
    "sparse": Program(sparse),
    "pull": Program(pull),
    "pull_tcp": Program(pull, transport="tcp"),
    "push": Program(push),
    "mlp": Program(mlp, ps=2, workers=4),
    "cnn": Program(cnn),
    "once": Program(once, ps=2),
    "first_step": Program(first_step, ps=0, workers=4),
    **SCALING,
}
REFERENCES: dict[str, Program] = {
    "cnn": Program(cnn, ps=0, workers=0, client=True),
    "once": Program(lambda tf, place: once(tf, place, is_whole=False), ps=2),
}
