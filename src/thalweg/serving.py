"""tf.serving: Model servers with the protocols of TensorFlow Serving, and their clients."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.serving.client import (
    AsyncClient as AsyncClient,
    Client as Client,
)
from thalweg._src.deploy.serving.config import (
    BatchingParameters as BatchingParameters,
    Model as Model,
)
from thalweg._src.deploy.serving.limits import Limits as Limits
from thalweg._src.deploy.serving.server import (
    ModelServer as Server,
    Options as Options,
)
from thalweg._src.deploy.serving.versions import Policy as Policy

__all__ = ["AsyncClient", "BatchingParameters", "Client", "Limits", "Model", "Options", "Policy", "Server"]
