"""What TensorFlow Serving's own client sent and received; `make conformance` records it."""

import base64
import json
from pathlib import Path

FIXTURE = Path(__file__).parent.parent.parent / "fixtures" / "serving_calls.json"


def recorded():
    """Returns the calls and the other messages, their bytes decoded."""
    found = json.loads(FIXTURE.read_text())
    calls = [
        (name, base64.b64decode(sent), kind, base64.b64decode(got)) for name, sent, kind, got, *_ in found["calls"]
    ]
    return calls, found["text"], *(base64.b64decode(found[key]) for key in ("config", "reload", "log"))
