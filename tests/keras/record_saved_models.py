"""Writes SavedModels of the real Keras 2, with what it gives after them: python record_saved_models.py FOLDER."""

import gzip
import io
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tf_keras as keras
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from tests.keras.saved_models import MODELS, losses_of, outputs_of, trained


def archive(folder):
    """Returns the files of a folder as one, without their times and owners."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "fingerprint.pb":
                member = tarfile.TarInfo(str(path.relative_to(folder.parent)))
                member.size = path.stat().st_size
                made.addfile(member, io.BytesIO(path.read_bytes()))
    return gzip.compress(content.getvalue(), mtime=0)


def without_graph(folder):
    """Drops the graph of a SavedModel, which is large for recurrent layers and which a model is not read from."""
    path = folder / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for meta_graph in message.meta_graphs:
        meta_graph.ClearField("graph_def")
    path.write_bytes(message.SerializeToString(deterministic=True))


def main(folder):
    for name in MODELS:
        keras.backend.clear_session()
        model = trained(keras, name)
        with tempfile.TemporaryDirectory() as place:
            model.save(f"{place}/{name}", save_format="tf")
            if name == "texts":
                without_graph(Path(place) / name)
            (folder / f"{name}.tar.gz").write_bytes(archive(Path(place) / name))
        numbers = {"outputs": outputs_of(model, name), "continued": losses_of(model, name)}
        (folder / f"{name}.json").write_text(json.dumps(numbers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
