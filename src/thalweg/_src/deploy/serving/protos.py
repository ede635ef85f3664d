"""Messages of TensorFlow Serving, with its names and field numbers, so that its clients and files are understood.

They are described in a descriptor pool of our own, and coexist with those of an installed TensorFlow Serving.
"""

from __future__ import annotations

import functools
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.formats.graph_messages import tensorflow_pool
from thalweg._src.base.formats.message_types import Message

PACKAGE = "tensorflow.serving"
_FILE = "thalweg/serving/serving.proto"

# A message per paragraph: its name, then its fields as type, name and number; `*` marks repeated fields, `{}` maps from
# strings, and a fourth word the oneof that a field belongs to. Types with a dot in front are of other packages.
# Examples are taken as their bytes, as signatures take them.
_MESSAGES = """
ModelSpec
string name 1
.google.protobuf.Int64Value version 2 version_choice
string version_label 4 version_choice
string signature_name 3

StatusProto
Code error_code 1
string error_message 2

PredictRequest
ModelSpec model_spec 1
.tensorflow.TensorProto{} inputs 2
string* output_filter 3

PredictResponse
.tensorflow.TensorProto{} outputs 1
ModelSpec model_spec 2

ExampleList
bytes* examples 1

ExampleListWithContext
bytes* examples 1
bytes context 2

Input
ExampleList example_list 1 kind
ExampleListWithContext example_list_with_context 2 kind

Class
string label 1
float score 2

Classifications
Class* classes 1

ClassificationResult
Classifications* classifications 1

ClassificationRequest
ModelSpec model_spec 1
Input input 2

ClassificationResponse
ClassificationResult result 1
ModelSpec model_spec 2

Regression
float value 1

RegressionResult
Regression* regressions 1

RegressionRequest
ModelSpec model_spec 1
Input input 2

RegressionResponse
RegressionResult result 1
ModelSpec model_spec 2

InferenceTask
ModelSpec model_spec 1
string method_name 2

InferenceResult
ModelSpec model_spec 1
ClassificationResult classification_result 2 result
RegressionResult regression_result 3 result

MultiInferenceRequest
InferenceTask* tasks 1
Input input 2

MultiInferenceResponse
InferenceResult* results 1

SignatureDefMap
.tensorflow.SignatureDef{} signature_def 1

GetModelMetadataRequest
ModelSpec model_spec 1
string* metadata_field 2

GetModelMetadataResponse
ModelSpec model_spec 1
.google.protobuf.Any{} metadata 2

GetModelStatusRequest
ModelSpec model_spec 1

ModelVersionStatus
int64 version 1
ModelVersionStatus.State state 2
StatusProto status 3

GetModelStatusResponse
ModelVersionStatus* model_version_status 1

FileSystemStoragePathSourceConfig

FileSystemStoragePathSourceConfig.ServableVersionPolicy
FileSystemStoragePathSourceConfig.ServableVersionPolicy.Latest latest 100 policy_choice
FileSystemStoragePathSourceConfig.ServableVersionPolicy.All all 101 policy_choice
FileSystemStoragePathSourceConfig.ServableVersionPolicy.Specific specific 102 policy_choice

FileSystemStoragePathSourceConfig.ServableVersionPolicy.Latest
uint32 num_versions 1

FileSystemStoragePathSourceConfig.ServableVersionPolicy.All

FileSystemStoragePathSourceConfig.ServableVersionPolicy.Specific
int64* versions 1

LogCollectorConfig
string type 1
string filename_prefix 2

SamplingConfig
double sampling_rate 1

LoggingConfig
LogCollectorConfig log_collector_config 1
SamplingConfig sampling_config 2

ModelConfig
string name 1
string base_path 2
ModelType model_type 3
string model_platform 4
LoggingConfig logging_config 6
FileSystemStoragePathSourceConfig.ServableVersionPolicy model_version_policy 7
int64{} version_labels 8

ModelConfigList
ModelConfig* config 1

ModelServerConfig
ModelConfigList model_config_list 1 config
.google.protobuf.Any custom_model_config 2 config

Metric
string name 1
int64 int64_value_increase 2 value_increase

ReloadConfigRequest
ModelServerConfig config 1
string* metric_names 2

ReloadConfigResponse
StatusProto status 1
Metric* metric 2

BatchingParameters
.google.protobuf.Int64Value max_batch_size 1
.google.protobuf.Int64Value batch_timeout_micros 2
.google.protobuf.Int64Value max_enqueued_batches 3
.google.protobuf.Int64Value num_batch_threads 4
.google.protobuf.StringValue thread_pool_name 5
int64* allowed_batch_sizes 6
bool pad_variable_length_inputs 7
.google.protobuf.BoolValue enable_large_batch_splitting 8
.google.protobuf.Int64Value max_execution_batch_size 9

PrometheusConfig
bool enable 1
string path 2

MonitoringConfig
PrometheusConfig prometheus_config 1

ClassifyLog
ClassificationRequest request 1

RegressLog
RegressionRequest request 1

PredictLog
PredictRequest request 1

MultiInferenceLog
MultiInferenceRequest request 1

PredictionLog
ClassifyLog classify_log 2 log_type
RegressLog regress_log 3 log_type
MultiInferenceLog multi_inference_log 4 log_type
PredictLog predict_log 6 log_type

HealthCheckRequest
string service 1

HealthCheckResponse
int32 status 1
"""
_ENUMS = {
    "ModelVersionStatus.State": {"UNKNOWN": 0, "START": 10, "LOADING": 20, "AVAILABLE": 30, "UNLOADING": 40, "END": 50},
    "Code": {name: code for name, code in vars(errors).items() if name.isupper() and isinstance(code, int)},
    "ModelType": {"MODEL_TYPE_UNSPECIFIED": 0, "TENSORFLOW": 1, "OTHER": 2},
}


