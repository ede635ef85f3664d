"""Synchronous replicas: means of gradients, backup workers, late and repeated gradients, and the hook."""

import random
import threading
import time

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster
from thalweg._src.runtime.resources import replica_group
from thalweg._src.runtime.resources.step import Step


@pytest.fixture
def start_cluster():
    started = []

    def start(transport="inprocess", **jobs):
        started.append(Cluster(transport, **jobs))
        return started[-1]

    yield start
    for cluster in started:
        cluster.stop()


class Replica:
    """A worker with a graph of its own: a linear model whose data follow from the global step and the task."""

    def __init__(self, cluster, index, to_aggregate, total=None, data=None, make=None):
        self.cluster, self.index = cluster, index
        self.graph = tf.Graph()
        place = tf.train.replica_device_setter(
            cluster=tf.train.ClusterSpec(cluster.spec), worker_device=f"/job:worker/task:{index}"
        )
        with self.graph.as_default(), tf.device(place):
            self.step = tf.train.get_or_create_global_step()
            self.weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
            bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
            x = data if data is not None else tf.random.stateless_uniform([8, 3], tf.stack([self.step, index]))
            x = tf.convert_to_tensor(x)
            y = tf.matmul(x, [[1.0], [2.0], [3.0]]) + 0.5
            self.loss = tf.reduce_mean(tf.square(tf.matmul(x, self.weights) + bias - y))
            inner = tf.train.GradientDescentOptimizer(0.1)
            make = make or (lambda opt: tf.train.SyncReplicasOptimizer(opt, to_aggregate, total))
            self.optimizer = make(inner)
            self.train = self.optimizer.minimize(self.loss, global_step=self.step)

    def session(self, last_step=None, hooks=(), is_chief=None, **arguments):
        is_chief = self.index == 0 if is_chief is None else is_chief
        hooks = [self.optimizer.make_session_run_hook(is_chief), *hooks]
        if last_step is not None:
            hooks.append(tf.train.StopAtStepHook(last_step=last_step))
        return tf.train.MonitoredTrainingSession(
            self.cluster.target("worker", self.index),
            is_chief=is_chief,
            hooks=hooks,
            config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{self.index}"]),
            save_summaries_steps=None,
            log_step_count_steps=None,
            **arguments,
        )

    def run(self, last_step, pause=lambda: None, **arguments):
        """Trains, and returns the loss of each step."""
        losses = {}
        with self.graph.as_default(), self.session(last_step, **arguments) as session:
            while not session.should_stop():
                pause()
                loss, following = session.run([self.loss, self.train])
                losses[int(following) - 1] = float(loss)
        losses.pop(-1, None)  # of a replica that began before the chief
        return losses


def together(*functions):
    """Runs functions in threads, and returns their results; raises the first error."""
    results, errors = [None] * len(functions), []

    def call(index):
        try:
            results[index] = functions[index]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=[index]) for index in range(len(functions))]
    for thread in threads:
        thread.start()
    for _ in range(600):
        alive = [thread for thread in threads if thread.is_alive()]
        if errors:
            raise errors[0]
        if not alive:
            return results
        alive[0].join(0.1)
    raise AssertionError("a replica waits without end")


def test_an_update_is_the_mean_over_replicas(start_cluster):
    cluster = start_cluster(ps=2, worker=2)
    data = np.random.default_rng(0).uniform(size=(2, 8, 3)).astype(np.float32)
    replicas = [Replica(cluster, index, 2, data=data[index]) for index in range(2)]
    together(*(lambda r=r: r.run(5) for r in replicas))
    with tf.Graph().as_default():
        alone_x = tf.constant(data.reshape(16, 3))
        w, b = tf.Variable(tf.zeros([3, 1])), tf.Variable(tf.zeros([1]))
        error = tf.matmul(alone_x, w) + b - tf.matmul(alone_x, [[1.0], [2.0], [3.0]]) - 0.5
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(error)))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            expected = session.run(w)
    with replicas[0].graph.as_default(), tf.Session(cluster.target("worker", 0)) as session:
        step, received = session.run([replicas[0].step, replicas[0].weights])
    assert step == 5
    np.testing.assert_allclose(received, expected, rtol=1e-5)


