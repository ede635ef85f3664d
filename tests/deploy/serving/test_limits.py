"""Limits as values, and as texts of the command line."""

import pytest

import thalweg as tf
from thalweg._src.base import errors
from thalweg._src.deploy.serving.limits import BytesInFlight, Limits


def test_limits_of_texts():
    limits = Limits.parse(["connections=5", "header_seconds=0.5"])
    assert (limits.connections, limits.header_seconds) == (5, 0.5)
    assert limits.headers == Limits().headers
    assert Limits.parse([]) == tf.serving.Limits()


@pytest.mark.parametrize(
    "text, words",
    [
        ("sockets=5", "expected NAME=NUMBER, with a name of connections, unproved"),
        ("connections", "expected an integer for connections, received ''"),
        ("connections=1.5", "expected an integer for connections, received '1.5'"),
        ("idle_seconds=long", "expected a number for idle_seconds, received 'long'"),
        ("idle_seconds=nan", "expected idle_seconds to be more than 0, received nan"),
        ("streams=0", "expected streams to be more than 0, received 0"),
    ],
)
def test_errors_say_what_was_expected(text, words):
    with pytest.raises(errors.InvalidArgumentError) as caught:
        Limits.parse([text])
    assert words in caught.value.message


def test_bytes_in_flight():
    count = BytesInFlight(100)
    count.take(60)
    with pytest.raises(errors.UnavailableError) as caught:
        count.take(41)
    assert caught.value.retry_after > 0
    count.add(1000)  # an answer, for which there is always room
    count.give(1060)
    count.take(100)
