"""The REST API answers as TensorFlow Serving's does: rows, columns, binary strings, metadata, states and errors."""

import base64

import pytest

from tests.deploy.serving.models import named, nested

PREDICT = "/v1/models/m:predict"


def test_rows_and_columns(ask):
    rows = {"instances": [[1, 2, 3], [0, 0, 1]]}
    assert ask(PREDICT, rows) == (200, {"predictions": [[22, 28], [5, 6]]})
    assert ask(PREDICT, {"instances": [{"x": [0, 1, 0]}]}) == (200, {"predictions": [[3, 4]]})
    assert ask(PREDICT, {"inputs": [[1, 2, 3]]}) == (200, {"outputs": [[22, 28]]})
    assert ask(PREDICT, {"inputs": {"x": [[1, 2, 3]]}}) == (200, {"outputs": [[22, 28]]})


def test_several_inputs_and_outputs(ask):
    rows = [{"a": [1, 0, 0], "b": "ä"}, {"a": [0, 1, 0], "b": {"b64": base64.b64encode(b"\xff").decode()}}]
    status, found = ask(PREDICT, {"signature_name": "two", "instances": rows})
    assert (status, found["predictions"]) == (200, [{"sum": 3, "words": "ä"}, {"sum": 7, "words": {"b64": "/w=="}}])
    columns = {"a": [[1, 0, 0]], "b": ["word"]}
    assert ask(PREDICT, {"signature_name": "two", "inputs": columns})[1] == {"outputs": {"sum": [3], "words": ["word"]}}


def test_bytes_of_outputs_whose_name_says_so(ask):
    request = {"signature_name": "blobs", "instances": ["text", {"b64": "/w=="}]}
    assert ask(PREDICT, request)[1] == {"predictions": [{"b64": "dGV4dA=="}, {"b64": "/w=="}]}


def test_classify_and_regress(ask):
    request = {"signature_name": "classify", "examples": [{"x": [1.0, 2.0, 3.0]}, {"x": [0.0, 0.0, 1.0]}]}
    expected = {"results": [[["low", 22], ["high", 28]], [["low", 5], ["high", 6]]]}
    assert ask("/v1/models/m:classify", request) == (200, expected)
    request["signature_name"] = "regress"
    assert ask("/v1/models/m:regress", request) == (200, {"results": [22, 5]})
    request = {"signature_name": "regress", "context": {"x": [1.0, 2.0, 3.0]}, "examples": [{}, {"x": [0.0, 0.0, 1.0]}]}
    assert ask("/v1/models/m:regress", request) == (200, {"results": [22, 5]})


def test_versions_and_states(ask):
    state = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    for path in ("/v1/models/m", "/v1/models/m/versions/1"):
        assert ask(path) == (200, {"model_version_status": [state]})
    assert ask("/v1/models/m/versions/1:predict", {"instances": [[0, 0, 1]]})[0] == 200
    assert ask("/v1/models/m/versions/7")[1] == {"error": "Could not find version 7 of model m"}


def test_metadata(ask):
    status, found = ask("/v1/models/m/versions/1/metadata")
    assert (status, found["model_spec"]) == (200, {"name": "m", "version": "1", "signature_name": ""})
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert signatures.keys() == {"serving_default", "two", "total", "blobs", "joined", "classify", "regress"}
    assert signatures["serving_default"]["inputs"]["x"] == {
        "dtype": "DT_FLOAT",
        "name": "x:0",
        "tensor_shape": {"dim": [{"size": "-1", "name": ""}, {"size": "3", "name": ""}], "unknown_rank": False},
    }


