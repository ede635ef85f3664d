"""A task of a training program for fault scenarios: a parameter server, or a worker with a monitored session.

Each task appends its events to a file: seconds of the system's monotonic clock, what happened, details.
"""

import faulthandler
import logging
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import thalweg as tf
from tests.cluster.distributed.injector import Injector

EXAMPLES, FEATURES, BATCH = 64, 6, 8


@dataclass(frozen=True)
class Task:
    """One task of a scenario.

    mode: "async"; "plain", without a monitored session; "sync"; or "backup", sync with one backup worker
    folder: of the events, the checkpoints and the file `last`, the step at which training is to end
    pause: seconds of each step besides those of its computation
    is_reference: whether the variables after each step are reported
    """

    spec: dict
    job: str
    index: int
    mode: str
    folder: Path
    pause: float = 0.02
    save_secs: float | None = None
    save_steps: int | None = 10
    fault: object = None
    is_reference: bool = False

    @property
    def name(self):
        return f"/job:{self.job}/replica:0/task:{self.index}"


class Events(logging.Handler):
    """Appends the events of a task to its file; what the implementation logs is an event too."""

    def __init__(self, task):
        super().__init__(logging.INFO)
        self._file = open(task.folder / f"{task.job}{task.index}", "a", buffering=1)  # noqa: SIM115

    def add(self, kind, text=""):
        self._file.write(f"{time.monotonic()} {kind} {text}\n")

    def emit(self, record):
        self.add("log", f"{record.levelname} {record.getMessage()}".replace("\n", " "))


def run(task):
    """Runs a task until its training has ended; returns whether it ended without an error."""
    faulthandler.register(signal.SIGUSR1)  # for scenarios that do not end
    events = Events(task)
    tf.get_logger().addHandler(events)
    tf.logging.set_verbosity(tf.logging.INFO)
    if task.fault is not None:
        Injector(task.fault, task.folder / "fault").install()
    server = tf.train.Server(task.spec, task.job, task.index)
    events.add("serves")
    if task.job == "ps":
        server.join()
    try:
        train(task, server, events)
    except Exception as error:
        events.add("error", f"{type(error).__name__} {error}".replace("\n", " "))
        return False
    events.add("done")
    return True


def train(task, server, events):
    device = tf.train.replica_device_setter(cluster=task.spec, worker_device=f"/job:worker/task:{task.index}")
    with tf.device(device):
        loss, step, train_op, hooks = model(task)
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{task.index}"])
    fetches = [loss, step, train_op]
    if task.mode == "plain":
        with tf.Session(server.target, config=config) as session:
            session.run(tf.global_variables_initializer())
            tf.train.start_queue_runners(session)
            while not has_ended(task, taken := session.run(fetches)[1]):
                events.add("step", taken)
                time.sleep(task.pause)
        return
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=task.index == 0,
        checkpoint_dir=str(task.folder / "model"),
        save_checkpoint_secs=task.save_secs,
        save_checkpoint_steps=task.save_steps,
        log_step_count_steps=None,
        save_summaries_steps=None,
        config=config,
        hooks=[*hooks, Stop(task), *([Report(events)] if task.is_reference else [])],
    ) as session:
        while not session.should_stop():
            value, taken, _ = session.run(fetches)
            events.add("step", f"{taken} {float(value).hex()}")
            time.sleep(task.pause)


def model(task):
    """Returns a loss, the step that it belongs to, the training operation and hooks; the data follow from the step."""
    numbers = np.random.RandomState(5)
    features = numbers.randn(EXAMPLES, FEATURES).astype(np.float32)
    labels = np.tanh(features @ numbers.randn(FEATURES, 1)).astype(np.float32)
    step = tf.train.get_or_create_global_step()
    counted = tf.train.range_input_producer(EXAMPLES, shuffle=False).dequeue()
    with tf.control_dependencies([counted]):
        now = tf.identity(step)
    rows = (tf.range(BATCH, dtype=tf.int64) + BATCH * now) % EXAMPLES
    x, y = tf.gather(features, rows), tf.gather(labels, rows)
    hidden = tf.layers.dense(x, 16, tf.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    guess = tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    loss = tf.reduce_mean(tf.square(guess - y))
    optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
    hooks = []
    if task.mode in ("sync", "backup"):
        total = len(task.spec["worker"])
        wanted = total - (task.mode == "backup")
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=wanted, total_num_replicas=total)
        hooks = [optimizer.make_session_run_hook(task.index == 0)]
    return loss, now, optimizer.minimize(loss, global_step=step), hooks


def has_ended(task, step):
    """Returns whether training is to end at a step, or was to end before it."""
    last = task.folder / "last"
    return last.exists() and step >= int(last.read_text())


def joined(values):
    """Returns the variables of the model, given by name, as one vector."""
    return np.concatenate([np.ravel(values[name]) for name in sorted(values) if "dense" in name])


class Report(tf.train.SessionRunHook):
    """Reports the variables after each step; in synchronous training they do not change meanwhile."""

    def __init__(self, events):
        self._events = events

    def begin(self):
        self._variables = {variable.op.name: variable for variable in tf.global_variables()}

    def after_run(self, run_context, run_values):
        values = run_context.session.run(self._variables)
        self._events.add("variables", f"{values['global_step']} {joined(values).tobytes().hex()}")


class Stop(tf.train.SessionRunHook):
    """Ends training at the step that the file `last` names."""

    def __init__(self, task):
        self._task = task

    def begin(self):
        self._step = tf.train.get_global_step()

    def after_create_session(self, session, coord):
        if has_ended(self._task, session.run(self._step)):
            coord.request_stop()

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if has_ended(self._task, run_values.results):
            run_context.request_stop()
