"""The messages are those of TensorFlow Serving: its bytes and texts are read, and equal bytes are written."""

import grpc
import pytest

from tests.deploy.serving.recorded import recorded
from thalweg._src.deploy.serving import inference
from thalweg._src.deploy.serving.config import models_of, read_models
from thalweg._src.deploy.serving.protos import message_class
from thalweg._src.deploy.serving.versions import Policy


@pytest.mark.parametrize("number", range(7))
def test_calls_of_the_real_client_are_answered_as_it_understood(server, number):
    name, request, kind, expected = recorded()[0][number]
    service = "ModelService" if name == "GetModelStatus" else "PredictionService"
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        content = channel.unary_unary(f"/tensorflow.serving.{service}/{name}")(request)
    assert message_class(kind).FromString(content) == message_class(kind).FromString(expected)


def test_every_method_is_recorded():
    names = [name for name, *_ in recorded()[0]]
    expected = ["Predict", "Predict", "Classify", "Regress", "MultiInference", "GetModelMetadata", "GetModelStatus"]
    assert names == expected


def test_model_configurations_in_text_and_bytes():
    _, text, content, reload, _ = recorded()
    models = read_models(text, "text")
    assert models == models_of(message_class("ModelServerConfig").FromString(content), "bytes")
    assert models == models_of(message_class("ReloadConfigRequest").FromString(reload).config, "request")
    assert [(model.name, model.base_path, model.policy) for model in models] == [
        ("m", "/models/m", Policy(specific=frozenset({1, 12}))),
        ("n", "/models/n", Policy(latest=2)),
        ("o", "/models/o", Policy(latest=None)),
    ]
    assert models[0].labels == {"stable": 1, "canary": 12}


def test_logs_of_requests():
    log = message_class("PredictionLog").FromString(recorded()[4])
    assert log.WhichOneof("log_type") == "predict_log"
    inputs = inference.inputs_of(log.predict_log.request)
    assert inputs["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
