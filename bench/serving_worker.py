"""A server of one peer: `serving_worker.py PEER NAME FOLDER PACKAGES`; prints the ports of gRPC and REST, and serves.

thalweg and tensorflow have the same front end: in TensorFlow's environment it is imported from this source tree, with
the PACKAGES of ours behind its own, and another class loads and runs the model. torch has that of FastAPI.
"""

from __future__ import annotations

import json
import sys
from typing import Any

BATCH = 16


def serve(name: str, folder: str) -> Any:
    """Starts the front end, with batches of what arrives together."""
    from thalweg._src.deploy.serving.config import BatchingParameters
    from thalweg._src.deploy.serving.server import ModelServer

    sizes = (1, 2, 4, 8, BATCH)
    batching = BatchingParameters(
        max_batch_size=BATCH, num_batch_threads=1, max_enqueued_batches=100, allowed_batch_sizes=sizes
    )
    server = ModelServer({name: folder}, port=0, rest_api_port=0, batching=batching)
    assert server.start(), server.describe(name)
    return server


def serve_tensorflow(name: str, folder: str) -> Any:
    """Starts the front end, with TensorFlow behind it."""
    import tensorflow as tf

    from thalweg._src.deploy.saved_model.files import meta_graph_with_tags, read_saved_model
    from thalweg._src.deploy.serving import server
    from thalweg._src.deploy.serving.servable import Signature

    class TensorFlowServable:
        """A version of a model that TensorFlow computes."""

        def __init__(self, path: str, tags: Any, config: Any, model: str) -> None:
            self._model = tf.saved_model.load(path)
            message = meta_graph_with_tags(read_saved_model(path), tags)
            self.signatures = {
                key: Signature(model, key, definition, None)
                for key, definition in message.signature_def.items()
                if key in self._model.signatures
            }
            for key, signature in self.signatures.items():
                signature.run = self._runner(self._model.signatures[key])  # type: ignore[method-assign]

        def _runner(self, function: Any) -> Any:
            def run(inputs: Any, outputs: Any) -> dict[str, Any]:
                found = function(**{key: tf.constant(value) for key, value in inputs.items()})
                return {key: found[key].numpy() for key in outputs}

            return run

        def signature(self, key: str) -> Any:
            return self.signatures[key or "serving_default"]

        def warmup_requests(self) -> Any:
            return ()

        def close(self) -> None:
            pass

    server.Servable = TensorFlowServable  # type: ignore[assignment,misc]
    return serve(name, folder)


def main(peer: str, name: str, folder: str, packages: str) -> None:
    if peer in ("torch", "torch_batched"):
        from serving_torch import serve_torch

        ports = [None, serve_torch(name, is_batched=peer == "torch_batched")]
    else:
        if peer == "tensorflow":
            sys.path.append(packages)
        server = (serve_tensorflow if peer == "tensorflow" else serve)(name, folder)
        ports = [server.port, server.rest_api_port]
    print(json.dumps(ports), flush=True)
    sys.stdin.read()  # until the other end closes it


main(*sys.argv[1:])
