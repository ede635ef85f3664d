"""Models of torch behind FastAPI, computed request by request, or in batches of what arrives together."""

import asyncio
import socket
import threading
from typing import Any

import numpy as np
import orjson
import torch
import uvicorn
from fastapi import Depends, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from torch.fx.experimental.optimization import fuse
from workloads.serving_models import torch_model

BATCH = 16
SMALL = 1 << 16  # bytes, which are read in the event loop


def serve_torch(name: str, is_batched: bool) -> int:
    """Starts a server of a model, and returns its port."""
    application, endpoint = FastAPI(), batched_endpoint if is_batched else endpoint_of_one
    application.post(f"/v1/models/{name}:predict")(endpoint(fused(name)))
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_level="error"))
    threading.Thread(target=server.run, args=([listener],), daemon=True).start()
    return int(listener.getsockname()[1])


def fused(name: str) -> Any:
    """Returns a model as it is deployed: batch normalization is folded into convolutions, and channels are last."""
    model: Any = fuse(torch_model(name))
    return model.to(memory_format=torch.channels_last)


def read(body: bytes) -> torch.Tensor:
    return torch.from_numpy(np.array(orjson.loads(body)["instances"], np.float32))


def answer(rows: torch.Tensor) -> Response:
    return Response(orjson.dumps({"predictions": rows.tolist()}), media_type="application/json")


async def content(request: Request) -> bytes:
    return await request.body()


def endpoint_of_one(model: Any) -> Any:
    """Returns an endpoint that computes each request on a thread of FastAPI's pool."""

    def predict(body: bytes = Depends(content)) -> Response:
        with torch.inference_mode():
            return answer(model(read(body)))

    return predict


def batched_endpoint(model: Any) -> Any:
    """Returns an endpoint that puts requests into a queue; a task computes what waits there as one batch."""
    waiting: asyncio.Queue[tuple[torch.Tensor, asyncio.Future[torch.Tensor]]] = asyncio.Queue()
    workers: list[asyncio.Task[None]] = []

    def compute(parts: list[torch.Tensor]) -> Any:
        with torch.inference_mode():
            return model(torch.cat(parts)).split([len(part) for part in parts])

    async def work() -> None:
        while True:
            batch = [await waiting.get()]
            while len(batch) < BATCH and not waiting.empty():
                batch.append(waiting.get_nowait())
            found = await run_in_threadpool(compute, [rows for rows, _ in batch])
            for (_, result), rows in zip(batch, found):
                if not result.cancelled():
                    result.set_result(rows)

    async def predict(request: Request) -> Response:
        body = await request.body()
        rows = read(body) if len(body) < SMALL else await run_in_threadpool(read, body)
        if not workers:
            workers.append(asyncio.create_task(work()))
        result = asyncio.get_running_loop().create_future()
        waiting.put_nowait((rows, result))
        return answer(await result)

    return predict
