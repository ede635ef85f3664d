"""Candidate samplers: sample a few of many classes, and return the expected counts of the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.shape_functions import require, with_rank
from thalweg._src.graph.seeds import get_seed
from thalweg._src.graph.types import TensorLike


def _true_classes(c: Inference) -> tuple[int | None, int | None]:
    """Returns the shape of the true classes: examples, and `num_true` classes per example."""
    classes, num_true = with_rank(c, 0, 2), c.attrs["num_true"]
    assert classes is not None
    require(
        classes[1] in (None, num_true),
        f"true_classes has shape {show(classes)}",
        expected=f"num_true = {num_true} columns",
    )
    return classes[0], num_true


def _sampled(c: Inference) -> Sequence[Shape]:
    count = c.attrs["num_sampled"]
    limit = c.attrs.get("range_max")
    if limit is not None and c.attrs["unique"] and count > limit:
        raise ShapeError(f"Sampler's range is too small: {limit} classes, num_sampled = {count}")
    return [(count,), _true_classes(c), (count,)]


def _sampler(name: str, doc: str, **attrs: Any) -> OpDef:
    return stateful_op(
        name,
        "true_classes: int64 -> "
        "sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32",
        doc,
        num_true=attr.integer(1),
        num_sampled=attr.integer(1),
        unique=attr.boolean(),
        seed=0,
        seed2=0,
        infer=_sampled,
        **attrs,
    )


def _file(attrs: Mapping[str, Any]) -> str:
    """Returns what FixedUnigramCandidateSampler reaches outside of the graph."""
    return "reads files" if attrs.get("vocab_file") else ""


_RANGE = {"range_max": attr.integer(1)}
uniform_op = _sampler("UniformCandidateSampler", "Samples classes from a uniform distribution.", **_RANGE)
log_uniform_op = _sampler(
    "LogUniformCandidateSampler",
    "Samples classes from a log-uniform (Zipfian) distribution; classes must be sorted by descending frequency.",
    **_RANGE,
)
learned_unigram_op = _sampler(
    "LearnedUnigramCandidateSampler",
    "Samples classes from a distribution learned from the true classes of earlier steps.",
    **_RANGE,
)
thread_unsafe_unigram_op = _sampler(
    "ThreadUnsafeUnigramCandidateSampler",
    "Samples classes from a distribution learned from the true classes of earlier steps.",
    **_RANGE,
)
fixed_unigram_op = _sampler(
    "FixedUnigramCandidateSampler",
    "Samples classes from a distribution with given weights, from a file or a list.",
    **_RANGE,
    vocab_file="",
    distortion=1.0,
    num_reserved_ids=0,
    num_shards=attr.integer(1, 1),
    shard=attr.integer(0, 0),
    unigrams=attr.AttrDef("list(float)", ()),
    external=_file,
)
all_op = _sampler("AllCandidateSampler", "Returns all classes as the sample, each of them once.")


def _hits(c: Inference) -> Sequence[Shape]:
    _true_classes(c)
    with_rank(c, 1, 1)
    return [(None,)] * 3


compute_accidental_hits_op = nondifferentiable_op(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float32",
    "Finds sampled classes that are true classes: row, position in the sample, and the lowest float as a weight.",
    num_true=attr.integer(),
    seed=0,
    seed2=0,
    infer=_hits,
    capturable=False,
)


def _draw(sampler: OpDef, true_classes: Any, seed: int | None, name: str | None, **attrs: Any) -> Any:
    first, second = get_seed(seed)
    classes = convert_to_tensor(true_classes, dtypes.int64, name="true_classes")
    return sampler.many(classes, seed=first or 0, seed2=second or 0, name=name, **attrs)


def _sample(
    sampler: OpDef,
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max}
    return _draw(sampler, true_classes, seed, name, **attrs)


@export("nn.uniform_candidate_sampler", "random.uniform_candidate_sampler")
@variant(_sample, uniform_op)
def uniform_candidate_sampler() -> None:
    """Samples classes uniformly from [0, range_max).

    Returns the sampled classes, and the expected counts of the true and of the sampled classes.
    """


@export("nn.log_uniform_candidate_sampler", "random.log_uniform_candidate_sampler")
@variant(_sample, log_uniform_op)
def log_uniform_candidate_sampler() -> None:
    """Samples class k with probability log((k + 2) / (k + 1)) / log(range_max + 1).

    This fits classes that are sorted by decreasing frequency.
    """


@export("nn.learned_unigram_candidate_sampler", "random.learned_unigram_candidate_sampler")
@variant(_sample, learned_unigram_op)
def learned_unigram_candidate_sampler() -> None:
    """Samples classes by the frequencies of the true classes so far, with an initial count of 1."""


@export("nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Samples classes by weights raised to `distortion`: a list, or the last fields of a CSV file's lines.

    The first `num_reserved_ids` classes are never sampled; each of several shards has every num_shards-th class.

    Args:
        vocab_file: CSV file whose last field in each line is the weight of a class.
        distortion: Exponent of the weights; 0 samples uniformly.
        num_reserved_ids: Number of ids at the start that are never sampled.
        num_shards: Number of shards that classes are divided among.
        shard: Number of this shard.
        unigrams: Weights of the classes, in place of a file.
    """
    attrs: dict[str, Any] = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max}
    attrs |= {"vocab_file": vocab_file, "distortion": distortion, "num_reserved_ids": num_reserved_ids}
    attrs |= {"num_shards": num_shards, "shard": shard, "unigrams": unigrams}
    return _draw(fixed_unigram_op, true_classes, seed, name, **attrs)


@export("nn.all_candidate_sampler", "random.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns all classes as the sample, so that a sampled loss can be tested without sampling."""
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    return _draw(all_op, true_classes, seed, name, **attrs)


@export("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns rows, positions and weights of the sampled classes that are true classes of an example."""
    first, second = get_seed(seed)
    return compute_accidental_hits_op.many(
        true_classes, sampled_candidates, num_true=num_true, seed=first or 0, seed2=second or 0, name=name
    )
