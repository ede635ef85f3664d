"""TensorFlow Serving's own client calls a server; what it sent and received is recorded for tests/deploy/serving."""

import json
from pathlib import Path

import pytest

from tests import children
from tests.conformance.recorded import RECORD
from tests.conformance.tensorflow import PYTHON, environment, needs_tensorflow
from tests.deploy.serving import models
from tests.deploy.serving.recorded import FIXTURE
from thalweg._src.deploy.serving.server import ModelServer


@needs_tensorflow
@pytest.mark.timeout(600)
def test_the_real_client_is_answered(tmp_path):
    models.save(tmp_path / "m" / "1")
    program = Path(__file__).parent / "serving_calls.py"
    with ModelServer({"m": str(tmp_path / "m")}, port=0, rest_api_port=None) as server:
        out = children.run([PYTHON, "-P", program, f"127.0.0.1:{server.port}"], env=environment()).stdout
    found = json.loads(out)
    assert [call[4] for call in found["calls"] if call[0] == "Predict"] == [
        "{'y': [[13.0, 16.0], [40.0, 52.0]]}",
        "{'words': [b'\\x00\\xff']}",
    ]
    if RECORD:
        FIXTURE.write_text(out)
    else:
        assert found["calls"] == json.loads(FIXTURE.read_text())["calls"]