@functools.cache
def message_class(name: str) -> Any:
    """Returns the class of a message of TensorFlow Serving."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@functools.cache
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, wrappers_pb2
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    pool = tensorflow_pool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package=PACKAGE, syntax="proto3")
    graph, tensor = MetaGraphDef.DESCRIPTOR.file.name, "tensorboard/compat/proto/tensor.proto"
    file.dependency.extend([graph, tensor, "google/protobuf/any.proto", wrappers_pb2.DESCRIPTOR.name])
    for paragraph in _MESSAGES.strip().split("\n\n"):
        name, *fields = paragraph.splitlines()
        message = _nested(file, name)
        for field in fields:
            _add_field(message, name, field.split())
    for name, values in _ENUMS.items():
        owner, _, short = name.rpartition(".")
        enum = (_nested(file, owner) if owner else file).enum_type.add(name=short)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _nested(file: Message, name: str) -> Any:
    """Returns the description of a message, which is added to the one that it is nested in, unless it is there."""
    owner, _, short = name.rpartition(".")
    siblings = _nested(file, owner).nested_type if owner else file.message_type
    return next((message for message in siblings if message.name == short), None) or siblings.add(name=short)


def _add_field(message: Message, owner: str, words: list[str]) -> None:
    kind, name, number, *oneof = words
    field = message.field.add(name=name, number=int(number), json_name=name)
    field.label = field.LABEL_OPTIONAL if kind[-1] not in "*}" else field.LABEL_REPEATED
    if kind.endswith("{}"):
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add_field(entry, "", ["string", "key", "1"])
        _add_field(entry, "", [kind.removesuffix("{}"), "value", "2"])
        kind = f"{owner}.{entry.name}"
    _set_type(field, kind.rstrip("*"))
    if oneof:
        oneofs = [declaration.name for declaration in message.oneof_decl]
        if oneof[0] not in oneofs:
            message.oneof_decl.add(name=oneof[0])
        field.oneof_index = (*oneofs, oneof[0]).index(oneof[0])


def _set_type(field: Message, kind: str) -> None:
    if kind.islower() and "." not in kind:
        field.type = field.Type.Value(f"TYPE_{kind.upper()}")
    else:
        field.type = field.TYPE_ENUM if kind in _ENUMS else field.TYPE_MESSAGE
        field.type_name = kind if kind.startswith(".") else f".{PACKAGE}.{kind}"
