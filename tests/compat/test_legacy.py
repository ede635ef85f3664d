"""Names and behaviours that Python and its packages have removed, restored in processes of their own."""

import sys

import numpy as np
import pytest

from tests import children
from thalweg._src.compat import imp_module, legacy, pkg_resources_module, scipy_images


def run(program, folder, check=True, options=("--legacy",)):
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "thalweg", "run", *options, "program.py"]
    return children.run(command, cwd=folder, env=children.environment(), check=check, forked=True)


def test_removed_names_of_python_are_restored(tmp_path):
    run(
        """
import base64, cgi, collections, fractions, inspect, os, threading, time, unittest
from collections import Mapping
import xml.etree.cElementTree as elements

assert isinstance({}, Mapping) and isinstance([], collections.Sequence) and fractions.gcd(12, 18) == 6
assert inspect.getargspec(lambda a, b=2, *c, **d: 0) == (["a", "b"], "c", "d", (2,))
assert time.clock() > 0 and os.errno.EEXIST == 17 and cgi.escape("<") == "&lt;"
assert base64.decodestring(base64.encodestring(b"x")) == b"x"
assert not threading.Thread().isAlive() and elements.fromstring("<a/>").tag == "a"
unittest.TestCase().assertItemsEqual([1, 2], [2, 1])
unittest.TestCase().assertEquals(1, 1)
""",
        tmp_path,
    )


def test_removed_names_of_numpy_are_restored(tmp_path):
    run(
        """
import sys
import numpy as np
from thalweg._src.compat.legacy import REMOVED

for name in REMOVED["numpy"]:
    value = np
    for part in name.split("."):
        value = getattr(value, part)
assert np.int is int and np.float is float and np.object is object and np.zeros(2, np.bool).dtype == bool
assert np.isnan(np.NaN) and np.Inf == -np.NINF and np.float_ is np.float64 and np.product([2, 3]) == 6
assert np.asscalar(np.array([3])) == 3 and np.in1d([[1], [2]], [2]).tolist() == [False, True]
assert np.lib.pad([1], 1, "constant").tolist() == [0, 1, 0] and np.sctypes["float"][0] is np.float16
assert len(np.sctypes.values()) == 5
assert np.cast["int32"](1.5) == 1 and np.asfarray([1]).dtype == float and np.rank([[1]]) == 2
array = np.array([1, 5], np.uint8)
assert array.tostring() == b"\\1\\5" and np.uint8(7).tostring() == b"\\7" and array.ptp() == 4
array.itemset(0, 3)
array.itemset((1,), 4)
assert array.tolist() == [3, 4] and np.array([1], "<u2").newbyteorder()[0] == 256
np.array(2).itemset(3)
assert np.fromstring(b"\\1\\2", np.uint8).tolist() == [1, 2] and np.fromstring("1,2", sep=",").sum() == 3
np.fromstring(b"\\1", np.uint8)[0] = 2
assert np.array([1, 2], dtype=np.float32, copy=False).dtype == np.float32
assert np.array(array, copy=False) is array and np.array([[1, 2], [3]]).dtype == object
assert np.asarray([[1, 2], [3]]).tolist() == [[1, 2], [3]]
try:
    np.array([[1, 2], [3]], dtype=np.int32)
except ValueError:
    pass
else:
    raise AssertionError
""",
        tmp_path,
    )


def test_removed_names_of_packages_are_restored_when_they_are_imported(tmp_path):
    run(
        """
import sys
assert not [name for name in ("scipy", "sklearn", "yaml") if name in sys.modules]
import numpy as np, scipy.misc, scipy.integrate, scipy.signal, yaml
from scipy.misc import imread, imresize, imsave, logsumexp, toimage
from sklearn.cross_validation import train_test_split
from sklearn.externals import joblib
from sklearn.externals.joblib import dump
from sklearn.decomposition.base import BaseEstimator
from scipy.sparse.linalg.eigen.arpack import eigsh
from matplotlib.cm import get_cmap
from PIL import Image, ImageDraw, ImageFont
import sklearn.model_selection, importlib.resources

imsave("image.png", np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
assert imread("image.png").tolist() == np.arange(48).reshape(4, 4, 3).tolist()
assert imresize(scipy.misc.imread("image.png"), (2, 6)).shape == (2, 6, 3) and logsumexp([0.0]) == 0
assert scipy.integrate.trapz([1, 1]) == 1 and len(scipy.signal.hanning(5)) == 5
assert train_test_split is sklearn.model_selection.train_test_split and joblib.dump is dump
assert yaml.load("a: 1") == {"a": 1} and yaml.load("a: 1", Loader=yaml.SafeLoader) == {"a": 1}
assert eigsh is scipy.sparse.linalg.eigsh and get_cmap("gray").N == 256
assert Image.ANTIALIAS == Image.LANCZOS
font = ImageFont.load_default()
width, height = font.getsize("word")
assert width > height > 0 and ImageDraw.Draw(Image.new("L", (9, 9))).textsize("word", font)[0] == width
assert yaml.__spec__.loader is yaml.__loader__ and yaml.__loader__.get_source("yaml")
assert importlib.resources.files("sklearn").joinpath("__init__.py").is_file()
""",
        tmp_path,
    )


def test_summaries_of_tensorboard_are_written_by_events_of_this_package(tmp_path):
    run(
        """
from tensorboard import summary
from tensorboard.plugins.custom_scalar import layout_pb2

layout = summary.custom_scalar_pb(layout_pb2.Layout(category=[layout_pb2.Category(title="losses")]))
import tensorflow as tf

assert isinstance(layout, tf.Summary) and b"losses" in layout.value[0].tensor.string_val[0]
assert summary.scalar_pb("loss", 0.5).value[0].tag == "loss/scalar_summary"
""",
        tmp_path,
    )


