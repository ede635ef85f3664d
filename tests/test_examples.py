"""The examples run, with small settings, and learn what they set out to learn."""

import importlib
import pathlib
import re
import sys

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import run_script

FOLDER = pathlib.Path(__file__).parent.parent / "examples"


@pytest.fixture
def example(monkeypatch):
    """Imports an example by its name, from the folder in which `python examples/name.py` finds its neighbours."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def test_softmax_regression(example, capsys):
    result = example("softmax_regression").main(["--steps", "500"])
    assert result["accuracy"] > 0.93 and result["mistakes"] < 25
    assert "held-out images: 9" in capsys.readouterr().out


def test_classical_models(example, capsys):
    result = example("classical_models").main(["--steps", "150"])
    assert result["logistic"] > 0.95 and result["svm"] > 0.95 and result["agreement"] > 0.95
    assert 5 < result["support"] < 100  # a few examples decide where the boundary lies
    assert "linear SVM looks at" in capsys.readouterr().out


def test_autoencoder(example, capsys):
    result = example("autoencoder").main(["--steps", "800"])
    assert result["error"] < 0.75 * result["linear"]
    assert "64 pixels from 6 numbers" in capsys.readouterr().out


def test_gan_learns_both_modes(example, capsys):
    result = example("gan").main(["--steps", "800"])
    assert 0.25 < result["share"] < 0.75
    assert result["means"] == pytest.approx([-2, 2], abs=0.7)
    assert result["deviations"] == pytest.approx([0.4, 0.4], abs=0.35)
    assert "generated:" in capsys.readouterr().out


def test_policy_gradient(example, capsys):
    result = example("policy_gradient").main(["--steps", "40"])
    assert result["first"] < 40 and result["final"] > 120
    assert "in 50 new ones" in capsys.readouterr().out


def test_dqn(example, capsys):
    result = example("dqn").main(["--steps", "8"])
    assert result["found"] > 0.8 and result["shortest"] > 0.8
    assert "the mouse finds the cheese from 2" in capsys.readouterr().out


def test_char_rnn(example, capsys):
    result = example("char_rnn").main(["--steps", "600"])
    assert result["loss"] < 0.2 * result["guess"]
    assert result["right"] > 0.85 and result["long"] > 0.85  # whatever the seed: a GPU draws other numbers
    assert re.search(r"^(a|two|three|some) \w+ .*[.]$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.slow
def test_translate(example, capsys):
    result = example("translate").main(["--steps", "180"])
    assert result["right"] > 0.9
    assert result["both"] > 0.4
    assert "of 500 new dates are right" in capsys.readouterr().out


def test_word2vec(example, capsys):
    result = example("word2vec").main(["--steps", "700", "--sentences", "1000"])
    assert result["right"] > 0.8
    assert result["sparse"] and result["rows"][0] <= 8
    assert "wolf  is like" in capsys.readouterr().out


def test_wide_embedding(example, capsys):
    result = example("wide_embedding").main(["--steps", "300", "--size", "300"])
    assert result["explained"] > 0.8
    assert result["difference"] < 1e-6
    assert len(result["touched"]) == 4 and 16 < sum(result["touched"]) <= 32
    assert "CPU:0, CPU:1, CPU:2, CPU:3" in capsys.readouterr().out
    lookups = [op for op in tf.get_default_graph().get_operations() if re.fullmatch(r"Gather(_\d)?", op.name)]
    assert len({op.colocation_groups()[0] for op in lookups}) == 4


def seen_at_once(example, build):
    """Traces steps until devices are seen at work at the same time; other processes may keep them from it."""
    work = example("devices_at_work")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 64])
        labels = tf.placeholder(tf.int64, [64])
        _, step = build(x, labels)
        feeds = {x: np.ones([64, 64]), labels: np.arange(64) % 10}
        with tf.Session(config=work.virtual_devices(2)) as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(50):
                times = work.trace(sess, step, feeds)
                if work.at_once(times):
                    return times
    return []


def test_data_parallel(example, capsys):
    result = example("data_parallel").main(["--steps", "60", "--towers", "4"])
    assert result["difference"] < 1e-5  # as on one device
    assert result["accuracy"] > 0.85
    assert re.search(r"CPU:3 [#.]{72}\n", capsys.readouterr().out)


def test_mirrored(example, capsys):
    result = example("mirrored").main(["--steps", "50"])
    assert result["difference"] < 1e-5
    assert result["accuracy"] > 0.8
    assert "devices: /replica:0/task:0/device:" in capsys.readouterr().out


def test_towers_run_concurrently(example):
    times = seen_at_once(example, lambda x, labels: example("data_parallel").training(x, labels, 2))
    assert {device for device, *_, name in times if "tower0" in name} == {"CPU:0"}
    assert "CPU:1" in {device for device, *_, name in times if "tower1" in name}


def test_model_parallel(example, capsys):
    result = example("model_parallel").main(["--steps", "120", "--stages", "4"])
    assert result["difference"] < 1e-5
    assert result["accuracy"] > 0.8
    assert re.search(r"CPU:3 [#.]{72}\n", capsys.readouterr().out)


def test_micro_batches_are_pipelined(example):
    pipeline = example("model_parallel")
    times = seen_at_once(example, lambda x, labels: pipeline.training(x, labels, 2, 4, 256))
    assert times, "stages never worked at the same time"
    products = {(device, name.split("/")[0]) for device, *_, name in times if re.search(r"model(_\d)?/layer", name)}
    assert {(f"CPU:{stage}", f"piece{piece}") for stage in range(2) for piece in range(4)} <= products


def test_replicas_alone(example, capsys):
    result = example("replicas").main(["--steps", "300"])
    assert result["accuracy"] > 0.85 and result["own"] == result["steps"] == 300
    assert "worker 0 made 300 of 300 steps" in capsys.readouterr().out


def test_replicas_share_the_steps():
    written = run_script([sys.executable, FOLDER / "replicas.py", "--steps", "400"], ps=2, worker=2)
    own = [int(re.search(r"made (\d+) of 40\d steps", text)[1]) for text in written]
    assert 400 <= sum(own) <= 401
    assert all(float(re.search(r"images: ([\d.]+)%", text)[1]) > 85 for text in written)


@pytest.mark.parametrize("softmax", ["full", "sampled"])
def test_language_model_learns(softmax, example):
    arguments = ["--softmax", softmax, "--words", "100", "--size", "32", "--steps", "150", "--samples", "20"]
    assert example("language_model").main(arguments)["perplexity"] < 30  # of 100 words, of which 8 are possible


def test_a_sharded_softmax_is_a_softmax(example):
    parts = [tf.random_normal([rows, 5], seed=rows) for rows in (3, 4, 2)]
    biases = [tf.random_normal([rows], seed=rows) for rows in (3, 4, 2)]
    hidden, labels = tf.random_normal([6, 5], seed=1), tf.constant([0, 2, 3, 6, 7, 8])
    received = example("language_model").sharded_softmax_loss(parts, biases, labels, hidden)
    logits = tf.matmul(hidden, tf.concat(parts, 0), transpose_b=True) + tf.concat(biases, 0)
    expected = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    with tf.Session() as session:
        np.testing.assert_allclose(*session.run([received, expected]), rtol=1e-5)


def test_indivisible_batches_are_rejected(example, capsys):
    options = (("data_parallel", "--towers"), ("mirrored", "--replicas"), ("model_parallel", "--pieces"))
    for name, option in options:
        with pytest.raises(SystemExit):
            example(name).main(["--batch", "10", option, "3"])
        assert "cannot be cut into 3 equal" in capsys.readouterr().err


IMAGE_NETWORKS = {
    "alexnet": (["--steps", "80", "--width", "0.125", "--classes", "3"], 0.7),
    "resnet18": (["--steps", "30", "--width", "0.125", "--classes", "4"], 0.8),
    "inception_v3": (["--steps", "40", "--width", "0.0625", "--classes", "3", "--batch", "24"], 0.6),
}


@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_image_network_learns(name, example, capsys):
    arguments, bar = IMAGE_NETWORKS[name]
    assert example(name).main(arguments)["accuracy"] > bar
    assert "parameters in" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, size, parameters",
    [("alexnet", 227, 60_965_224), ("resnet18", 224, 11_689_512), ("inception_v3", 299, 27_161_264)],
)
def test_image_network_has_the_published_parameter_count(name, size, parameters, example):
    """The counts are those of the networks as published, with 1,000 classes."""
    images = tf.placeholder(tf.float32, [None, size, size, 3])
    logits = getattr(example(name), name)(images)
    for head in logits if isinstance(logits, tuple) else (logits,):
        assert head.shape.as_list() == [None, 1000]
    assert example("image_training").parameters() == parameters


def test_grids_of_inception_v3(example):
    example("inception_v3").inception_v3(tf.placeholder(tf.float32, [8, 299, 299, 3]))
    operations = tf.get_default_graph().get_operations()
    joined = {op.name.split("/")[0]: op.outputs[0].shape.as_list()[1:] for op in operations if op.type == "ConcatV2"}
    assert joined["module_a3"] == [35, 35, 288]
    assert joined["module_b4"] == [17, 17, 768]
    assert joined["reduction_b"] == [8, 8, 1280]
    assert joined["module_c2"] == [8, 8, 2048]


def test_groups_of_alexnet_are_optional(example):
    example("alexnet").alexnet(tf.placeholder(tf.float32, [None, 227, 227, 3]), groups=1)
    kernels = {v.op.name: v.shape.as_list() for v in tf.trainable_variables()}
    assert kernels["conv2/group0/kernel"] == [5, 5, 96, 256]


def test_images_that_are_too_small_are_rejected(example, capsys):
    with pytest.raises(SystemExit):
        example("inception_v3").main(["--size", "60"])
    assert "at least 75 x 75" in capsys.readouterr().err


def test_examples_are_deterministic(example):
    results = []
    for _ in range(2):
        with tf.Graph().as_default():
            results.append(example("resnet18").main(["--steps", "2", "--width", "0.125", "--size", "16"]))
    assert results[0] == results[1]


SHARED = ("devices_at_work", "image_training")


def test_the_table_lists_every_example():
    listed = re.findall(r"^\| \[(\w+)\.py\]", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)
