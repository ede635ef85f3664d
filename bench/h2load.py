"""Load on a model server by h2load, whose clients cost little beside the server, and the requests that it sends."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from workloads.serving_models import SHAPES

PREDICT = "/tensorflow.serving.PredictionService/Predict"
TOLERANCE = 1e-3


class Requests:
    """A request for one example of random numbers, as gRPC and REST carry it, in files."""

    def __init__(self, model: str, folder: Path) -> None:
        import numpy as np

        from thalweg._src.deploy.serving.protos import message_class
        from thalweg._src.deploy.serving.tensors import write_tensor

        array: Any = np.random.default_rng(0).random((1, *SHAPES[model]), np.float32)
        request = message_class("PredictRequest")()
        request.model_spec.name = model
        write_tensor(array, request.inputs["x"])
        self.message = bytes(request.SerializeToString())
        self.model = model
        self.files = {"grpc": folder / f"{model}.grpc", "rest": folder / f"{model}.json"}
        self.files["grpc"].write_bytes(b"\0" + len(self.message).to_bytes(4, "big") + self.message)
        self.files["rest"].write_text(json.dumps({"instances": array.tolist()}))

    def check(self, protocol: str, port: int) -> None:
        """Makes one request, and fails unless the answer is the probabilities of classes."""
        found = self._ask_grpc(port) if protocol == "grpc" else self._ask_rest(port)
        assert abs(sum(found) - 1) < TOLERANCE, found

    def _ask_grpc(self, port: int) -> list[float]:
        import grpc

        from thalweg._src.deploy.serving.protos import message_class
        from thalweg._src.deploy.serving.tensors import read_tensor

        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            answer = message_class("PredictResponse").FromString(channel.unary_unary(PREDICT)(self.message))
        return [float(each) for each in read_tensor("y", answer.outputs["y"])[0]]

    def _ask_rest(self, port: int) -> list[float]:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"content-type": "application/json"}
        connection.request("POST", f"/v1/models/{self.model}:predict", self.files["rest"].read_bytes(), headers)
        return [float(each) for each in json.loads(connection.getresponse().read())["predictions"][0]]


def load(requests: Requests, protocol: str, port: int, clients: int, seconds: float, first: float) -> list[float]:
    """Returns the milliseconds of all requests that clients make in a time, each the next one after the answer.

    first: seconds before that, which do not count
    """
    path = PREDICT if protocol == "grpc" else f"/v1/models/{requests.model}:predict"
    kind = {"grpc": "application/grpc", "rest": "application/json"}[protocol]
    with tempfile.NamedTemporaryFile("r", prefix="bench-") as log:
        command = [_program(), f"--clients={clients}", f"--duration={seconds}", f"--warm-up-time={first}"]
        command += [f"--data={requests.files[protocol]}", f"--header=content-type: {kind}", f"--log-file={log.name}"]
        command += ["--header=te: trailers"] if protocol == "grpc" else ["--h1"]
        done = subprocess.run(
            [*command, f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True
        ).stdout
        counts = re.search(r"(\d+) done, (\d+) succeeded", done)
        assert counts is not None and int(counts[2]) == int(counts[1]) > 0, done
        return [int(line.split()[2]) / 1e3 for line in log]


def _program() -> str:
    return shutil.which("h2load") or sys.exit("h2load is missing; it is in Debian's package nghttp2-client")