def test_the_order_of_arrival_does_not_change_a_bit(start_cluster):
    curves = []
    for seed in range(2):
        cluster = start_cluster(ps=2, worker=3)
        pauses = random.Random(seed)
        replicas = [Replica(cluster, index, 3) for index in range(3)]
        curves.append(together(*(lambda r=r: r.run(12, lambda: time.sleep(pauses.random() / 200)) for r in replicas)))
    assert curves[0] == curves[1]
    assert sorted(curves[0][0]) == list(range(12))
    assert curves[0][0][11] < curves[0][0][0] / 5


def test_backup_workers_are_not_waited_for(start_cluster):
    cluster = start_cluster(ps=1, worker=3)
    replicas = [Replica(cluster, index, 2, 3) for index in range(3)]
    ended = threading.Event()

    def straggle():
        losses = {}
        with replicas[2].graph.as_default(), replicas[2].session(20) as session:
            ended.wait(30)  # the others need two gradients, and have them
            while not session.should_stop():
                losses[int(session.run([replicas[2].step, replicas[2].train])[0])] = None
        return losses

    def work(replica):
        losses = replica.run(20)
        ended.set()
        return losses

    results = together(lambda: work(replicas[0]), lambda: work(replicas[1]), straggle)
    assert sorted(results[0]) == list(range(20))
    assert len(results[2]) <= 2  # its late gradient was dropped, and it went on with the newest step


def test_more_gradients_than_replicas(start_cluster):
    cluster = start_cluster(ps=1, worker=2)
    replicas = [Replica(cluster, index, 4, 2) for index in range(2)]
    runs = [0, 0]

    def count(index):
        def pause():
            runs[index] += 1

        return pause

    together(*(lambda r=r: r.run(5, count(r.index)) for r in replicas))
    assert min(runs) >= 10  # two gradients of each replica for each update


def test_a_repeated_gradient_is_not_applied_twice(start_cluster):
    cluster = start_cluster(ps=1, worker=2)
    replicas = [Replica(cluster, index, 2, data=np.ones([1, 3], np.float32)) for index in range(2)]
    (repeat,) = [op for op in replicas[0].graph.get_operations() if op.type == "ResourceAccumulatorApplyGradient"][:1]

    def chief():
        with replicas[0].graph.as_default(), replicas[0].session(1) as session:
            for _ in range(3):  # as after a lost answer
                session.run_step_fn(lambda step_context: step_context.session.run(repeat))
            return session.run(replicas[0].train)

    assert together(chief, lambda: replicas[1].run(1))[0] == 1
    with replicas[0].graph.as_default(), tf.Session(cluster.target("worker", 0)) as session:
        weights = session.run(replicas[0].weights)
    np.testing.assert_allclose(weights, np.full([3, 1], 0.1 * 2 * 6.5), rtol=1e-6)


def test_sparse_gradients(start_cluster):
    cluster = start_cluster(ps=2, worker=2)

    def work(index):
        place = tf.train.replica_device_setter(ps_tasks=2, worker_device=f"/job:worker/task:{index}")
        with tf.Graph().as_default(), tf.device(place):
            step = tf.train.get_or_create_global_step()
            table = tf.get_variable("table", [10, 2], initializer=tf.zeros_initializer())
            rows = tf.gather(table, [index, 5])
            optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdagradOptimizer(1.0), 2)
            train = optimizer.minimize(tf.reduce_sum(rows), global_step=step)
            hooks = [optimizer.make_session_run_hook(index == 0), tf.train.StopAtStepHook(last_step=1)]
            target = cluster.target("worker", index)
            with tf.train.MonitoredTrainingSession(target, index == 0, hooks=hooks) as session:
                while session.run(train) < 1:
                    pass  # this replica began before the chief, and takes part again
                return session.run_step_fn(lambda step_context: step_context.session.run(table))

    table = together(lambda: work(0), lambda: work(1))[0]
    changed = np.flatnonzero(table[:, 0])
    assert changed.tolist() == [0, 1, 5]
    assert table[0, 0] == table[1, 0] == table[5, 0] < -0.9


