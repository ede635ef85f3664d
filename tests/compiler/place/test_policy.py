"""Learned placement: the policy on the simulator, then on what is measured; its file; sessions that follow it."""

import functools
import json

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU, chain, costs_of, group_named, layered, optimum, problem_of
from thalweg._src.compiler.place.placers import best_single, decide
from thalweg._src.compiler.place.policy import Policy, learn
from thalweg._src.compiler.place.saved import follow
from thalweg._src.runtime.session.learned_placement import learn_placement


def two_towers(**links):
    """Two chains and their sum: in simulation, moving one of them to another device pays off."""
    x = tf.placeholder(tf.float32, [2], name="x")
    names = [[f"t{i}_{j}" for j in range(3)] for i in range(2)]
    y = tf.add_n([chain(x, *tower) for tower in names], name="sum")
    return problem_of([y], [x], dict.fromkeys([n for tower in names for n in tower] + ["sum"], 1), **links)


def placed(problem, policy):
    return follow(problem, policy.placement)


# -- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("latency", [0.5, 3.0])
def test_finds_the_optimum_of_a_small_graph(latency):
    problem = two_towers(latency=latency)
    policy = learn(problem, seed=0)
    assert policy.simulated == pytest.approx(optimum(problem))
    assert problem.time(placed(problem, policy)) == policy.simulated
    assert policy.measured == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_measurements_override_simulation(seed):
    """A transfer takes half a second in simulation, and ten when measured."""
    problem = two_towers(latency=0.5)
    with tf.Graph().as_default():
        slow = two_towers(latency=10.0)
    assert len(set(placed(problem, learn(problem, seed=seed)).values())) == 2
    truth = lambda choice: slow.time({group_named(slow, g.name): d for g, d in choice.items()})  # noqa: E731
    policy = learn(problem, truth, seed=seed)
    assert policy.measured == pytest.approx(optimum(slow))
    assert len(set(placed(problem, policy).values())) == 1


def test_measuring_finds_a_gain_that_the_simulator_misses():
    problem = two_towers(latency=10.0)
    with tf.Graph().as_default():
        quick = two_towers(latency=0.1)
    assert len(set(placed(problem, learn(problem)).values())) == 1
    truth = lambda choice: quick.time({group_named(quick, g.name): d for g, d in choice.items()})  # noqa: E731
    policy = learn(problem, truth, trials=80)
    assert policy.measured <= 1.05 * optimum(quick)


def test_a_gain_within_the_noise_is_not_used():
    """All placements are equal except for noise, so one device is kept."""
    problem, rng = two_towers(), np.random.default_rng(0)
    policy = learn(problem, lambda choice: 1.0 + 0.02 * rng.random(), trials=30)
    assert placed(problem, policy) == best_single(problem)[1]


def test_measured_trials_are_bounded():
    fetches, feeds, times = layered(np.random.default_rng(3), 8, 5)
    problem = problem_of(fetches, feeds, times, devices=3, latency=1.0)
    asked = []

    def measure(choice):
        asked.append(choice)
        return problem.time(choice)

    policy = learn(problem, measure, trials=20, heats=2, budget=1000)
    assert 20 <= len(asked) <= 20 + 6 + 4 * 2  # a batch may go beyond
    assert policy.measured <= 1.0001 * best_single(problem)[2].finish


def test_the_seed_decides():
    fetches, feeds, times = layered(np.random.default_rng(1), 12, 6)
    problem = problem_of(fetches, feeds, times, devices=4, latency=0.5)
    small = functools.partial(learn, problem, budget=10_000)
    assert small(seed=1).to_json() == small(seed=1).to_json()
    assert small(seed=1).to_json() != small(seed=2).to_json()


def test_learning_continues_from_an_earlier_policy():
    fetches, feeds, times = layered(np.random.default_rng(5), 10, 4)
    problem = problem_of(fetches, feeds, times, latency=0.3)
    first = learn(problem, budget=10_000)
    second = learn(problem, budget=10_000, policy=Policy.from_json(first.to_json()))
    assert second.simulated <= first.simulated
    with tf.Graph().as_default():
        others = two_towers(devices=3)
    with pytest.raises(ValueError, match="learned for"):
        learn(others, policy=first)


# -- files ------------------------------------------------------------------------------------------------------------


def test_json_round_trip(tmp_path):
    policy = learn(two_towers())
    policy.save(tmp_path / "policy.json")
    loaded = Policy.load(tmp_path / "policy.json")
    assert loaded.to_json() == policy.to_json() == (tmp_path / "policy.json").read_text()
    assert (loaded.devices, loaded.clusters, loaded.placement) == (policy.devices, policy.clusters, policy.placement)
    np.testing.assert_allclose(loaded.logits, policy.logits, atol=1e-4)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("placement"),
        lambda content: content.update(version=99),
        lambda content: content.update(placement=[]),
        lambda content: content["clusters"][0].pop("logits"),
        lambda content: content["clusters"][0].update(logits=[1.0]),
    ],
)
def test_damaged_files(change):
    content = json.loads(learn(two_towers()).to_json())
    change(content)
    with pytest.raises(ValueError, match="not a policy"):
        Policy.from_json(json.dumps(content))


