"""The engines of control flow: generated Python, the interpreter, and the token engine."""

import pytest

from tests.graph.control_flow.test_random_programs import free
from thalweg._src.runtime import passes
from thalweg._src.runtime.execute import program


@pytest.fixture(params=["generated", "interpreted", "tokens"])
def engine(request, monkeypatch):
    """Runs a test once on each engine: values, effects and errors must be the same."""
    if request.param == "interpreted":
        monkeypatch.setattr(program, "_LARGE", -1)
    elif request.param == "tokens":
        monkeypatch.setattr(passes, "functionalize", free)
    return request.param
