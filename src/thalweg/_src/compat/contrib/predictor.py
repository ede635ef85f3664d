"""Predictors: functions that run a SavedModel or an Estimator in their own session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.signatures import parameters_of
from thalweg._src.deploy.saved_model.saved_model import load
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY, get_tensor_from_tensor_info
from thalweg._src.estimator.estimator import Estimator
from thalweg._src.graph.graph import Graph
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.mode_keys import ModeKeys
from thalweg._src.training.monitored_session import MonitoredSession
from thalweg._src.training.session_creators import ChiefSessionCreator

_SERVING = "serve"


class Predictor:
    """The base class of predictors: functions from inputs by name to outputs by name."""

    session = ReadOnly[Any]("The session.")
    feed_tensors = ReadOnly[dict[str, Any]]("The tensors to feed, by name.")
    fetch_tensors = ReadOnly[dict[str, Any]]("The tensors to fetch, by name.")

    def __init__(self, session: Any, feed_tensors: Mapping[str, Any], fetch_tensors: Mapping[str, Any]) -> None:
        self._session = session
        self._feed_tensors = dict(feed_tensors)
        self._fetch_tensors = dict(fetch_tensors)

    @property
    def graph(self) -> Graph:
        return self._session.graph  # type: ignore[no-any-return]

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the outputs for a dictionary of inputs, both by the names of the signature."""
        unknown = sorted(set(input_dict) - set(self._feed_tensors))
        if unknown:
            raise ValueError(f"Got unexpected keys in input_dict: {unknown}\nexpected: {sorted(self._feed_tensors)}")
        feeds = {self._feed_tensors[name]: value for name, value in input_dict.items() if value is not None}
        return self._session.run(self._fetch_tensors, feeds)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(inputs={sorted(self._feed_tensors)}, outputs={sorted(self._fetch_tensors)})"


class SavedModelPredictor(Predictor):
    """A predictor of a SavedModel."""

    def __init__(
        self,
        export_dir: PathLike,
        signature_def_key: str | None = None,
        signature_def: Any = None,
        input_names: Mapping[str, str] | None = None,
        output_names: Mapping[str, str] | None = None,
        tags: Iterable[str] | None = None,
        graph: Graph | None = None,
        config: Any = None,
        trusted: bool | None = None,
    ) -> None:
        if (input_names is None) != (output_names is None):
            raise ValueError("input_names and output_names belong together: one was given without the other")
        if sum(option is not None for option in (signature_def_key, signature_def, input_names)) > 1:
            raise ValueError(
                "a model is called by signature_def_key, by signature_def or by names: more than one was given"
            )
        session = Session(graph=graph or Graph(), config=config)
        tag_list = (tags or _SERVING).split(",") if isinstance(tags, str | None) else list(tags)
        message = load(session, tag_list, export_dir, trusted=trusted)
        if input_names is not None and output_names is not None:
            tensors = [
                {name: session.graph.get_tensor_by_name(tensor) for name, tensor in names.items()}
                for names in (input_names, output_names)
            ]
        else:
            if signature_def is None:
                signature_def = _signature(message, signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY)
            tensors = _tensors_of(signature_def, session.graph)
        super().__init__(session, *tensors)


def _tensors_of(signature_def: Any, graph: Graph) -> list[dict[str, Any]]:
    """Returns the inputs and the outputs of a signature by name."""
    return [
        {name: get_tensor_from_tensor_info(info, graph) for name, info in infos.items()}
        for infos in (signature_def.inputs, signature_def.outputs)
    ]


def _signature(message: Any, key: str) -> Any:
    if key not in message.signature_def:
        there = ", ".join(sorted(message.signature_def)) or "none"
        raise ValueError(f"the saved model has no signature {key!r}; there is {there}")
    return message.signature_def[key]


@export("contrib.predictor.from_saved_model")
@parameters_of(SavedModelPredictor)
def from_saved_model(**arguments: Any) -> SavedModelPredictor:
    """Returns a predictor of a SavedModel, for one of its signatures or for tensors by name.

    trusted: by default the model may read files and have Savers, but neither write other files nor call Python
    functions of this process, as it can with True; False refuses all that reaches outside, apart from its Savers

    Args:
        graph: Graph to load into; by default a new one.
    """
    return SavedModelPredictor(**arguments)


class EstimatorPredictor(Predictor):
    """A predictor of an Estimator, for one of the outputs that it exports."""

    def __init__(
        self,
        estimator: Estimator,
        serving_input_receiver_fn: Callable[[], Any],
        output_key: str | None = None,
        graph: Graph | None = None,
        config: Any = None,
    ) -> None:
        graph = graph or Graph()
        key = output_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
        require_members("estimator", estimator, "a tf.estimator.Estimator", "latest_checkpoint")
        path = estimator.latest_checkpoint()
        if path is None:
            raise ValueError(f"Couldn't find trained model at {estimator.model_dir}: train the Estimator first")
        with graph.as_default():
            receiver = serving_input_receiver_fn()
            spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
            if key not in spec.export_outputs:
                raise KeyError(f"output_key must be one of {sorted(spec.export_outputs)}; got {key}")
            signature = spec.export_outputs[key].as_signature_def(receiver.receiver_tensors)
            session = MonitoredSession(
                ChiefSessionCreator(spec.scaffold, config=config, checkpoint_filename_with_path=path)
            )
        super().__init__(session, *_tensors_of(signature, graph))


@export("contrib.predictor.from_estimator")
@parameters_of(EstimatorPredictor)
def from_estimator(**arguments: Any) -> EstimatorPredictor:
    """Returns a predictor of the newest checkpoint of an Estimator.

    Args:
        estimator: The Estimator.
        serving_input_receiver_fn: Function without arguments that returns a `ServingInputReceiver`.
        output_key: Name of the export output; by default the one of serving.
        graph: The graph to build in; by default a new one.
        config: A `tf.ConfigProto` for the session.
    """
    return EstimatorPredictor(**arguments)
