"""CPU contention: the number of kernel threads adapts to other processes, unless the user sets it."""

import os

import pytest
import torch

import thalweg as tf
from thalweg._src.runtime import cpu_contention
from thalweg._src.runtime.cpu_contention import CoreShare

LINUX = pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="reads /proc/stat")


@pytest.fixture
def machine(monkeypatch):
    """A machine of four cores whose clocks and load the test sets."""

    class Machine:
        now = 100.0
        own = 10.0
        everyone = 50.0
        threads = 4

        def elapse(self, seconds, own, others):
            """Lets time pass in which we and the others use so many cores."""
            self.now += seconds
            self.own += own * seconds
            self.everyone += (own + others) * seconds

    made = Machine()
    monkeypatch.setattr(torch, "get_num_threads", lambda: made.threads)
    monkeypatch.setattr(torch, "set_num_threads", lambda n: setattr(made, "threads", n))
    monkeypatch.setattr(cpu_contention.time, "monotonic", lambda: made.now)
    monkeypatch.setattr(cpu_contention.time, "process_time", lambda: made.own)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(CoreShare, "_busy", lambda self: made.everyone)
    return made


@LINUX
@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY"])
def test_inactive_if_the_environment_sets_threads(machine, name):
    assert CoreShare({}).active
    assert not CoreShare({name: "2"}).active
    assert CoreShare({"OTHER": "2"}).active


@LINUX
def test_inactive_with_one_thread(machine):
    machine.threads = 1
    assert not CoreShare({}).active


def test_inactive_if_the_cores_are_unknown(machine, monkeypatch):
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    assert not CoreShare({}).active


@LINUX
def test_threads_are_reduced_under_contention(machine):
    share = CoreShare({})
    share.look()
    for others, threads in ((0.0, 4), (1.0, 3), (2.6, 1), (9.0, 1), (0.2, 4)):
        for _ in range(2):
            machine.elapse(0.25, own=1.0, others=others)
            share.look()
        assert machine.threads == threads, f"{others} cores are taken"


@LINUX
def test_one_busy_sample_does_not_reduce_threads(machine):
    share = CoreShare({})
    share.look()
    for others in (0.0, 3.0, 0.0, 3.0, 0.0):
        machine.elapse(0.25, own=1.0, others=others)
        share.look()
        assert machine.threads == 4


@LINUX
def test_nothing_changes_between_samples(machine):
    share = CoreShare({})
    share.look()
    machine.elapse(0.05, own=1.0, others=3.0)
    share.look()
    assert machine.threads == 4
    machine.elapse(0.06, own=1.0, others=3.0)  # the first sample after a pause is taken sooner than later ones
    share.look()
    machine.elapse(0.25, own=1.0, others=3.0)
    share.look()
    assert machine.threads == 1
    machine.elapse(0.15, own=1.0, others=0.0)
    share.look()
    assert machine.threads == 1


@LINUX
def test_samples_over_a_long_pause_are_ignored(machine):
    share = CoreShare({})
    share.look()
    machine.elapse(30.0, own=0.0, others=3.0)
    share.look()
    assert machine.threads == 4
    for _ in range(2):
        machine.elapse(0.25, own=1.0, others=3.0)
        share.look()
    assert machine.threads == 1


@LINUX
def test_a_thread_count_set_by_the_user_is_kept(machine):
    share = CoreShare({})
    share.look()
    machine.threads = 2  # by torch.set_num_threads in the user's program
    machine.elapse(0.25, own=1.0, others=3.0)
    share.look()
    assert machine.threads == 2


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.setattr(cpu_contention.Kernels, "threads", cpu_contention.Kernels.threads)
    return cpu_contention.Kernels


@LINUX
def test_a_limit_keeps_reacting_to_contention(machine, kernels):
    share = CoreShare({})
    share.limit(3)
    assert machine.threads == kernels.threads == 3
    assert share.active
    share.look()
    for others, threads in ((3.0, 1), (0.0, 3)):
        for _ in range(2):
            machine.elapse(0.25, own=1.0, others=others)
            share.look()
        assert machine.threads == threads
    assert kernels.threads == 3


