"""Calls of TensorFlow Serving's own client to a server at an address, for the Python of TensorFlow.

Prints, as JSON, the bytes of requests and responses, of texts that its messages were parsed from, and of a log of
requests for warm-up.
"""

import base64
import json
import sys

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)
from tensorflow_serving.config import model_server_config_pb2

CONFIG = """
model_config_list {
  config {
    name: "m" base_path: "/models/m" model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 versions: 12 } }
    version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 12 }
  }
  config { name: "n" base_path: "/models/n" model_type: TENSORFLOW model_version_policy { latest { num_versions: 2 } } }
  config { name: "o" base_path: "/models/o" model_version_policy { all { } } }
}
"""


def example(*values):
    """Returns an Example with the feature that the model reads."""
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Example(features=tf.train.Features(feature={"x": feature}))


def requests():
    """Yields requests, with the name of their method."""
    predict = predict_pb2.PredictRequest()
    predict.model_spec.name = "m"
    predict.inputs["x"].CopyFrom(tf.make_tensor_proto(np.arange(6, dtype=np.float32).reshape(2, 3)))
    yield "Predict", predict
    two = predict_pb2.PredictRequest(output_filter=["words"])
    two.model_spec.name, two.model_spec.signature_name = "m", "two"
    two.model_spec.version.value = 1
    two.inputs["a"].CopyFrom(tf.make_tensor_proto([[1.0, 2.0, 3.0]]))
    two.inputs["b"].CopyFrom(tf.make_tensor_proto([b"\x00\xff"]))
    yield "Predict", two
    classify = classification_pb2.ClassificationRequest()
    classify.model_spec.name, classify.model_spec.signature_name = "m", "classify"
    classify.input.example_list.examples.extend([example(1, 2, 3), example(0, 0, 1)])
    yield "Classify", classify
    regress = regression_pb2.RegressionRequest()
    regress.model_spec.name, regress.model_spec.signature_name = "m", "regress"
    regress.input.example_list_with_context.context.CopyFrom(example(1, 2, 3))
    regress.input.example_list_with_context.examples.extend([tf.train.Example(), example(0, 0, 1)])
    yield "Regress", regress
    several = inference_pb2.MultiInferenceRequest(input=classify.input)
    for key in ("classify", "regress"):
        task = several.tasks.add(method_name=f"tensorflow/serving/{key}")
        task.model_spec.name, task.model_spec.signature_name = "m", key
    yield "MultiInference", several
    metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    metadata.model_spec.name = "m"
    yield "GetModelMetadata", metadata
    status = get_model_status_pb2.GetModelStatusRequest()
    status.model_spec.name = "m"
    yield "GetModelStatus", status


def encoded(message):
    return base64.b64encode(message.SerializeToString(deterministic=True)).decode()


def warmup(predict):
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(predict)
    return encoded(log)


def main(address):
    calls = []
    with grpc.insecure_channel(address) as channel:
        prediction = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        model = model_service_pb2_grpc.ModelServiceStub(channel)
        for name, request in requests():
            stub = model if name == "GetModelStatus" else prediction
            response = getattr(stub, name)(request, timeout=60)
            calls.append([name, encoded(request), type(response).__name__, encoded(response)])
            if name == "Predict":
                arrays = {key: tf.make_ndarray(tensor).tolist() for key, tensor in response.outputs.items()}
                calls[-1].append(repr(arrays))
            if name == "GetModelMetadata":
                found = get_model_metadata_pb2.SignatureDefMap()
                assert response.metadata["signature_def"].Unpack(found)
                assert found.signature_def["two"].inputs["b"].dtype == tf.string.as_datatype_enum
    config = text_format.Parse(CONFIG, model_server_config_pb2.ModelServerConfig())
    reload = model_management_pb2.ReloadConfigRequest(config=config)
    first = next(request for _, request in requests())
    kept = {"text": CONFIG, "config": encoded(config), "reload": encoded(reload), "log": warmup(first)}
    print(json.dumps({"calls": calls, **kept}, indent=1))


main(sys.argv[1])
