"""The schedules of Keras: rates of the real library, configurations, and what is refused."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES
from thalweg._src.keras.optimizers import moments, schedules
from thalweg._src.runtime.eager.mode import eager_mode

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_optimizers.json.gz"
RECORDED = json.loads(gzip.decompress(FIXTURE.read_bytes()))["schedules"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_a_schedule_gives_the_rates_of_the_real_library(mode, number):
    recorded = RECORDED[number]
    schedule = schedules.deserialize(recorded["schedule"])
    if mode == "graph":
        with tf.Session() as session:
            rates = session.run([schedule(step) for step in range(12)])
    else:
        with eager_mode():
            rate = tf.function(lambda step: schedule(step)) if mode == "function" else schedule
            rates = [rate(tf.constant(step)).numpy() for step in range(12)]
    np.testing.assert_allclose(rates, recorded["rates"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_a_schedule_is_made_again_from_its_configuration(number):
    schedule = schedules.deserialize(RECORDED[number]["schedule"])
    described = schedules.serialize(schedule)
    again = schedules.deserialize(described)
    assert type(again) is type(schedule)
    assert again.get_config() == schedule.get_config()
    assert described["config"].items() >= RECORDED[number]["schedule"]["config"].items()


def test_linear_cosine_decays_begin_at_the_first_rate():
    line = schedules.LinearCosineDecay(0.5, 10, beta=0.0)
    noisy = schedules.NoisyLinearCosineDecay(0.5, 10, initial_variance=0.0, beta=0.0)
    with tf.Session() as session:
        rates = session.run([line(0), noisy(0), line(10), noisy(10), line(4), noisy(4)])
    np.testing.assert_allclose(rates[:4], [0.5, 0.5, 0.0, 0.0], atol=1e-7)
    assert rates[4] == rates[5]


def test_a_schedule_with_a_wrong_number_of_values_is_refused():
    with pytest.raises(ValueError, match="2 boundaries need 3 values"):
        schedules.PiecewiseConstantDecay([1, 2], [0.1, 0.2])
    with pytest.raises(ValueError, match="no schedule"):
        moments.Nadam(schedules.ExponentialDecay(0.1, 1, 0.5))