@LINUX
def test_the_same_limit_again_does_not_undo_the_reaction(machine, kernels):
    share = CoreShare({})
    share.limit(3)
    share.look()
    for _ in range(2):
        machine.elapse(0.25, own=1.0, others=3.0)
        share.look()
    share.limit(3)
    assert machine.threads == 1


@LINUX
def test_limits_of_one_thread_and_of_more_than_the_cores(machine, kernels):
    share = CoreShare({})
    share.limit(1)
    assert machine.threads == 1 and not share.active
    share.limit(16)
    assert machine.threads == 4 and share.active


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MKL_NUM_THREADS"])
def test_a_limit_does_not_exceed_the_threads_of_the_environment(machine, kernels, name):
    machine.threads = 2
    share = CoreShare({name: "2"})
    share.limit(4)
    assert machine.threads == 2
    share.limit(1)
    assert machine.threads == 1 and not share.active


def test_a_sessions_configuration_limits_the_threads(machine, monkeypatch):
    limits = []
    monkeypatch.setattr(type(cpu_contention.core_share), "limit", lambda self, threads: limits.append(threads))
    tf.Session(config=tf.ConfigProto()).close()
    assert limits == []
    tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2)).close()
    assert limits == [2]


@LINUX
def test_a_session_samples_only_while_active(machine, monkeypatch):
    looks = []
    monkeypatch.setattr(CoreShare, "look", lambda self: looks.append(1))
    y = tf.sin(tf.random_uniform([]))
    with tf.Session() as sess:
        for active in (False, True):
            monkeypatch.setattr(cpu_contention.core_share, "active", active)
            sess.run(y)
            assert bool(looks) == active


@LINUX
def test_cpu_time_is_read_from_proc_stat(monkeypatch, tmp_path):
    """Counts user time, system time and interrupts of our cores, without idle time and niced processes."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2}, raising=False)
    stat = tmp_path / "stat"
    rows = ["cpu  9 9 9 9 9 9 9 9 9 9"]
    rows += [f"cpu{i} {1 + i} 10 100 5000 7000 1000 10000 100000 0 0" for i in range(4)]
    stat.write_text("\n".join([*rows, "intr 5 5 5", "ctxt 1"]))
    share = CoreShare({})
    share._stat, share._tick = os.open(stat, os.O_RDONLY), 100
    try:
        assert share._busy() == pytest.approx((1 + 3 + 2 * 111100) / 100)
    finally:
        os.close(share._stat)


@LINUX
def test_background_compilation_gets_a_core(machine, monkeypatch):
    share = CoreShare({})
    share.look()
    machine.elapse(0.3, own=4, others=0)
    share.look()
    assert machine.threads == 4
    monkeypatch.setattr(cpu_contention.BACKGROUND, "is_busy", True)
    machine.elapse(0.3, own=4, others=0)
    share.look()
    assert machine.threads == 3
    monkeypatch.setattr(cpu_contention.BACKGROUND, "is_busy", False)
    machine.elapse(0.3, own=3, others=0)
    share.look()
    assert machine.threads == 4


@LINUX
def test_a_held_number_of_threads_stays(machine, monkeypatch):
    begun = []
    monkeypatch.setattr(cpu_contention, "_shorten_spinning", begun.append)
    share = CoreShare({})
    for _ in range(4):
        machine.elapse(0.25, own=1.0, others=2.0)
        share.look()
    assert machine.threads == 2
    share.hold()
    for _ in range(4):
        machine.elapse(0.25, own=1.0, others=2.0)
        share.look()
        assert machine.threads == 4
    assert begun == [2]
    CoreShare({"OMP_NUM_THREADS": "4"}).hold()
    assert begun == [2]
