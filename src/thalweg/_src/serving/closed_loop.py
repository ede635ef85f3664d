"""Closed-loop clients of a model server, as a program: each sends its next request when it has the answer.

`closed_loop.py PORT CLIENTS SECONDS` reads a PredictRequest from standard input. It prints the requests per second that
were answered with results, the seconds that 99 % of these took at most, and the share of requests that got errors. It
imports no package but grpc, so that it starts at once.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

_PREDICT = "/tensorflow.serving.PredictionService/Predict"
_FIRST = 0.2  # the share of the time that does not count


async def run(port: int, clients: int, seconds: float, request: bytes) -> tuple[float, float, float]:
    """Returns the rate of results, a percentile of their latencies, and the share of errors."""
    import grpc

    found: list[float] = []
    failed = 0
    first = time.perf_counter() + _FIRST * seconds
    end = first + seconds

    async def ask() -> None:
        nonlocal failed
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)]) as channel:
            call = channel.unary_unary(_PREDICT)
            while (start := time.perf_counter()) < end:
                try:
                    await call(request)
                except grpc.RpcError:
                    failed += start >= first
                    await asyncio.sleep(1e-3)  # an error may come at once
                else:
                    found.extend([time.perf_counter() - start] if start >= first else [])

    await asyncio.gather(*(ask() for _ in range(clients)))
    if not found:
        return 0.0, 0.0, 1.0
    return len(found) / seconds, sorted(found)[len(found) * 99 // 100], failed / (len(found) + failed)


if __name__ == "__main__":
    given = sys.stdin.buffer.read()
    print(json.dumps(asyncio.run(run(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), given))))
