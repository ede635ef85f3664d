"""ExactlyOnceOptimizer: updates are whole, and one that is repeated under its number is applied once."""

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import TRANSPORTS, Cluster


@pytest.fixture(params=TRANSPORTS)
def cluster(request):
    started = Cluster(request.param, ps=2, worker=2)
    yield started
    started.stop()


class Model:
    """Two variables at two parameter servers, each of which an update increases by one."""

    def __init__(self, cluster, worker=0, wrap=lambda optimizer: optimizer, inner=None, **options):
        self.graph = tf.Graph()
        setter = tf.train.replica_device_setter(ps_tasks=2, worker_device=f"/job:worker/task:{worker}")
        with self.graph.as_default(), tf.device(setter):
            self.step = tf.train.get_or_create_global_step()
            with tf.device("/job:ps/task:0"):
                self.first = tf.get_variable("first", [2], initializer=tf.zeros_initializer())
            with tf.device("/job:ps/task:1"):
                self.second = tf.get_variable("second", [2], initializer=tf.zeros_initializer())
            self.once = tf.train.experimental.ExactlyOnceOptimizer(
                inner or tf.train.GradientDescentOptimizer(1.0), **options
            )
            loss = -tf.reduce_sum(self.first) - tf.reduce_sum(self.second)
            self.train = wrap(self.once).minimize(loss, global_step=self.step)
            self.init = tf.global_variables_initializer()
        self.session = tf.Session(cluster.target("worker", worker), graph=self.graph)

    def state(self):
        """Returns the number of updates in each variable."""
        first, second, step = self.session.run([self.first, self.second, self.step])
        return [*first.tolist(), *second.tolist(), float(step)]


def test_an_update_is_applied_once_however_often_it_is_repeated(cluster):
    model = Model(cluster)
    with model.session as session:
        session.run(model.init)
        claim, last = session.run(model.once.claim)
        assert last == 0
        for number in (1, 1, 2, 2, 2, 1, 5):
            session.run(model.train, {model.once.identity: [claim, number]})
        assert model.state() == [3.0] * 5
        assert session.run(model.once.claim)[1] == 5


def test_without_an_identity_every_update_is_applied(cluster):
    model = Model(cluster)
    with model.session as session:
        session.run(model.init)
        for _ in range(3):
            session.run(model.train)
        assert model.state() == [3.0] * 5


def test_an_update_that_failed_is_applied_when_it_is_repeated(cluster):
    model = Model(cluster)
    with model.graph.as_default():
        limit = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([model.train]):
            after = tf.assert_less(limit, 1.0)
    with model.session as session:
        session.run(model.init)
        claim, _ = session.run(model.once.claim)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([model.train, after], {model.once.identity: [claim, 1], limit: 2.0})
        state = model.state()
        assert state in ([0.0] * 5, [1.0] * 5)
        session.run([model.train, after], {model.once.identity: [claim, 1], limit: 0.0})
        assert model.state() == [1.0] * 5


def test_what_reads_after_a_repeated_update_sees_it_once(cluster):
    model = Model(cluster)
    with model.graph.as_default(), tf.control_dependencies([model.train]):
        after = [tf.identity(model.first.read_value()), tf.identity(model.second.read_value())]
    with model.session as session:
        session.run(model.init)
        claim, _ = session.run(model.once.claim)
        for _ in range(3):
            values = session.run(after, {model.once.identity: [claim, 1]})
            assert [value.tolist() for value in values] == [[1.0, 1.0]] * 2


def test_a_process_that_was_replaced_cannot_update(cluster):
    model = Model(cluster)
    with model.session as session:
        session.run(model.init)
        old, _ = session.run(model.once.claim)
        new, _ = session.run(model.once.claim)
        with pytest.raises(tf.errors.FailedPreconditionError, match="another process updates as replica 1"):
            session.run(model.train, {model.once.identity: [old, 1]})
        session.run(model.train, {model.once.identity: [new, 1]})
        assert model.state() == [1.0] * 5


def test_replicas_have_numbers_of_their_own(cluster):
    models = [Model(cluster, worker) for worker in range(2)]
    assert [model.once.replica for model in models] == [1, 2]
    models[0].session.run(models[0].init)
    for model in models:
        claim, last = model.session.run(model.once.claim)
        assert last == 0
        model.session.run(model.train, {model.once.identity: [claim, 7]})
    assert models[0].state() == [2.0] * 5
    for model in models:
        model.session.close()


