"""The gRPC services, with what TensorFlow Serving's own client sent and what it read from the answers."""

import grpc
import numpy as np
import pytest

from tests.deploy.serving.models import example
from thalweg._src.base import errors
from thalweg._src.deploy.serving.manager import Spec
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.service import Call
from thalweg._src.deploy.serving.tensors import read_tensor, write_tensor

PREDICTION, MODEL = "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"


@pytest.fixture(scope="module")
def call(server):
    """Returns a function that makes a call and returns the answer."""
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:

        def call(service, method, request, response, **options):
            content = request if isinstance(request, bytes) else request.SerializeToString()
            return message_class(response).FromString(channel.unary_unary(f"/{service}/{method}")(content, **options))

        yield call


def _predict_request(array, name="m", **fields):
    request = message_class("PredictRequest")(**fields)
    request.model_spec.name = name
    write_tensor(array, request.inputs["x"])
    return request


def test_predict(call):
    request = _predict_request(np.array([[1, 2, 3]], np.float32))
    response = call(PREDICTION, "Predict", request, "PredictResponse")
    assert list(response.outputs["y"].float_val) == [22, 28]  # where clients in other languages look
    np.testing.assert_array_equal(read_tensor("y", response.outputs["y"]), [[22, 28]])
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("m", 1, "serving_default")


def test_examples_with_a_context(call):
    request = message_class("MultiInferenceRequest")()
    for key in ("classify", "regress"):
        task = request.tasks.add(method_name=f"tensorflow/serving/{key}")
        task.model_spec.name, task.model_spec.signature_name = "m", key
    listed = request.input.example_list_with_context
    listed.context = example(1, 2, 3).SerializeToString()
    listed.examples.extend([b"", example(0, 0, 1).SerializeToString()])
    response = call(PREDICTION, "MultiInference", request, "MultiInferenceResponse")
    classified, regressed = response.results
    assert [each.classes[1].score for each in classified.classification_result.classifications] == [28, 6]
    assert [each.value for each in regressed.regression_result.regressions] == [22, 5]
    assert regressed.model_spec.signature_name == "regress"


def test_health(call):
    for name in ("", PREDICTION, MODEL):
        request = message_class("HealthCheckRequest")(service=name)
        assert call("grpc.health.v1.Health", "Check", request, "HealthCheckResponse").status == 1


def _refused(call, service, method, request, **options):
    with pytest.raises(grpc.RpcError) as caught:
        call(service, method, request, "PredictResponse", **options)
    return caught.value.code().name, caught.value.details()


def test_errors(call):
    right = np.ones((1, 3), np.float32)
    code, text = _refused(call, PREDICTION, "Predict", b"\xff\xff")
    assert code == "INVALID_ARGUMENT" and text.startswith("the request is not a PredictRequest")
    assert _refused(call, PREDICTION, "Predict", b"") == ("INVALID_ARGUMENT", "Missing model name in request.")
    assert _refused(call, PREDICTION, "Predict", _predict_request(right, "q"))[0] == "NOT_FOUND"
    code, text = _refused(call, PREDICTION, "Predict", _predict_request(right.astype(np.float64)))
    assert (code, text) == ("INVALID_ARGUMENT", "input 'x': expected type float32, received float64")
    twice = _predict_request(right, output_filter=["y", "y"])
    assert _refused(call, PREDICTION, "Predict", twice)[1] == "duplicate output tensor alias: y"
    unknown = _predict_request(right)
    unknown.model_spec.signature_name = "none"
    code, text = _refused(call, PREDICTION, "Predict", unknown)
    assert code == "FAILED_PRECONDITION" and text.startswith('Serving signature key "none" not found.')
    assert _refused(call, PREDICTION, "Classify", b"\x0a\x03\x0a\x01m")[0] == "INVALID_ARGUMENT"
    assert _refused(call, PREDICTION, "MultiInference", b"")[1] == "the request has no tasks"
    assert _refused(call, PREDICTION, "GetModelMetadata", b"\x0a\x03\x0a\x01m")[0] == "INVALID_ARGUMENT"
    assert _refused(call, MODEL, "GetModelStatus", b"") == ("INVALID_ARGUMENT", "Missing ModelSpec")
    assert _refused(call, "grpc.health.v1.Health", "Check", b"\x0a\x01z")[0] == "NOT_FOUND"
    assert _refused(call, PREDICTION, "Train", b"")[0] == "UNIMPLEMENTED"


def test_a_short_message_of_a_huge_tensor_is_refused(call):
    request = message_class("PredictRequest")()
    request.model_spec.name = "m"
    tensor = request.inputs["x"]
    tensor.dtype = 1
    tensor.float_val.append(1.0)
    for size in (100_000_000, 3):
        tensor.tensor_shape.dim.add().size = size
    code, text = _refused(call, PREDICTION, "Predict", request)
    assert code == "INVALID_ARGUMENT" and "more than its message holds" in text


def test_a_deadline_that_has_passed(server):
    call = Call("Predict", "GRPC", deadline=0.0)
    with (
        pytest.raises(errors.DeadlineExceededError, match="has passed"),
        server.service.signature(call, Spec("m")),
    ):
        pytest.fail("computed")
