"""The Open Inference Protocol: health, metadata, and inference with typed tensors."""

import pytest

from tests.deploy.serving.models import nested

INFER = "/v2/models/m/infer"


def _input(**changes):
    return {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3], **changes}


def test_health_and_metadata(ask):
    assert ask("/v2")[1]["name"] == "thalweg"
    assert ask("/v2/health/live") == (200, {"live": True})
    assert ask("/v2/health/ready") == (200, {"ready": True})
    assert ask("/v2/models/m/ready") == (200, {"name": "m", "ready": True})
    assert ask("/v2/models/m/versions/1") == (
        200,
        {
            "name": "m",
            "versions": ["1"],
            "platform": "tensorflow_savedmodel",
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
            "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}],
        },
    )


@pytest.mark.parametrize("data", [[1, 2, 3], [[1, 2, 3]]])
def test_inference(ask, data):
    output = {"name": "y", "datatype": "FP32", "shape": [1, 2], "data": [22, 28]}
    answer = {"id": "7", "model_name": "m", "model_version": "1", "outputs": [output]}
    assert ask(INFER, {"id": "7", "inputs": [_input(data=data)]}) == (200, answer)


def test_strings_other_signatures_and_chosen_outputs(ask):
    words = {"name": "b", "datatype": "BYTES", "shape": [1], "data": ["word"]}
    request = {
        "inputs": [_input(name="a"), words],
        "outputs": [{"name": "words"}],
        "parameters": {"signature_name": "two"},
    }
    output = {"name": "words", "datatype": "BYTES", "shape": [1], "data": ["word"]}
    assert ask(INFER, request)[1]["outputs"] == [output]


@pytest.mark.parametrize(
    "path, body, status, words",
    [
        ("/v2/models/other", None, 404, "Servable not found"),
        ("/v2/models", None, 404, "Malformed request"),
        ("/v2/models/m/infer", None, 404, "Malformed request"),
        ("/v2/models/m", {}, 404, "Malformed request"),
        (INFER, {"inputs": 3}, 400, "expected a list of objects"),
        (INFER, {"inputs": []}, 400, "Missing but required: {x}"),
        (INFER, {"inputs": [_input(datatype="FP8")]}, 400, "a datatype of BOOL"),
        (INFER, {"inputs": [_input(datatype="INT32")]}, 400, "expected type float32, received int32"),
        (INFER, {"inputs": [_input(shape=[2, 3])]}, 400, "3 values do not fill the shape [2, 3]"),
        (INFER, {"inputs": [_input(shape=[-1])]}, 400, "expected a shape of sizes"),
        (INFER, {"inputs": [_input(shape=nested(900, 1))]}, 400, "expected a shape of sizes"),
        (INFER, {"inputs": [_input(shape=[2**63 - 1] * 100_000)]}, 400, "do not fill the shape"),
        (INFER, {"inputs": [_input(data=nested(900, 1))]}, 400, "lists of equal lengths"),
        (INFER, {"inputs": [_input(datatype="BYTES", data=nested(900, "a"))]}, 400, "nested more than 32 deep"),
        (INFER, {"inputs": [_input(data=nested(900, "a"))]}, 400, "lists of equal lengths"),
        (INFER, {"inputs": [_input(data=[10**300, 1, 1])]}, 400, "does not fit into float32"),
        (INFER, {"inputs": [_input(name=nested(900, 1))]}, 400, "an input needs a name"),
        (INFER, {"inputs": [_input()], "outputs": [{"name": nested(900, 1)}]}, 400, "expected a name in each"),
        (INFER, {"inputs": [_input()], "parameters": {"signature_name": nested(900, 1)}}, 400, "'parameters'"),
        (INFER, b'{"inputs": [%s]}' % (b"9" * 1_000_000), 400, "is too large"),
        (INFER, {"inputs": [_input(shape=[1] * 60 + [3])]}, 400, "do not fill the shape"),
        (INFER, {"inputs": [_input()], "outputs": [{"name": "z"}]}, 400, "output tensor alias not found"),
        (INFER, {"inputs": [_input()], "parameters": {"signature_name": 1}}, 400, "its signature_name a string"),
    ],
)
def test_errors(ask, path, body, status, words):
    found, answer = ask(path, body)
    assert found == status and words in answer["error"]