def test_a_saved_placement_is_applied_where_possible():
    problem = two_towers()
    choice = follow(problem, {"t0_0": CPU[1], "t1_1": CPU[0], "t1_2": "/gpu:9", "unknown": CPU[1]})
    assert choice[group_named(problem, "t0_0")] == CPU[1]
    assert choice[group_named(problem, "t0_1")] == choice[group_named(problem, "t0_0")]  # beside its neighbour
    assert choice[group_named(problem, "t1_2")] == choice[group_named(problem, "t1_1")] == CPU[0]
    assert set(choice) == set(problem.groups)


# -- sessions ---------------------------------------------------------------------------------------------------------


def training():
    x = tf.placeholder(tf.float32, [16, 8], name="x")
    h = tf.layers.dense(x, 8, tf.nn.relu, name="one")
    loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 4, name="two")), name="loss")
    return x, tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train"), loss


def config_with(placer=""):
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    config.experimental.placer = placer
    return config


def test_a_placement_is_learned_from_steps_saved_and_used(tmp_path):
    tf.set_random_seed(3)
    x, train, loss = training()
    tf.get_default_graph().finalize()
    feeds, path = {x: np.ones([16, 8])}, str(tmp_path / "policy.json")
    policy = learn_placement(train, feeds, config_with(), path=path, trials=4, heats=1, seconds=0.001)
    assert policy.measured > 0 and policy.placement["one/kernel"] in CPU[:2]
    second_device = dict.fromkeys(policy.placement, CPU[1])
    (tmp_path / "mine.json").write_text(json.dumps({"placement": second_device}))
    values = []
    for name in ("", path, str(tmp_path / "mine.json")):
        with tf.Session(config=config_with(name)) as session:
            session.run([v.initializer for v in tf.global_variables()])
            session.run(train, feeds)
            values.append(session.run(loss, feeds))
            text = session.show_placement(train, feeds)
    assert values[0] == values[1] == values[2]
    rows = [line.split() for line in text.split("\n\n")[0].splitlines()[1:]]
    assert {row[2] for row in rows if row[0].startswith(("one/", "two/"))} == {"CPU:1"}
    assert str(tmp_path / "mine.json") in text


def test_a_simulated_placement_needs_no_trials(tmp_path):
    x, train, _ = training()
    policy = learn_placement(train, {x: np.ones([16, 8])}, config_with(), trials=0)
    assert policy.measured == 0.0 and policy.simulated > 0


def test_setup_prepares_each_session():
    x, train, _ = training()
    seen = []

    def setup(session):
        seen.append(session)
        session.run([v.initializer for v in tf.global_variables()])

    learn_placement(train, {x: np.ones([16, 8])}, config_with(), setup=setup, trials=2, heats=1, seconds=0.001)
    assert len(seen) >= 2 and all(session._closed for session in seen)


def test_bad_files_and_arguments(tmp_path):
    x, train, _ = training()
    feeds = {x: np.ones([16, 8])}
    with pytest.raises(ValueError, match=r"ends in \.json"):
        learn_placement(train, feeds, config_with(), path="policy.txt")
    with pytest.raises(ValueError, match="one device"):
        learn_placement(train, feeds, tf.ConfigProto(device_count={"CPU": 1, "GPU": 0}))
    (tmp_path / "bad.json").write_text('{"placement": 3}')
    for name, error in (("missing.json", tf.errors.NotFoundError), ("bad.json", tf.errors.InvalidArgumentError)):
        with tf.Session(config=config_with(str(tmp_path / name))) as session, pytest.raises(error, match="placement"):
            session.run(train, feeds)


def test_a_file_can_replace_a_placer(tmp_path):
    problem = two_towers(latency=3.0)
    path = tmp_path / "all_over.json"
    path.write_text(json.dumps({"placement": {"t0_1": CPU[1], "t1_1": CPU[0]}}))
    decision = decide(problem, str(path))
    assert decision.why == str(path) and decision.choice[group_named(problem, "t0_1")] == CPU[1]


def test_the_configured_cost_model_is_used(tmp_path):
    x, train, _ = training()
    costs = costs_of({}, latency=7.0)
    costs.save(tmp_path / "costs.json")
    config = config_with()
    config.experimental.cost_model = str(tmp_path / "costs.json")
    policy = learn_placement(train, {x: np.ones([16, 8])}, config, trials=0)
    assert len(set(policy.placement.values())) == 1  # seven seconds a transfer