def test_moving_averages_follow_updates(start_cluster):
    cluster = start_cluster(ps=1, worker=1)
    averages = tf.train.ExponentialMovingAverage(0.5)
    replica = Replica(cluster, 0, 1, data=np.ones([1, 3], np.float32))
    with replica.graph.as_default():
        other = tf.train.SyncReplicasOptimizer(
            tf.train.GradientDescentOptimizer(0.1), 1, None, averages, [replica.weights], name="averaging"
        )
        train = other.minimize(replica.loss, global_step=replica.step)
        hooks = [o.make_session_run_hook(True) for o in (other, replica.optimizer)]
        with tf.train.MonitoredTrainingSession(cluster.target("worker"), hooks=hooks) as session:
            session.run(train)
            weights, average = session.run([replica.weights, averages.average(replica.weights)])
    np.testing.assert_allclose(average, weights / 2, rtol=1e-6)


# -- chiefs that start, end and come back -----------------------------------------------------------------------------


def test_a_chief_without_the_hook_is_an_error(start_cluster):
    replica = Replica(start_cluster(ps=1, worker=1), 0, 1)
    with replica.graph.as_default(), pytest.raises(RuntimeError, match=r"make_session_run_hook\(is_chief\)"):
        tf.train.MonitoredTrainingSession(replica.cluster.target("worker"), is_chief=True)


def test_replicas_without_a_chief_get_an_error(start_cluster, monkeypatch):
    monkeypatch.setattr(replica_group, "START_SECONDS", 0.2)
    replica = Replica(start_cluster(ps=1, worker=1), 0, 1)
    with replica.graph.as_default(), tf.Session(replica.cluster.target("worker")) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with pytest.raises(tf.errors.FailedPreconditionError, match="no chief has started it within"):
            session.run(replica.train)


def test_replicas_end_with_the_chief(start_cluster):
    cluster = start_cluster(ps=1, worker=2)
    replicas = [Replica(cluster, index, 1, 2) for index in range(2)]
    runs = []

    def worker():  # without a last step of its own
        with replicas[1].graph.as_default(), replicas[1].session() as session:
            while not session.should_stop():
                session.run(replicas[1].train)
                runs.append(1)

    together(lambda: replicas[0].run(10), worker)


def test_what_was_computed_before_a_chief_came_back_is_dropped(start_cluster, tmp_path):
    cluster = start_cluster(ps=1, worker=2)
    whole = together(*(lambda i=i: Replica(cluster, i, 2).run(12) for i in range(2)))[0]
    cluster = start_cluster(ps=1, worker=2)
    saved = {"checkpoint_dir": str(tmp_path), "save_checkpoint_secs": None, "save_checkpoint_steps": 4}
    stop = threading.Event()

    def worker():
        replica = Replica(cluster, 1, 2)
        with replica.graph.as_default(), replica.session() as session:
            while not stop.is_set() and not session.should_stop():
                session.run(replica.train)

    def chief():
        first = Replica(cluster, 0, 2)
        with first.graph.as_default():
            session = first.session(**saved)
            while session.run(first.step) < 6:  # two steps after the checkpoint
                session.run(first.train)
            session._sess.close()  # without the end of training: the worker waits
        second = Replica(cluster, 0, 2)
        losses = []
        with second.graph.as_default(), second.session(12, **saved) as session:
            while not session.should_stop():
                step, loss, _ = session.run([second.step, second.loss, second.train])
                losses.append((int(step), float(loss)))
        stop.set()
        return losses

    losses = together(chief, worker)[0]
    assert losses[0][0] == 4
    by_step = dict(enumerate((loss for _, loss in losses), 4))
    assert by_step == {step: loss for step, loss in whole.items() if step >= 4}


