"""Kills: workers update variables on two parameter servers exactly once, while tasks are killed at random moments.

    python -m tests.cluster.distributed.kills [--kills 200] [--mode async|sync] [--seed N] [--folder FOLDER]

Each update of a worker adds 1 to `first` and to the global step on one server, and to `second` and an entry of its own
of `applied` on the other. So in every state that a step reads or a checkpoint has, the step, `first`, `second` and the
sum of `applied` are equal, and no entry is more than 1. Synchronous updates are the mean of all workers' gradients, and
have no entries. Tasks that were killed are started again and go on.
"""

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import grpc  # noqa: F401
import numpy as np

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses

WORKERS, LONGEST = 3, 100_000  # updates of one worker
_TASK = "import sys; from tests.cluster.distributed.kills import run_task; run_task(*sys.argv[1:])"
_BETWEEN_STEPS = 0.005
_PATIENCE = 60.0  # seconds within which training goes on after a kill
_PAUSE = 0.7  # seconds of training between two kills, at most
_AT_ONCE = 0.2  # the share of kills that do not wait until training goes on


def run_task(text, job, index, folder, mode):
    """Runs a parameter server, or a worker that trains, and reads after every fifth step."""
    spec, index, folder = json.loads(text), int(index), Path(folder)
    server = tf.train.Server(spec, job, index)
    if job == "ps":
        server.join()
    tf.logging.set_verbosity(tf.logging.ERROR)
    with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{index}")):
        hooks, train, state = model(mode, index == 0)
    with (
        tf.train.MonitoredTrainingSession(
            server.target,
            is_chief=index == 0,
            checkpoint_dir=str(folder / "model"),
            save_checkpoint_secs=1,
            save_summaries_steps=None,
            log_step_count_steps=None,
            config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"]),
            scaffold=tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=10_000, sharded=index % 2 == 0)),
            hooks=hooks,
        ) as session,
        (folder / f"worker{index}").open("a", buffering=1) as file,
    ):
        while True:
            for _ in range(5):
                session.run(train)
                time.sleep(_BETWEEN_STEPS)
            file.write(f"{' '.join(str(float(value)) for value in session.run(state))} .\n")


def model(mode, is_chief):
    """Returns hooks, the operation that makes an update, and what is read."""
    step = tf.train.get_or_create_global_step()
    with tf.device("/job:ps/task:0"):
        first = tf.get_variable("first", [], initializer=tf.zeros_initializer())
    with tf.device("/job:ps/task:1"):
        second = tf.get_variable("second", [], initializer=tf.zeros_initializer())
        applied = tf.get_variable("applied", [(1 + WORKERS) * LONGEST], initializer=tf.zeros_initializer())
    once = tf.train.experimental.ExactlyOnceOptimizer(tf.train.GradientDescentOptimizer(1.0))
    loss, state = -first - second, [step, first, second]
    if mode == "sync":
        optimizer = tf.train.SyncReplicasOptimizer(once, WORKERS)
        train = optimizer.minimize(loss, global_step=step, var_list=[first, second])
        return [optimizer.make_session_run_hook(is_chief)], train, state
    entry = once.replica * LONGEST + once.identity[1]
    train = once.minimize(loss - tf.reduce_sum(tf.gather(applied, [entry])), global_step=step)
    return [once.make_session_run_hook()], train, [*state, tf.reduce_sum(applied), tf.reduce_max(applied)]


class Training:
    """The tasks of a cluster, which are started again when they are killed or end."""

    def __init__(self, folder, mode):
        self.folder, self.mode = folder, mode
        self.spec = addresses(ps=2, worker=WORKERS)
        self.tasks = {}
        self.restarts = Counter()
        for job, hosts in self.spec.items():
            for index in range(len(hosts)):
                self.start(job, index)

    def start(self, job, index):
        command = [sys.executable, "-c", _TASK, json.dumps(self.spec), job, index, self.folder, self.mode]
        with (self.folder / f"{job}{index}.log").open("a") as log:
            options = {"env": children.environment(OMP_NUM_THREADS="1"), "stderr": log}
            self.tasks[job, index] = children.start(command, forked=True, **options)

    def kill(self, task):
        self.tasks[task].send_signal(signal.SIGKILL)

    def supervise(self, seconds):
        """Starts tasks again that have ended, for so long."""
        end = time.monotonic() + seconds
        while True:
            for task, process in list(self.tasks.items()):
                if process.poll() is not None:
                    children.end(process)
                    self.restarts[task, process.returncode] += 1
                    self.start(*task)
            if time.monotonic() >= end:
                return
            time.sleep(0.01)

    def progress(self):
        files = [self.folder / f"worker{index}" for index in range(WORKERS)]
        return [file.stat().st_size if file.exists() else 0 for file in files]

    def go_on(self):
        """Waits until every worker has read a new state, and returns after how many seconds."""
        start, before = time.monotonic(), self.progress()
        while any(new == old for new, old in zip(self.progress(), before)):
            if time.monotonic() > start + _PATIENCE:
                raise TimeoutError(f"training does not go on: {before} bytes of states, then {self.progress()}")
            self.supervise(0.02)
        return time.monotonic() - start

    def close(self):
        for process in self.tasks.values():
            children.end(process)


def read_states(folder, mode):
    """Yields the source and the values of each state that was read or saved."""
    for index in range(WORKERS):
        for line in (folder / f"worker{index}").read_text().splitlines():
            *values, end = line.split() or [""]
            if end == ".":  # the last line of a process may be cut
                yield f"worker {index}", [float(value) for value in values]
    saved = tf.train.get_checkpoint_state(str(folder / "model"))
    for path in () if saved is None else saved.all_model_checkpoint_paths:
        reader = tf.train.load_checkpoint(path)
        values = [float(reader.get_tensor(name)) for name in ("global_step", "first", "second")]
        applied = reader.get_tensor("applied")
        yield Path(path).name, values if mode == "sync" else [*values, float(np.sum(applied)), float(np.max(applied))]


def check(folder, mode):
    """Returns how many states were checked, and those in which an update is not whole, or was applied twice."""
    states = list(read_states(folder, mode))
    wrong = [(where, values) for where, values in states if len(set(values[:4])) > 1 or max(values[4:], default=0) > 1]
    return len(states), wrong


def run(folder, mode, kills, seed):
    """Kills tasks at random, and returns the seconds after each kill until all workers went on."""
    chosen = random.Random(seed)
    training, recovery = Training(folder, mode), []
    try:
        training.go_on()
        for number in range(kills):
            training.supervise(chosen.uniform(0, _PAUSE))
            task = chosen.choice(list(training.tasks))
            training.kill(task)
            if chosen.random() > _AT_ONCE:
                recovery.append(training.go_on())
            if number % 20 == 19:
                print(f"{number + 1} kills, {max(map(int, training.progress()))} bytes", flush=True)
        training.go_on()
    finally:
        training.close()
    return recovery


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--mode", choices=("async", "sync"), default="async")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="a new folder for what the tasks read, log and save")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="kills"))
    folder.mkdir(exist_ok=True)
    recovery = run(folder, options.mode, options.kills, options.seed)
    count, wrong = check(folder, options.mode)
    for where, values in wrong:
        print(f"{where}: step, first, second, and in asynchronous training the sum and the most of applied: {values}")
    median = sorted(recovery)[len(recovery) // 2]
    print(f"{options.kills} kills, {count} states: {len(wrong)} wrong")
    print(f"training went on after {median:.1f} s in the median, {max(recovery):.1f} s at most")
    if options.folder is None:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
