"""Exported models: their signatures, their modes, and that they compute what the Estimator does."""

import numpy as np
import pytest

import thalweg as tf
from tests.estimator.models import XS, YS, descended, estimator, linear, rows

Keys, Spec = tf.estimator.ModeKeys, tf.estimator.EstimatorSpec
Output = tf.estimator.export


def raw_receiver():
    return tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [5, 2], "x")})


def parsing_receiver():
    return tf.estimator.export.build_parsing_serving_input_receiver_fn({"x": tf.FixedLenFeature([2], tf.float32)})


def examples(values):
    return [
        tf.train.Example(
            features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))})
        ).SerializeToString()
        for row in values
    ]


@pytest.fixture
def trained(tmp_path):
    model = estimator(tmp_path / "model")
    model.train(rows(), steps=3)
    return model


def signatures(folder, tag="serve"):
    with tf.Graph().as_default(), tf.Session() as session:
        return tf.saved_model.loader.load(session, [tag], folder).signature_def


# -- exports ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_text", [False, True])
def test_an_export_predicts_as_the_estimator_does(tmp_path, trained, as_text):
    folder = trained.export_saved_model(str(tmp_path / "export"), raw_receiver(), as_text=as_text)
    assert isinstance(folder, bytes)
    assert [path.name.encode() for path in (tmp_path / "export").iterdir()] == [folder.split(b"/")[-1]]
    assert (tmp_path / "export" / folder.decode() / f"saved_model.pb{'txt' if as_text else ''}").exists()
    predictor = tf.contrib.predictor.from_saved_model(folder.decode())
    result = predictor({"x": XS})
    np.testing.assert_allclose(result["y"], XS @ descended(3), rtol=1e-5)
    np.testing.assert_allclose(result["sum"], XS.sum(1))
    predictor.session.close()


def test_an_export_can_parse_examples(tmp_path, trained):
    folder = trained.export_savedmodel(str(tmp_path / "export"), parsing_receiver())
    predictor = tf.contrib.predictor.from_saved_model(folder.decode())
    np.testing.assert_allclose(predictor({"examples": examples(XS)})["y"], XS @ descended(3), rtol=1e-5)
    predictor.session.close()


def test_exports_at_the_same_time_have_folders_of_their_own(tmp_path, trained):
    folders = {trained.export_saved_model(str(tmp_path / "export"), raw_receiver()) for _ in range(3)}
    assert len(folders) == 3
    assert all(path.name.isdecimal() for path in (tmp_path / "export").iterdir())


def test_an_export_takes_the_given_checkpoint_and_further_files(tmp_path):
    model = estimator(tmp_path / "model", save_checkpoints_steps=1)
    model.train(rows(), steps=3)
    (tmp_path / "words.txt").write_text("a b")
    folder = model.export_saved_model(
        str(tmp_path / "export"),
        raw_receiver(),
        assets_extra={"vocabulary/words.txt": str(tmp_path / "words.txt")},
        checkpoint_path=str(tmp_path / "model" / "model.ckpt-1"),
    )
    assert (tmp_path / folder.decode() / "assets.extra" / "vocabulary" / "words.txt").read_text() == "a b"
    predictor = tf.contrib.predictor.from_saved_model(folder.decode())
    np.testing.assert_allclose(predictor({"x": XS})["y"], XS @ descended(1), rtol=1e-5)
    predictor.session.close()


