"""Cancellation: the first error counts, and every callback is called once."""

import threading

from thalweg._src.runtime.resources.cancellation import Cancellation

FIRST, SECOND = ValueError("first"), ValueError("second")


def test_all_callbacks_are_called_with_the_error():
    cancellation, heard = Cancellation(), []
    tokens = [cancellation.register(lambda error, i=i: heard.append((i, error))) for i in range(3)]
    assert None not in tokens and len(set(tokens)) == 3
    assert cancellation.error is None and heard == []
    cancellation.cancel(FIRST)
    assert cancellation.error is FIRST
    assert sorted(heard) == [(0, FIRST), (1, FIRST), (2, FIRST)]


def test_only_the_first_error_counts():
    cancellation, heard = Cancellation(), []
    cancellation.register(heard.append)
    cancellation.cancel(FIRST)
    cancellation.cancel(SECOND)
    assert cancellation.error is FIRST and heard == [FIRST]


def test_registration_after_cancellation_calls_back_immediately():
    cancellation, heard = Cancellation(), []
    cancellation.cancel(FIRST)
    assert cancellation.register(heard.append) is None
    assert heard == [FIRST]
    cancellation.deregister(None)


def test_deregistered_callbacks_are_not_called():
    cancellation, heard = Cancellation(), []
    token = cancellation.register(heard.append)
    cancellation.deregister(token)
    cancellation.deregister(token)
    cancellation.cancel(FIRST)
    assert heard == []
    cancellation.deregister(token)


def test_one_function_may_be_registered_twice():
    cancellation, heard = Cancellation(), []
    callback = heard.append
    first, second = cancellation.register(callback), cancellation.register(callback)
    assert first != second
    cancellation.deregister(first)
    cancellation.cancel(FIRST)
    assert heard == [FIRST]


def test_a_callback_may_use_the_cancellation():
    """Callbacks run outside the lock."""
    cancellation, heard = Cancellation(), []

    def callback(error):
        cancellation.deregister(other)
        cancellation.register(heard.append)
        cancellation.cancel(SECOND)

    other = cancellation.register(lambda error: None)
    cancellation.register(callback)
    cancellation.cancel(FIRST)
    assert heard == [FIRST]


def test_one_of_many_threads_cancels():
    for _ in range(20):
        cancellation, heard = Cancellation(), []
        start = threading.Barrier(6)

        def work(i):
            start.wait()
            cancellation.register(lambda error: heard.append((i, error)))
            if i % 2:
                cancellation.cancel(ValueError(i))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(i for i, _ in heard) == list(range(6))
        assert {id(error) for _, error in heard} == {id(cancellation.error)}
