"""Writes docs/coverage.md: every public name of TensorFlow 1.15, covered or missing. Run it after adding names."""

import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._src.cli.names import PublicNames

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "coverage.md"
NAMES = ROOT / "tests" / "fixtures" / "tf_names.tsv.gz"
HEAD = """# Coverage

Every public name of TensorFlow 1.15, covered or missing; of `tf.contrib` and `tf.keras`, the names that published
programs use most. `python docs/coverage.py` generates this page. `thalweg check program.py` checks one program.

"""


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
        lines += _block("missing", space.missing)
        absent = [f"{owner}.{member}" for owner, members in sorted(space.members.items()) for member in members]
        lines += _block("missing members of classes", absent)
    return HEAD + "\n".join(lines).rstrip() + "\n"


def _block(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    listed = " ".join(f"`{name}`" for name in sorted(names))
    return [f'<details markdown="1"><summary>{len(names)} {title}</summary>', "", listed, "", "</details>", ""]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
