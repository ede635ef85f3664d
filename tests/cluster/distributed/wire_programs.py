"""Programs whose messages `wire_faults` spoils: steps of all sorts, synchronous training, and collectives."""

import contextlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import thalweg as tf
from thalweg._src.graph.ops.collective import all_reduce

SYNC_STEPS = 6
COLLECTIVE_STEPS = 5
_MEDIUM, _LARGE = 150_000, 400_000  # floats: less and more than the window of 1 MB, beyond which tensors are offered
_numbers = itertools.count()


@dataclass
class Outcome:
    """What a program met: how many updates succeeded and failed, and the errors."""

    succeeded: int = 0
    failed: int = 0
    errors: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verdict(self):
        if self.problems:
            return "WRONG"
        return f"{type(self.errors[0]).__name__.removesuffix('Error')}" if self.errors else "ok"


class Program:
    """A graph at a parameter server and a worker with updates that are counted."""

    def __init__(self):
        name = f"n{next(_numbers)}"
        self.graph = tf.Graph()
        with self.graph.as_default():
            one, self.size = tf.placeholder(tf.float32, [], "one"), tf.placeholder(tf.int32, [], "size")
            with tf.device("/job:worker/task:0"):
                sent, many = one * 1.0, tf.fill([self.size], one)
            with tf.device("/job:ps/task:0"):
                self.count = tf.Variable(0.0, name=name, use_resource=True)
                self.queue = tf.FIFOQueue(9, tf.float32, [()], shared_name=name)
                added = self.count.assign_add(sent)
                added_mean = self.count.assign_add(tf.reduce_mean(many))
                big = tf.fill([self.size], one)
                bad = tf.gather([1.0, 2.0], self.size)
                self.put, self.take = self.queue.enqueue(sent), self.queue.dequeue()
                self.fed = tf.placeholder(tf.float32, [], "fed")
                self.doubled = self.fed * 2.0
                self.slow = tf.gather([1.0], tf.cast(self.take, tf.int32) * 0)
            with tf.device("/job:worker/task:0"):
                self.add, self.add_mean = added * 1.0, added_mean * 1.0
                self.big, self.bad = tf.reduce_sum(big), bad * 2.0
                self.slow_here = self.slow * 2.0
            self.one = one
            self.bad_here = tf.gather([1.0, 2.0], self.size)
            self.initializer = self.count.initializer

    def session(self, target, milliseconds=0):
        return tf.Session(target, graph=self.graph, config=self.config(milliseconds))

    def config(self, milliseconds):
        return tf.ConfigProto(operation_timeout_in_ms=milliseconds)


class Run:
    """One run of a program, in which any step may fail."""

    def __init__(self, program, target, milliseconds):
        self._program, self._target, self._milliseconds = program, target, milliseconds
        self.outcome = Outcome()
        self._session = None

    def _try(self, call, *args, expected=(), updates=0, **options):
        try:
            call(*args, **options)
        except expected:
            pass
        except tf.errors.OpError as error:
            self.outcome.errors.append(error)
            self.outcome.failed += updates
            return False
        except Exception as error:
            self.outcome.problems.append(f"{type(error).__name__}: {error}")
            self.outcome.failed += updates
            return False
        self.outcome.succeeded += updates
        return True

    def _open(self):
        self._session = self._program.session(self._target, self._milliseconds)

    def all(self, is_long):
        """Opens a session, and runs steps of all sorts; `is_long`: with one that takes longer than heartbeats."""
        p = self._program
        if not self._try(self._open):
            return
        run = self._session.run
        ones = {p.one: 1.0, p.size: 1}
        for _ in range(3):
            self._try(run, p.add, ones, updates=1)
        self._try(run, p.add, ones, tf.RunOptions(timeout_in_ms=5000), updates=1)
        for size in (_MEDIUM, _LARGE):
            self._try(run, p.add_mean, {p.one: 1.0, p.size: size}, updates=1)
        self._try(run, p.big, {p.one: 1.0, p.size: _MEDIUM})
        self._try(run, p.bad, {p.one: 1.0, p.size: 7}, expected=tf.errors.InvalidArgumentError)
        self._try(run, p.bad_here, {p.one: 1.0, p.size: 7}, expected=tf.errors.InvalidArgumentError)
        limit = tf.RunOptions(timeout_in_ms=300)
        self._try(run, p.slow, ones, limit, expected=tf.errors.DeadlineExceededError)
        if is_long:
            self._try(self._wait_for_an_element, p.slow)
            self._try(self._wait_for_an_element, p.slow_here)
        self._try(self._partly)
        self._try(run, p.add, ones, updates=1)
        self._try(self._session.close)
        self._try(tf.Session.reset, self._target, ["no such container"], p.config(self._milliseconds))

    def _wait_for_an_element(self, fetch):
        """Runs a step that takes longer than the interval of heartbeats.

        The parameter server sends them if the worker waits for a tensor, else the worker does.
        """
        p = self._program
        is_over = threading.Event()
        other = threading.Thread(target=self._put_until, args=(is_over,))
        other.start()
        try:
            self._session.run(fetch, {p.one: 1.0, p.size: 1})
        finally:
            is_over.set()
            other.join()

    def _put_until(self, is_over):
        """Puts elements, several if a step that has failed takes one or cannot put one."""
        while not is_over.wait(2.5):
            self._put()

    def _put(self):
        with contextlib.suppress(tf.errors.OpError):
            self._session.run(self._program.put, {self._program.one: 1.0})

    def _partly(self):
        p = self._program
        handle = self._session.partial_run_setup([p.doubled], [p.fed])
        found = self._session.partial_run(handle, p.doubled, {p.fed: 4.0})
        if found != 8.0:
            self.outcome.problems.append(f"a partial run returned {found}")