def test_all_modes_can_be_exported_together(tmp_path, trained):
    x, y = tf.placeholder(tf.float32, [None, 2], "x"), tf.placeholder(tf.float32, [None, 1], "y")
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn({"x": x}, y)
    functions = {Keys.TRAIN: supervised, Keys.EVAL: supervised, Keys.PREDICT: raw_receiver()}
    folder = trained.experimental_export_all_saved_models(str(tmp_path / "export"), functions).decode()
    (evaluating,) = signatures(folder, "eval").values()
    assert evaluating.method_name == "tensorflow/supervised/eval"
    assert set(evaluating.inputs) == {"x", "label"}
    assert set(evaluating.outputs) == {"loss", "predictions", "metrics/mae/value", "metrics/mae/update_op"}
    (training,) = signatures(folder, "train").values()
    assert training.method_name == "tensorflow/supervised/training"
    assert set(signatures(folder)) == {"serving_default"}
    with tf.Graph().as_default() as graph, tf.Session() as session:
        message = tf.saved_model.loader.load(session, ["train"], folder)
        signature = message.signature_def["train"]
        feeds = {signature.inputs["x"].name: XS[:3], signature.inputs["label"].name: YS[:3]}
        before = session.run(signature.outputs["loss"].name, feeds)
        session.run(graph.get_collection(tf.GraphKeys.TRAIN_OP), feeds)
        assert session.run(signature.outputs["loss"].name, feeds) < before
    with pytest.raises(ValueError, match="expected modes"):
        trained.experimental_export_all_saved_models(str(tmp_path / "other"), {"serve": raw_receiver()})
    with pytest.raises(ValueError, match="No valid modes"):
        trained.experimental_export_all_saved_models(str(tmp_path / "other"), {})


def test_only_a_trained_model_is_exported(tmp_path):
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        estimator(tmp_path).export_saved_model(str(tmp_path / "export"), raw_receiver())
    with pytest.raises(ValueError, match="input_receiver_fn must be defined"):
        estimator(tmp_path).export_saved_model(str(tmp_path / "export"), None)


def test_every_output_has_a_signature_if_its_inputs_suit(tmp_path):
    def model_fn(features, labels, mode):
        spec = linear(features, labels, mode, {"rate": 0.1})
        if mode != Keys.PREDICT:
            return spec
        y = spec.predictions["y"]
        outputs = {
            "serving_default": Output.RegressionOutput(y),
            "classes": Output.ClassificationOutput(scores=y, classes=tf.as_string(y)),
            "all": Output.PredictOutput({"y": y}),
        }
        return Spec(mode, predictions=spec.predictions, export_outputs=outputs)

    model = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    model.train(rows(), steps=1)
    parsed = signatures(model.export_saved_model(str(tmp_path / "parsed"), parsing_receiver()).decode())
    assert {key: signature.method_name.split("/")[-1] for key, signature in parsed.items()} == {
        "serving_default": "regress",
        "classes": "classify",
        "all": "predict",
    }
    # A regression and a classification take serialized examples alone.
    assert set(signatures(model.export_saved_model(str(tmp_path / "raw"), raw_receiver()).decode())) == {"all"}


def test_alternative_inputs_have_signatures_of_their_own(tmp_path, trained):
    def receive():
        x, flat = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None])
        features = {"x": x + tf.reshape(flat, [-1, 2]) * 0}
        return tf.estimator.export.ServingInputReceiver(features, {"x": x}, {"flat": {"values": flat}})

    found = signatures(trained.export_saved_model(str(tmp_path / "export"), receive).decode())
    assert set(found) == {"serving_default", "flat:serving_default"}
    assert set(found["flat:serving_default"].inputs) == {"values"}


def test_tables_and_assets_are_exported(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\nc\n")

    def model_fn(features, mode):
        table = tf.contrib.lookup.index_table_from_file(str(tmp_path / "words.txt"))
        ids = table.lookup(features["word"])
        if mode == Keys.PREDICT:
            return Spec(mode, predictions={"id": ids})
        update = tf.assign_add(tf.train.get_global_step(), 1)
        return Spec(mode, loss=tf.cast(tf.reduce_sum(ids), tf.float32), train_op=update)

    model = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    model.train(lambda: {"word": tf.constant(["b"])}, steps=1)
    spec = {"word": tf.placeholder(tf.string, [None])}
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(spec)
    folder = model.export_saved_model(str(tmp_path / "export"), receiver).decode()
    (tmp_path / "words.txt").unlink()
    predictor = tf.contrib.predictor.from_saved_model(folder)
    np.testing.assert_array_equal(predictor({"word": ["c", "a"]})["id"], [2, 0])
    predictor.session.close()


# -- receivers and outputs --------------------------------------------------------------------------------------------


def test_a_raw_receiver_has_an_open_or_a_given_batch_size():
    spec = {"x": tf.placeholder(tf.float32, [5, 2], "x"), "y": tf.placeholder(tf.int64, None, "y")}
    for size in (None, 7):
        with tf.Graph().as_default():
            receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(spec, size)()
        assert receiver.features is not spec
        assert receiver.receiver_tensors == receiver.features
        assert receiver.features["x"].shape.as_list() == [size, 2]
        assert receiver.features["y"].shape.ndims is None and receiver.features["y"].dtype == tf.int64


def test_a_parsing_receiver_has_the_batch_size_of_its_examples():
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        {"x": tf.FixedLenFeature([2], tf.float32)}, 4
    )()
    assert receiver.receiver_tensors["examples"].shape.as_list() == [4]
    assert receiver.receiver_tensors["examples"].name == "input_example_tensor:0"
    assert receiver.receiver_tensors_alternatives is None