class Between(tf.train.SessionRunHook):
    """Calls a function before the run of a step, once."""

    def __init__(self, step, call):
        self._step, self._call = step, call

    def before_run(self, run_context):
        if self._call is not None and run_context.session.run(tf.train.get_global_step()) == self._step:
            call, self._call = self._call, None
            call()


def test_a_chief_that_was_cut_off_changes_no_loss(start_cluster, caplog, tmp_path):
    cluster = start_cluster(ps=2, worker=2)
    whole = together(*(lambda i=i: Replica(cluster, i, 2).run(12) for i in range(2)))[0]
    cluster = start_cluster("sockets", ps=2, worker=2)

    def pull():
        for link in list(cluster.servers["worker", 0]._require().service.endpoint.links.values()):
            link.close("the cable was pulled")

    saved = {"checkpoint_dir": str(tmp_path), "save_checkpoint_secs": None, "save_checkpoint_steps": 4}
    chief, worker = (Replica(cluster, index, 2) for index in range(2))
    with chief.graph.as_default():
        cuts = [Between(6, pull), Between(9, pull)]
    steps, losses = [], {}

    def lead():
        with chief.graph.as_default(), chief.session(12, hooks=cuts, **saved) as session:
            while not session.should_stop():
                step, loss, _ = session.run([chief.step, chief.loss, chief.train])
                steps.append(int(step))
                losses[int(step)] = float(loss)

    together(lead, lambda: worker.run(12))
    assert losses == whole and steps == sorted(steps)
    assert len([r for r in caplog.records if "the session is lost" in r.getMessage()]) == 2


def test_an_update_of_a_round_that_was_interrupted_is_undone(start_cluster, caplog, tmp_path):
    """Some variables may have it, and others not."""
    cluster = start_cluster(ps=1, worker=1)
    replica = Replica(cluster, 0, 1)
    saved = {"checkpoint_dir": str(tmp_path), "save_checkpoint_secs": None, "save_checkpoint_steps": 4}

    def interrupt():
        resources = cluster.servers["ps", 0]._require().worker._resources._default
        (group,) = (value for (kind, _), value in resources.items() if kind == "replica_group")
        with group.lock:
            group._updating = step = Step()
        group._abandon(step)
        raise tf.errors.UnavailableError(None, None, "gone")

    with replica.graph.as_default():
        hooks = [Between(6, interrupt)]
    losses = replica.run(9, hooks=hooks, **saved)
    (line,) = (r.getMessage() for r in caplog.records if "the state was" in r.getMessage())
    assert line.endswith("global step 6 -> 4 (an update was interrupted)")
    assert len(losses) == 6 + 5  # by rounds, whose numbers never go back


def test_a_program_with_a_supervisor(start_cluster):
    """As programs of the first releases are written."""
    cluster = start_cluster(ps=1, worker=2)

    def work(index):
        replica = Replica(cluster, index, 2)
        optimizer, is_chief = replica.optimizer, index == 0
        with replica.graph.as_default():
            tokens = optimizer.get_init_tokens_op() if is_chief else None
            runner = optimizer.get_chief_queue_runner() if is_chief else None
            supervisor = tf.train.Supervisor(
                is_chief=is_chief,
                init_op=tf.global_variables_initializer(),
                local_init_op=optimizer.chief_init_op if is_chief else optimizer.local_step_init_op,
                ready_for_local_init_op=optimizer.ready_for_local_init_op,
                recovery_wait_secs=0.1,
                global_step=replica.step,
            )
            session = supervisor.prepare_or_wait_for_session(cluster.target("worker", index))
            if is_chief:
                session.run(tokens)
                supervisor.start_queue_runners(session, [runner])
            while session.run([replica.train, replica.step])[1] < 4:
                pass
            supervisor.stop()
            return session

    together(lambda: work(0), lambda: work(1))


