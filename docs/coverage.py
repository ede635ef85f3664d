"""Writes docs/coverage.md: every public name of TensorFlow 1.15, covered or missing. Run it after adding names."""

import gzip
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._src.tools.cli.names import PublicNames

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "coverage.md"
NAMES = ROOT / "tests" / "fixtures" / "tf_names.tsv.gz"
HEAD = """# Coverage

Every public name of TensorFlow 1.15, covered or missing; of `tf.contrib` and `tf.keras`, the names that published
programs use most. `python docs/coverage.py` generates this page. `thalweg check program.py` checks one program.

"""
_RAGGED = "Open: ragged tensors in specifications and batches."
_REMOTE = "Open: eager execution on other tasks; sessions run steps there."
_SPECS = "Open: specifications of values other than tensors."
_TPU = "Out of scope: TPUs."
_V2 = "Out of scope: a behaviour of TensorFlow 2."
# Why a name is missing: for names and for all names in a namespace, of which the longest applies.
REASONS = {
    "tf.IndexedSlicesSpec": _SPECS,
    "tf.RaggedTensorSpec": _RAGGED,
    "tf.TensorArraySpec": _SPECS,
    "tf.compat.v2": _V2,
    "tf.config.experimental": "Out of scope: settings of eager execution; sessions take theirs from ConfigProto.",
    "tf.config.experimental_connect_to_cluster": _REMOTE,
    "tf.config.experimental_connect_to_host": _REMOTE,
    "tf.contrib": "Open: few of the [published programs](programs.md) use it.",
    "tf.contrib.layers": "Out of scope: the feature columns before `tf.feature_column`.",
    "tf.contrib.tensor_forest": "Out of scope: ops for decision forests.",
    "tf.data.experimental": "Open: statistics of input pipelines, and the state of iterators in Estimators.",
    "tf.data.experimental.TensorArrayStructure": "Out of scope: elements of datasets hold no TensorArrays.",
    "tf.data.experimental.dense_to_ragged_batch": _RAGGED,
    "tf.distribute.experimental.TPUStrategy": _TPU,
    "tf.enable_tensor_equality": _V2,
    "tf.enable_v2_behavior": _V2,
    "tf.enable_v2_tensorshape": _V2,
    "tf.estimator": "Open: boosted trees.",
    "tf.io.decode_proto": "Open: messages of any type in a graph.",
    "tf.io.encode_proto": "Open: messages of any type in a graph.",
    "tf.keras": "Open: policies of mixed precision.",
    "tf.layers.experimental": "Open: names of Keras in `tf.layers`.",
    "tf.lookup.experimental.DenseHashTable": "Open: `tf.contrib.lookup.MutableDenseHashTable` is the same table.",
    "tf.nondifferentiable_batch_function": "Open: batches across concurrent steps.",
    "tf.profiler": "Open: `profile` accounts for operations; advice, and logs for TensorFlow's own tool, are left out.",
    "tf.random.experimental": "Open: random generators with a state of their own.",
    "tf.saved_model": _V2,
    "tf.summary": "Open: summaries that are written in a step, those of `tf.contrib.summary`.",
    "tf.tpu": _TPU,
    "tf.train.do_quantize_training_on_graphdef": "Open: `tf.quantization` has the ops that such a graph consists of.",
    "tf.train.sdca_fprint": "Open: stochastic dual coordinate ascent, an op of linear Estimators.",
    "tf.train.sdca_optimizer": "Open: stochastic dual coordinate ascent, an op of linear Estimators.",
    "tf.train.sdca_shrink_l1": "Open: stochastic dual coordinate ascent, an op of linear Estimators.",
    "tf.user_ops": "Out of scope: an example of an op in C++; docs/extending.md has one in Python.",
    "tf.vectorized_map": "Open: `tf.map_fn` returns the same values.",
    "tf.wrap_function": "Open: `tf.function` makes functions of graphs.",
    "tf.xla.experimental.compile": "Open: sessions compile by themselves; `jit_scope` marks what is to be compiled.",
}


@dataclass
class Namespace:
    """The names of one namespace, covered or missing, with the missing members of its classes."""

    covered: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def read() -> dict[str, Namespace]:
    """Looks every name up."""
    known = PublicNames()
    result: dict[str, Namespace] = defaultdict(Namespace)
    with gzip.open(NAMES, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    for name, kind in rows:
        path = tuple(name.split(".")[1:])
        if kind == "member":
            owner, member = path[:-1], path[-1]
            if known.has(owner) and not hasattr(known.find(owner), member):
                result[".".join(("tf", *owner[:-1]))].members[owner[-1]].append(member)
        else:
            space = result[".".join(("tf", *path[:-1]))]
            (space.covered if known.has(path) else space.missing).append(path[-1])
    return dict(result)


def reason(name: str) -> str | None:
    """Returns why a name is missing, None if that is not known."""
    parts = name.split(".")
    return next((REASONS[key] for n in range(len(parts), 1, -1) if (key := ".".join(parts[:n])) in REASONS), None)


def _reasons(space: str, names: list[str]) -> list[str]:
    """Returns the names of a namespace that are missing, grouped by why."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        by_reason[reason(f"{space}.{name}") or ""].append(f"`{name}`")
    return [_wrap(f"- {why} {' '.join(listed)}", "  ") for why, listed in by_reason.items()]


def page() -> str:
    """Returns the text of the page."""
    spaces = read()
    covered = sum(len(space.covered) for space in spaces.values())
    total = covered + sum(len(space.missing) for space in spaces.values())
    lines = [f"{covered} of {total} names are covered: {100 * covered // total} %.", ""]
    lines += ["| namespace | covered | of |", "|---|---:|---:|"]
    for name, space in sorted(spaces.items()):
        lines.append(f"| `{name}` | {len(space.covered)} | {len(space.covered) + len(space.missing)} |")
    for name, space in sorted(spaces.items()):
        lines += ["", f"## {name}", ""]
        lines += _block("covered", space.covered)
        if space.missing:
            lines += [f"{len(space.missing)} missing:", "", *_reasons(name, space.missing), ""]
        absent = [f"{owner}.{member}" for owner, members in sorted(space.members.items()) for member in members]
        lines += _block("missing members of classes", absent)
    return HEAD + "\n".join(lines).rstrip() + "\n"


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _block(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    listed = _wrap(" ".join(f"`{name}`" for name in sorted(names)))
    return [f'<details markdown="1"><summary>{len(names)} {title}</summary>', "", listed, "", "</details>", ""]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
