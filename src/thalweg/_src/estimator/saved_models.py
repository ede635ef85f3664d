"""Export of an Estimator: its model in one or several modes as a SavedModel in a folder named by the time."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.formats.text import PathLike
from thalweg._src.deploy.saved_model.files import EVAL, SERVING, TRAINING
from thalweg._src.deploy.saved_model.saved_model import SavedModelBuilder
from thalweg._src.deploy.saved_model.signatures import is_valid_signature
from thalweg._src.estimator.estimator_like import EstimatorLike
from thalweg._src.estimator.export_outputs import EvalOutput, ExportOutput, TrainOutput, signature_defs
from thalweg._src.estimator.spec import MODES, EstimatorSpec
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection
from thalweg._src.graph.seeds import set_random_seed
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.checkpoint.saver import Saver
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.scaffold import Scaffold

TAGS = {ModeKeys.PREDICT: SERVING, ModeKeys.TRAIN: TRAINING, ModeKeys.EVAL: EVAL}
_EXTRA_FOLDER = "assets.extra"


def export_all(
    estimator: EstimatorLike,
    export_dir_base: PathLike,
    input_receiver_fns: Mapping[str, Callable[[], Any]],
    assets_extra: Mapping[str, Any] | None,
    as_text: bool,
    checkpoint_path: PathLike | None,
    strip_default_attrs: bool = True,
) -> bytes:
    """Exports a model in the modes for which there are functions that make receivers; returns the new folder."""
    unknown = sorted(set(input_receiver_fns) - set(MODES))
    if unknown:
        raise ValueError(f"input_receiver_fn_map: expected modes of {MODES}, received {unknown}")
    path = checkpoint_path or estimator.latest_checkpoint()
    if not path:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    target = timestamped_folder(os.fsdecode(export_dir_base))
    base, name = os.path.split(target)
    temporary = os.path.join(base, f"temp-{name}")
    builder = SavedModelBuilder(temporary)
    is_first = True
    for mode in MODES:  # training is first: it has all variables, and only the first graph saves them
        if mode in input_receiver_fns:
            _add_mode(
                estimator, builder, mode, input_receiver_fns[mode], os.fsdecode(path), is_first, strip_default_attrs
            )
            is_first = False
    if is_first:
        raise ValueError("No valid modes for exporting found: give at least one function that makes a receiver.")
    builder.save(as_text)
    for relative, source in (assets_extra or {}).items():
        copied = os.path.join(temporary, _EXTRA_FOLDER, os.fsdecode(relative))
        os.makedirs(os.path.dirname(copied), exist_ok=True)
        shutil.copyfile(os.fsdecode(source), copied)
    os.rename(temporary, target)  # a folder with a number for a name is complete
    return os.fsencode(target)


def timestamped_folder(base: str) -> str:
    """Returns the path of a new folder, named by the seconds since 1970; its number is larger than all in the folder.

    Exporters delete the smallest numbers as the oldest, so a gap that one has left must not be filled.
    """
    names = [name.removeprefix("temp-") for name in (os.listdir(base) if os.path.isdir(base) else ())]
    return os.path.join(base, str(max([int(time.time()), *(int(name) + 1 for name in names if name.isdecimal())])))


def _add_mode(
    estimator: EstimatorLike,
    builder: SavedModelBuilder,
    mode: str,
    input_receiver_fn: Callable[[], Any],
    checkpoint_path: str,
    is_first: bool,
    strip_default_attrs: bool,
) -> None:
    """Adds the graph of a mode, the first one with the variables."""
    with Graph().as_default() as graph:
        estimator._create_and_assert_global_step(graph)
        set_random_seed(estimator._config.tf_random_seed)
        receiver = input_receiver_fn()
        labels = getattr(receiver, "labels", None)
        spec = estimator._call_model_fn(receiver.features, labels, mode, estimator.config)
        alternatives = getattr(receiver, "receiver_tensors_alternatives", None)
        signatures, excluded = signature_defs(receiver.receiver_tensors, outputs_of(spec), alternatives)
        if mode == ModeKeys.PREDICT:
            invalid = {key for key, signature in signatures.items() if not is_valid_signature(signature)}
            excluded |= dict.fromkeys(invalid, "no method of TensorFlow Serving")
            signatures = {key: signature for key, signature in signatures.items() if key not in invalid}
        _log(mode, signatures, excluded)
        if mode == ModeKeys.TRAIN:
            add_to_collection(GraphKeys.TRAIN_OP, spec.train_op)
        saver = spec.scaffold.saver or Saver(sharded=True, allow_empty=True)
        arguments = {
            "tags": [TAGS[mode]],
            "signature_def_map": signatures,
            "assets_collection": get_collection(GraphKeys.ASSET_FILEPATHS),
            "main_op": spec.scaffold.local_init_op or Scaffold.default_local_init_op(),
            "strip_default_attrs": strip_default_attrs,
            "saver": saver,
        }
        if not is_first:
            builder.add_meta_graph(**arguments)
            return
        with Session(config=estimator._session_config) as session:
            saver.restore(session, checkpoint_path)
            builder.add_meta_graph_and_variables(session, **arguments)


def outputs_of(spec: EstimatorSpec) -> Mapping[str, ExportOutput]:
    """Returns what is exported in the mode of a spec."""
    if spec.mode == ModeKeys.PREDICT:
        return spec.export_outputs  # type: ignore[no-any-return]
    kind = TrainOutput if spec.mode == ModeKeys.TRAIN else EvalOutput
    predictions = spec.predictions if not isinstance(spec.predictions, Mapping) or spec.predictions else None
    return {spec.mode: kind(loss=spec.loss, predictions=predictions, metrics=spec.eval_metric_ops or None)}


def _log(mode: str, signatures: Mapping[str, Any], excluded: Mapping[str, str]) -> None:
    names = ", ".join(f"{key} ({signature.method_name})" for key, signature in signatures.items())
    logging.info("Signatures INCLUDED in export in mode %s: %s", mode, names or "None")
    for key, reason in excluded.items():
        logging.info("Signature %s EXCLUDED from export: %s", key, reason)
