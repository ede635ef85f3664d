"""Calls between two processes: in both directions, several at a time, with errors, and until one of them ends."""

import asyncio
import socket

import pytest

from thalweg._src.base import errors
from thalweg._src.deploy.serving.control_channel import ControlChannel


def connected(test, **handlers):
    """Runs a coroutine with one end of a channel; the other end has handlers."""

    async def run():
        one, other = ControlChannel({"ask": _ask}), ControlChannel(handlers)
        for channel, end in zip((one, other), socket.socketpair()):
            await channel.open(end)
        serving = [asyncio.create_task(channel.serve()) for channel in (one, other)]
        await test(one, other)
        one._writer.close()
        await asyncio.gather(*serving)

    async def _ask(value):
        return value + 1

    asyncio.run(run())


def test_calls_are_answered_in_any_order():
    gate = asyncio.Event()

    async def slow(value):
        await gate.wait()
        return value

    async def fast(value):
        gate.set()
        return {"text": "x" * (1 << 20), "value": value}

    async def test(one, other):
        found = await asyncio.gather(one.call("slow", 1), one.call("fast", [2]), other.call("ask", 3))
        assert found == [1, {"text": "x" * (1 << 20), "value": [2]}, 4]

    connected(test, slow=slow, fast=fast)


def test_errors_keep_their_type():
    async def fail(value):
        raise errors.NotFoundError(None, None, f"no {value}")

    async def break_down(_):
        raise ValueError("wrong")

    async def test(one, _):
        with pytest.raises(errors.NotFoundError, match="no model"):
            await one.call("fail", "model")
        with pytest.raises(errors.InvalidArgumentError, match="wrong"):
            await one.call("break_down")

    connected(test, fail=fail, break_down=break_down)


def test_calls_to_a_process_that_has_ended():
    async def never(_):
        await asyncio.Event().wait()

    async def test(one, other):
        call = asyncio.create_task(one.call("never"))
        await asyncio.sleep(0)
        other._writer.close()
        for failing in (call, one.call("never")):
            with pytest.raises(errors.UnavailableError, match="has ended"):
                await failing

    connected(test, never=never)
