"""The cluster: a master that partitions steps, workers that run them, and the transport between tasks."""

import os

# Else gRPC logs peers that go, and errors that are also raised. It reads this at the first channel or server.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
