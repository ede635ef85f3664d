"""Requests at random times to a model server, as a program: a request does not wait for the answers of earlier ones.

`load_client.py PORT RATE SECONDS` reads a PredictRequest from standard input. It prints the seconds that 99 % of the
requests took at most, and the share of those that got errors. It imports no package but grpc, to start at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

_PREDICT = "/tensorflow.serving.PredictionService/Predict"
_FIRST = 0.2  # the share of the time that does not count


async def run(port: int, rate: float, seconds: float, request: bytes) -> tuple[float, float]:
    """Returns a percentile of the latencies and the share of errors, for arrivals of a Poisson process."""
    import grpc

    latencies: list[float] = []
    errors: list[grpc.RpcError] = []
    start = time.perf_counter()
    due, first, end = start, start + _FIRST * seconds, start + (1 + _FIRST) * seconds
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel, asyncio.TaskGroup() as group:
        call = channel.unary_unary(_PREDICT)

        async def ask(due: float) -> None:
            try:
                await call(request)
            except grpc.RpcError as error:
                errors.append(error)
            else:
                if due >= first:
                    latencies.append(time.perf_counter() - due)

        while due < end:
            await asyncio.sleep(due - time.perf_counter())
            group.create_task(ask(due))
            due += random.expovariate(rate)
    if not latencies:
        return float("inf"), 1.0
    return sorted(latencies)[len(latencies) * 99 // 100], len(errors) / (len(latencies) + len(errors))


if __name__ == "__main__":
    predict_request = sys.stdin.buffer.read()
    print(json.dumps(asyncio.run(run(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), predict_request))))