@pytest.mark.parametrize(
    "path, body, status, words",
    [
        ("/v1/models/other:predict", {"instances": [1]}, 404, "Servable not found for request: Latest(other)"),
        ("/v1/models/m/versions/9:predict", {"instances": [1]}, 404, "Specific(m, 9)"),
        ("/v1/models/m/versions/99999999999999999999:predict", {"instances": [1]}, 400, "Failed to convert version"),
        ("/v1/models/m/labels/canary:predict", {"instances": [1]}, 400, "Unrecognized servable version label: canary"),
        ("/v1/models/m:train", {"instances": [1]}, 400, "Malformed request"),
        ("/v1/models/m", {"instances": [1]}, 400, "Malformed request: POST /v1/models/m"),
        ("/v1/other", None, 400, "Malformed request: GET /v1/other"),
        (PREDICT, b"", 400, "The document is empty"),
        (PREDICT, b"{", 400, "JSON Parse error"),
        (PREDICT, b"[" * 100_000, 400, "JSON Parse error"),
        (PREDICT, b"\xff", 400, "JSON Parse error"),
        (PREDICT, [1], 400, "expected an object"),
        (PREDICT, {}, 400, "Missing 'inputs' or 'instances' key"),
        (PREDICT, {"inputs": 1, "instances": [1]}, 400, "received both"),
        (PREDICT, {"instances": []}, 400, "one value or more"),
        (PREDICT, {"instances": [[1, 2]]}, 400, "expected shape (?, 3), received (1, 2)"),
        (PREDICT, {"instances": [[1, 2, 3], [1]]}, 400, "lists of equal lengths"),
        (PREDICT, {"instances": [["1", "2", "3"]]}, 400, "expected numbers of type float32"),
        (PREDICT, {"instances": [[True, True, True]]}, 400, "expected numbers of type float32"),
        (PREDICT, {"instances": [[1e300, 1, 1]]}, 400, "does not fit into float32"),
        (PREDICT, b'{"instances": [[1e400, 1, 1]]}', 400, "too large"),
        (PREDICT, b'{"instances": [[-1e400, NaN, 1]]}', 400, "too large"),
        (PREDICT, b'{"instances": [[%s, 1, 1]]}' % (b"9" * 1_000_000), 400, "too large"),
        (PREDICT, b'{"instances": [[%s, 1, 1]]}' % (b"1" * 40), 400, "does not fit into float32"),
        (PREDICT, b'{"inputs": [%s]}' % b",".join([b"1" * 40] * 1000), 400, "does not fit into float32"),
        (PREDICT, {"instances": nested(900, 1)}, 400, "lists of equal lengths"),
        (PREDICT, b'{"instances": %s}' % (b"[" * 1000 + b"]" * 1000), 400, "received [[["),
        (PREDICT, {"signature_name": nested(900, 1), "instances": [1]}, 400, "expected a string"),
        (PREDICT, {"signature_name": "blobs", "inputs": nested(900, "a")}, 400, "nested more than 32 deep"),
        (PREDICT, {"signature_name": "blobs", "inputs": nested(33, "a")}, 400, "nested more than 32 deep"),
        (PREDICT, {"signature_name": "blobs", "inputs": [{"b64": nested(900, 1)}]}, 400, "expected type: string"),
        (PREDICT, {"signature_name": "blobs", "inputs": [named(900)]}, 400, "expected type: string"),
        (PREDICT, b'{"signature_name": "blobs", "inputs": [{"b64": 1e400}]}', 400, "too large"),
        (PREDICT, {"instances": [named(900)]}, 400, "expected numbers of type float32"),
        (PREDICT, {"instances": [{"z": [1, 2, 3]}]}, 400, "with the keys x"),
        (PREDICT, {"instances": [{"x": [1, 2, 3]}, 3]}, 400, "element: 1"),
        (PREDICT, {"inputs": {"z": 3}}, 400, "Missing named input: x"),
        (PREDICT, {"signature_name": "none", "instances": [1]}, 400, 'Serving signature key "none" not found'),
        (PREDICT, {"signature_name": 3, "instances": [1]}, 400, "expected a string"),
        (PREDICT, {"signature_name": "two", "instances": [1]}, 400, "the inputs a,b"),
        (PREDICT, {"signature_name": "total", "instances": [[1, 2, 3]]}, 400, "use 'inputs' instead of 'instances'"),
        (PREDICT, {"signature_name": "blobs", "inputs": [{"b64": "!"}]}, 400, "Unable to base64 decode"),
        ("/v1/models/m:classify", {"examples": [{"x": [1.0]}]}, 400, "method_name to be tensorflow/serving/classify"),
        ("/v1/models/m:regress", {"signature_name": "regress"}, 400, "'examples': expected a list"),
        ("/v1/models/m:regress", {"signature_name": "regress", "examples": [{"x": [1.0, "a"]}]}, 400, "Feature: x"),
        ("/v1/models/m:regress", {"signature_name": "regress", "examples": [{"x": [1.0]}]}, 400, "x"),
        ("/v1/models/m:regress", {"signature_name": "regress", "examples": [{"x": [1e39, 1.0, 1.0]}]}, 400, "float32"),
        ("/v1/models/m:regress", {"signature_name": "regress", "examples": [{"x": nested(900, 1)}]}, 400, "Feature: x"),
        ("/v1/models/m:regress", {"signature_name": "regress", "examples": nested(900, 1)}, 400, "JSON object"),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected(ask, path, body, status, words):
    found, answer = ask(path, body)
    assert (found, answer.keys()) == (status, {"error"})
    assert words in answer["error"]


def test_integers_of_more_than_64_bits_are_doubles(ask):
    assert ask(PREDICT, b'{"instances": [[%s, 0, 0]]}' % (b"1" * 30))[0] == 200
    assert (
        ask(
            "/v2/models/m/infer",
            {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [2**70, 0, 0]}]},
        )[0]
        == 200
    )


def test_numbers_that_are_not_finite(ask):
    status, text = ask(PREDICT, b'{"instances": [[NaN, 0, 0], [Infinity, 0, 0]]}', raw=True)
    assert (status, text) == (200, '{"predictions":[[NaN,NaN],[Infinity,Infinity]]}')


def test_metrics(ask):
    ask(PREDICT, {"instances": [[1, 2, 3]]})
    ask('/v1/models/%22"%0a:predict', {"instances": [[1, 2, 3]]})
    for path in ("/metrics", "/monitoring/prometheus/metrics"):
        status, text = ask(path, raw=True)
        assert status == 200
        assert '\n:tensorflow:serving:request_count{model_name="m",status="OK"} ' in text
        assert ':tensorflow:serving:request_count{model_name="",status="NOT_FOUND"} ' in text
        name = ":tensorflow:serving:request_latency_bucket"
        assert f'{name}{{model_name="m",API="Predict",entrypoint="REST",le="10.0"}} ' in text
        assert f'{name}{{model_name="m",API="Predict",entrypoint="REST",le="+Inf"}} ' in text