def test_slim_trains_synchronously(start_cluster, tmp_path):
    cluster = start_cluster(ps=1, worker=2)

    def work(index):
        replica = Replica(cluster, index, 2)
        with replica.graph.as_default():
            with tf.control_dependencies([replica.train]):
                loss = tf.identity(replica.loss)
            return tf.contrib.slim.learning.train(
                loss,
                str(tmp_path),
                master=cluster.target("worker", index),
                is_chief=index == 0,
                global_step=replica.step,
                number_of_steps=5,
                sync_optimizer=replica.optimizer,
                save_summaries_secs=0,
            )

    losses = together(lambda: work(0), lambda: work(1))
    assert max(losses) < 5


# -- members that come and go -----------------------------------------------------------------------------------------


class Member(Replica):
    """A replica that belongs to training while its session is open."""

    def __init__(self, cluster, index, **arguments):
        super().__init__(
            cluster, index, 1, make=lambda opt: tf.train.experimental.ElasticReplicasOptimizer(opt, **arguments)
        )


def test_workers_join_and_leave_between_steps(start_cluster):
    cluster = start_cluster(ps=1, worker=2)
    has_joined, may_leave = threading.Event(), threading.Event()

    def chief():
        replica = Member(cluster, 0)
        with replica.graph.as_default(), replica.session() as session:
            while not has_joined.is_set():
                session.run(replica.train)
            together_at = int(session.run(replica.train))
            may_leave.set()
            for _ in range(10):  # the other one leaves, and is not waited for
                session.run(replica.train)
            return together_at

    def visitor():
        replica = Member(cluster, 1)
        with replica.graph.as_default(), replica.session() as session:
            first = int(session.run(replica.train))
            has_joined.set()
            while not may_leave.is_set():
                session.run(replica.train)
            return first

    together_at, first = together(chief, visitor)
    assert together_at >= first


# -- arguments --------------------------------------------------------------------------------------------------------


def test_bad_arguments():
    inner = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(TypeError, match="opt must be an Optimizer"):
        tf.train.SyncReplicasOptimizer(0.1, 2)
    with pytest.raises(ValueError, match="expected positive numbers of replicas"):
        tf.train.SyncReplicasOptimizer(inner, 0)
    optimizer = tf.train.SyncReplicasOptimizer(inner, 4, 2)
    weights = tf.Variable(1.0)
    with pytest.raises(ValueError, match="Global step is required to check staleness"):
        optimizer.apply_gradients([(tf.constant(1.0), weights)])
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="apply_gradient should be called before using the hook"):
        optimizer.make_session_run_hook(True).begin()
    with pytest.raises(ValueError, match=r"Should be called after apply_gradients\(\)"):
        optimizer.get_chief_queue_runner()
    with pytest.raises(ValueError, match=r"should be called after apply_gradients\(\)"):
        optimizer.get_init_tokens_op()
    optimizer.apply_gradients([(tf.constant(1.0), weights)], tf.train.get_or_create_global_step())
    with pytest.raises(ValueError, match="Too few tokens to finish the first step: 1"):
        optimizer.get_init_tokens_op(1)


def test_no_update_is_applied_while_a_checkpoint_is_written(start_cluster, tmp_path):
    """The backup workers would go on without the chief, which saves."""
    cluster = start_cluster(ps=2, worker=3)
    replicas = [Replica(cluster, index, 2, 3) for index in range(3)]
    seen = []

    class Watching(tf.train.Saver):
        def save(self, sess, *arguments, **options):
            before = int(sess.run(replicas[0].step))
            time.sleep(0.2)
            seen.append((before, int(sess.run(replicas[0].step))))
            return super().save(sess, *arguments, **options)

    with replicas[0].graph.as_default():
        hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=5, saver=Watching())
    together(*(lambda r=r: r.run(30, hooks=[hook] if r.index == 0 else []) for r in replicas))
    tf.summary.FileWriterCache.clear()
    assert len(seen) >= 2
    assert all(before == after for before, after in seen)