class SyncProgram:
    """Synchronous training of one replica, in which each update subtracts 1 from a variable."""

    def __init__(self):
        name = f"n{next(_numbers)}"
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1)):
            self.step = tf.train.create_global_step()
            self.value = tf.get_variable(name, [], initializer=tf.zeros_initializer())
            self.optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, name=name)
            with tf.device("/job:worker/task:0"):
                loss = self.value * tf.placeholder_with_default(1.0, [])
            self.train = self.optimizer.minimize(loss, global_step=self.step)

    def run(self, target, outcome):
        hooks = [self.optimizer.make_session_run_hook(True), tf.train.StopAtStepHook(num_steps=SYNC_STEPS)]
        try:
            with (
                self.graph.as_default(),
                tf.train.MonitoredTrainingSession(target, hooks=hooks, log_step_count_steps=None) as session,
            ):
                while not session.should_stop():
                    session.run(self.train)
        except tf.errors.OpError as error:
            outcome.errors.append(error)


class Member:
    """A task of a group, with a session of its own, whose steps count the sum of both tasks at it."""

    def __init__(self, job, target, name):
        self.target, self.task = target, f"/job:{job}/task:0"
        self.outcome = Outcome()
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(self.task):
            self.index = tf.placeholder_with_default(0, [])
            self.count = tf.Variable(0.0, name=name, use_resource=True)
            self.read = self.count.read_value()
            with tf.device(f"{self.task}/device:CPU:0"):
                half = tf.gather([0.5], self.index)  # fails unless the index is 0; on a GPU it would be 0.0
            self.add = self.count.assign_add(all_reduce(half, 2, 1, 1))

    def session(self):
        return tf.Session(self.target, graph=self.graph, config=tf.ConfigProto(device_filters=[self.task]))


class CollectiveProgram:
    """All-reduce between two tasks, which start again after an error, as monitored sessions do, until one is done."""

    def __init__(self, targets):
        name = f"n{next(_numbers)}"
        self.members = [Member(job, target, name) for job, target in targets.items()]
        for member in self.members:
            with member.session() as session:
                session.run(member.count.initializer)

    def run(self, pause):
        """Runs both members until one has made all steps, with pauses; one step fails at the first of them."""
        is_done = threading.Event()
        threads = [
            threading.Thread(target=self._run, args=(member, index == 0, is_done, pause), name="program")
            for index, member in enumerate(self.members)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run(self, member, fails_once, is_done, pause):
        found = member.outcome
        while not is_done.is_set():
            limit = tf.RunOptions(timeout_in_ms=8000 if found.failed else 0)  # the other one may have ended meanwhile
            try:
                with member.session() as session:
                    while not is_done.is_set():
                        is_bad = fails_once and found.succeeded == 2
                        fails_once = fails_once and not is_bad
                        session.run(member.add, {member.index: int(is_bad)}, limit)
                        found.succeeded += 1
                        if found.succeeded == COLLECTIVE_STEPS:
                            is_done.set()
                        is_done.wait(pause)
            except (tf.errors.InvalidArgumentError, tf.errors.AbortedError):
                found.failed += 1
            except tf.errors.OpError as error:
                found.failed += 1
                if not (is_done.is_set() and isinstance(error, tf.errors.DeadlineExceededError)):
                    found.errors.append(error)
            except Exception as error:
                found.problems.append(f"{type(error).__name__}: {error}")
                return

    def check(self, outcome):
        """Adds what the members met to an outcome, and what is wrong with their updates; both work afterwards."""
        sessions = [member.session() for member in self.members]
        for member, session in zip(self.members, sessions):
            found, count = member.outcome, session.run(member.read)
            outcome.errors += found.errors
            outcome.problems += found.problems
            if not found.succeeded <= count <= found.succeeded + found.failed:
                text = f"{count} updates at {member.task}: {found.succeeded} succeeded, {found.failed} may have"
                outcome.problems.append(text)
        with ThreadPoolExecutor(len(sessions)) as pool:
            found = list(pool.map(self._add, self.members, sessions))
        if found != [0.0, 0.0]:
            outcome.problems.append(f"the updates of new sessions are wrong: {found}")
        for session in sessions:
            session.close()

    def _add(self, member, session):
        """Makes an update, again if the other member is still one that has left; returns what it differs by from it."""
        while True:
            with contextlib.suppress(tf.errors.AbortedError):
                added = session.run(member.add, options=tf.RunOptions(timeout_in_ms=10_000))
                return added - session.run(member.read)