def test_processes_of_a_program_have_the_names_without_torch(tmp_path):
    (tmp_path / "child.py").write_text(
        "import sys, numpy as np\nassert np.int is int and 'torch' not in sys.modules\n"
        "array = np.array\nimport tensorflow as tf\nassert tf.__name__ == 'thalweg' and np.array is array\n"
        "print('child')\n"
    )
    program = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)\n"
    assert run(program, tmp_path).stdout == "child\n"


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import numpy; numpy.float(1)", "numpy.float was removed"),
        ("import numpy; numpy.float_(1)", "numpy.float_ was removed"),
        ("import numpy; numpy.zeros(1).tostring()", "numpy.ndarray.tostring was removed"),
        ("from collections import Mapping", "collections.Mapping was removed"),
        ("from scipy.misc import imread", "scipy.misc.imread was removed"),
        ("import sklearn.cross_validation", "sklearn.cross_validation was removed"),
        ("import threading; threading.Thread().isAlive()", "threading.Thread.isAlive was removed"),
        ("import yaml; yaml.load('a: 1')", "--legacy"),
        ("raise ModuleNotFoundError('No module', name='six.moves')", "six.moves came with TensorFlow"),
        ("import numpy; float(numpy.zeros(1))", "thalweg[legacy]"),
    ],
)
def test_removed_names_are_explained(statement, name):
    try:
        exec(statement, {})
    except Exception as error:
        assert name in legacy.hint(error)
    else:
        pytest.skip("the version that is installed still has it")


@pytest.mark.parametrize("error", [AttributeError("x"), ValueError(3), ImportError("y"), KeyError()])
def test_other_errors_have_no_hint(error):
    assert legacy.hint(error) is None
    with pytest.raises(AttributeError) as caught:
        _ = np.nothing
    assert legacy.hint(caught.value) is None


def test_a_program_ends_with_the_hint(tmp_path):
    done = run("import numpy as np\nnp.float(1)\n", tmp_path, check=False, options=())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("hint: numpy.float was removed; `thalweg run --legacy`")


def test_images_are_scaled_to_bytes():
    assert scipy_images.bytescale(np.array([[-1.0, 0.0], [0.5, 1.0]])).tolist() == [[0, 128], [191, 255]]
    assert scipy_images.bytescale(np.array([0.0, 2.0]), cmin=0, cmax=4, high=100).tolist() == [0, 50]
    assert scipy_images.bytescale(np.array([3.0, 3.0])).tolist() == [0, 0]
    assert scipy_images.toimage(np.zeros((4, 5, 3), np.uint8)).size == (5, 4)
    assert scipy_images.toimage(np.zeros((3, 4, 5), np.uint8)).size == (5, 4)
    assert scipy_images.toimage(np.zeros((4, 5, 4))).mode == "RGBA"
    assert scipy_images.fromimage(scipy_images.toimage(np.eye(2), mode="F")).tolist() == [[1, 0], [0, 1]]
    assert scipy_images.fromimage(scipy_images.toimage(np.eye(2), mode="1")).tolist() == [[255, 0], [0, 255]]
    with pytest.raises(ValueError, match="suitable array shape"):
        scipy_images.toimage(np.zeros((5, 5, 2)))


def test_images_are_resized_by_percent_factor_or_size():
    image = np.arange(48, dtype=np.uint8).reshape(4, 12)
    assert scipy_images.imresize(image, 50).shape == (2, 6)
    assert scipy_images.imresize(image, 2.0).shape == (8, 24)
    assert scipy_images.imresize(image, (3, 5), interp="nearest").shape == (3, 5)
    assert scipy_images.imresize(image.astype(np.float32), 100).max() == 255
    assert scipy_images.imrotate(image[:, :4], 90).tolist() == np.rot90(image[:, :4]).tolist()


def test_versions_and_files_of_packages(tmp_path):
    with pytest.raises(pkg_resources_module.DistributionNotFound):
        pkg_resources_module.get_distribution("no-such-package")
    found = pkg_resources_module.get_distribution("numpy")
    assert found.version == np.__version__ and found.parsed_version > pkg_resources_module.parse_version("1.9")
    assert pkg_resources_module.resource_exists("thalweg", "_src/base/export.py")
    assert not pkg_resources_module.resource_exists("thalweg", "nothing")
    path = pkg_resources_module.resource_filename("thalweg", "_src/base/export.py")
    with open(path, "rb") as file, pkg_resources_module.resource_stream("thalweg", "_src/base/export.py") as stream:
        assert file.read() == stream.read() == pkg_resources_module.resource_string("thalweg", "_src/base/export.py")
    entries = pkg_resources_module.iter_entry_points("console_scripts", "pytest")
    assert [entry.name for entry in entries] == ["pytest"]
    legacy_module = run(
        "import pkg_resources; print(pkg_resources.parse_version('1.15') < pkg_resources.parse_version('2'))", tmp_path
    )
    assert legacy_module.stdout == "True\n"


def test_modules_are_loaded_from_files(tmp_path):
    (tmp_path / "settings.txt").write_text("value = 3\n")
    try:
        assert imp_module.load_source("loaded_settings", str(tmp_path / "settings.txt")).value == 3
        assert sys.modules["loaded_settings"].value == 3 and imp_module.new_module("empty").__name__ == "empty"
    finally:
        del sys.modules["loaded_settings"]