def test_the_record_is_restored_with_a_checkpoint(cluster, tmp_path):
    model = Model(cluster)
    with model.graph.as_default():
        saver = tf.train.Saver()
    with model.session as session:
        session.run(model.init)
        claim, _ = session.run(model.once.claim)
        for number in range(1, 4):
            session.run(model.train, {model.once.identity: [claim, number]})
        path = saver.save(session, str(tmp_path / "model"))
        session.run(model.train, {model.once.identity: [claim, 4]})
        saver.restore(session, path)
        for number in (3, 4):  # what the checkpoint has, and what was lost
            session.run(model.train, {model.once.identity: [claim, number]})
        assert model.state() == [4.0] * 5


def test_slots_and_powers_of_adam_are_part_of_an_update(cluster):
    model = Model(cluster, inner=tf.train.AdamOptimizer(0.1))
    with model.session as session:
        session.run(model.init)
        claim, _ = session.run(model.once.claim)
        states = []
        for number in (1, 1, 2):
            session.run(model.train, {model.once.identity: [claim, number]})
            names = [variable for variable in model.graph.get_collection("variables") if "record" not in variable.name]
            states.append([np.asarray(value).tolist() for value in session.run(names)])
        assert states[0] == states[1] != states[2]


class Failing(tf.train.SessionRunHook):
    """Loses the session after some runs, as a connection does whose answer does not come."""

    def __init__(self, runs):
        self.left = runs

    def after_run(self, run_context, run_values):
        self.left -= 1
        if self.left == 0:
            raise tf.errors.UnavailableError(None, None, "the answer is lost")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_monitored_session_repeats_a_run_under_its_number(cluster, tmp_path, is_first):
    model = Model(cluster)
    with model.graph.as_default():
        hook, failing = model.once.make_session_run_hook(), Failing(3)
        with tf.train.MonitoredTrainingSession(
            model.session.sess_str,
            checkpoint_dir=str(tmp_path),
            save_checkpoint_steps=1,
            save_checkpoint_secs=None,
            save_summaries_steps=None,
            log_step_count_steps=None,
            hooks=[failing, hook] if is_first else [hook, failing],
        ) as session:
            for run in range(1, 6):
                session.run(model.train)
                assert hook.number == run
            values = session.run([model.first, model.second, model.step])
            assert [np.max(value) for value in values] == [5.0, 5.0, 5]
    model.session.close()


def test_a_program_that_is_started_again_goes_on_with_the_next_number(cluster, tmp_path):
    for start in (0, 4):
        model = Model(cluster)
        with model.graph.as_default():
            hook = model.once.make_session_run_hook()
            with tf.train.MonitoredTrainingSession(
                model.session.sess_str, checkpoint_dir=str(tmp_path), log_step_count_steps=None, hooks=[hook]
            ) as session:
                for run in range(start + 1, start + 5):
                    session.run(model.train)
                    assert hook.number == run
                assert session.run(model.step) == start + 4
        model.session.close()


def test_runs_of_a_step_function_have_numbers_in_turn(cluster):
    model = Model(cluster)
    with model.graph.as_default():
        hook, failing = model.once.make_session_run_hook(), Failing(2)

        def step_fn(step_context):
            for _ in range(3):
                step_context.run_with_hooks(model.train)

        with tf.train.MonitoredTrainingSession(
            model.session.sess_str, log_step_count_steps=None, hooks=[hook, failing]
        ) as session:
            session.run_step_fn(step_fn)
            assert hook.number == 3
    model.session.close()


def test_a_synchronous_update_is_whole(cluster):
    optimizers = []

    def wrap(once):
        optimizers.append(tf.train.SyncReplicasOptimizer(once, 1))
        return optimizers[0]

    model = Model(cluster, wrap=wrap)
    with model.graph.as_default():
        with tf.train.MonitoredTrainingSession(
            model.session.sess_str, log_step_count_steps=None, hooks=[optimizers[0].make_session_run_hook(True)]
        ) as session:
            for _ in range(4):
                session.run(model.train)
            rows = [session.run([model.first, model.second, model.step]) for _ in range(20)]
        for first, second, step in rows:
            assert {*first.tolist(), *second.tolist()} == {float(step)}
    model.session.close()


def test_bad_arguments(cluster):
    with pytest.raises(ValueError, match="replica: expected a number from 0 to 3, received 4"):
        Model(cluster, replica=4, max_replicas=4)
    with tf.Graph().as_default():
        optimizer = tf.train.experimental.ExactlyOnceOptimizer(tf.train.GradientDescentOptimizer(1.0))
        with pytest.raises(ValueError, match="expected at least one gradient"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="must be called before"):
            optimizer.make_session_run_hook().begin()
    with pytest.raises(TypeError, match="opt must be an Optimizer"):
        tf.train.experimental.ExactlyOnceOptimizer("adam")
