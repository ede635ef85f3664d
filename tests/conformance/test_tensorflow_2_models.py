"""TensorFlow 2 saves models, and we serve them; recording keeps them for machines that have no TensorFlow."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from tests import children
from tests.conformance.recorded import RECORD
from tests.conformance.tensorflow import PYTHON, environment, needs_tensorflow
from tests.deploy.saved_model.tensorflow_2 import FIXTURES, MODELS, assert_served

pytestmark = [needs_tensorflow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    program = Path(__file__).with_name("tensorflow_2_models.py")
    children.run([PYTHON, "-P", program, folder], timeout=300, env=environment())
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_models_are_served(saved, name):
    assert_served(saved, name)
    if RECORD:
        FIXTURES.mkdir(exist_ok=True)
        (FIXTURES / f"{name}.tar.gz").write_bytes(_archive(saved, name))


def _archive(folder, name):
    """Returns a model and its calls as one file without the times and owners of files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in sorted([*(folder / name).rglob("*"), folder / f"{name}.npz"]):
            if path.is_file() and path.name != "fingerprint.pb":
                member = tarfile.TarInfo(str(path.relative_to(folder)))
                member.size = path.stat().st_size
                archive.addfile(member, io.BytesIO(path.read_bytes()))
    return gzip.compress(content.getvalue(), mtime=0)