def test_single_tensors_have_names_by_default():
    x = tf.placeholder(tf.float32, [None])
    receiver = tf.estimator.export.ServingInputReceiver(x, x)
    assert (receiver.features, receiver.receiver_tensors) == ({"feature": x}, {"input": x})
    alone = tf.estimator.export.TensorServingInputReceiver(x, x)
    assert (alone.features, alone.receiver_tensors) == (x, {"input": x})
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(x, x)()
    assert set(supervised.receiver_tensors) == {"feature", "label"}
    assert supervised.features.shape.as_list() == [None]


def test_wrong_receivers_are_refused():
    x = tf.placeholder(tf.float32, [None])
    Receiver = tf.estimator.export.ServingInputReceiver
    for arguments, words in [
        ((None, x), "features must be defined"),
        ((x, None), "receiver_tensors must be defined"),
        (({1: x}, x), "must be strings"),
        (({"x": 1.0}, x), "must be a Tensor"),
        ((x, {"x": 1.0}), "must be a Tensor"),
        ((x, x, [x]), "must be a dict"),
        ((x, x, {"a": {"b": 1.0}}), "must be a Tensor"),
    ]:
        with pytest.raises(ValueError, match=words):
            Receiver(*arguments)
    for features, words in ((None, "features must be defined"), ({"x": x}, "must be a Tensor")):
        with pytest.raises(ValueError, match=words):
            tf.estimator.export.TensorServingInputReceiver(features, x)
    with pytest.raises(ValueError, match="must differ"):
        tf.estimator.experimental.build_raw_supervised_input_receiver_fn({"x": x}, {"x": x})


def test_outputs_have_the_types_that_serving_needs():
    number, text, integer = tf.constant([1.0]), tf.constant(["a"]), tf.constant([1])
    assert Output.ClassificationOutput(scores=number).classes is None
    assert Output.ClassificationOutput(classes=text).scores is None
    assert Output.RegressionOutput(number).value is number
    assert Output.PredictOutput(number).outputs == {"output": number}
    for make, words in [
        (lambda: Output.ClassificationOutput(), "At least one"),
        (lambda: Output.ClassificationOutput(scores=integer), "scores"),
        (lambda: Output.ClassificationOutput(classes=number), "classes"),
        (lambda: Output.RegressionOutput(text), "value"),
        (lambda: Output.PredictOutput({1: number}), "keys must be strings"),
        (lambda: Output.PredictOutput({"a": 1.0}), "values must be Tensors"),
        (lambda: Output.RegressionOutput(number).as_signature_def({"a": number}), "single string Tensor"),
        (lambda: Output.ClassificationOutput(number).as_signature_def({"a": text, "b": text}), "single string Tensor"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(TypeError, match="as_signature_def"):
        Output.ExportOutput().as_signature_def({})


def test_an_evaluation_has_the_outputs_of_its_metrics():
    metric = (tf.constant(1.0), tf.no_op())
    output = Output.EvalOutput(loss=tf.constant(1.0), predictions={"y": tf.constant(2.0)}, metrics={"m": metric})
    signature = output.as_signature_def({"x": tf.placeholder(tf.float32)})
    assert set(signature.outputs) == {"loss", "predictions/y", "metrics/m/value", "metrics/m/update_op"}
    assert Output.EvalOutput(loss=tf.constant(1.0)).predictions is None
