"""Writes the signatures of TensorFlow's operations that graphs may contain: `python tools/foreign_ops.py`.

They are taken from tests/fixtures/tf_ops.jsonl.gz, without the values that attributes accept: no kernel relies on them.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
FACTS = ROOT / "tests" / "fixtures" / "tf_ops.jsonl.gz"
TARGET = ROOT / "src" / "thalweg" / "_src" / "graph" / "foreign_ops.json.gz"


def signatures() -> dict[str, list[object]]:
    """Returns inputs, outputs and attributes by op."""
    with gzip.open(FACTS, "rt", encoding="utf-8") as file:
        ops = list(map(json.loads, file))
    return {
        each["op"]: [
            each["in"],
            each["out"],
            {key: [attr[part] for part in ("type", "default") if part in attr] for key, attr in each["attrs"].items()},
        ]
        for each in ops
        if not each["op"].startswith("_")
    }


def main() -> None:
    """Writes the file."""
    text = json.dumps(signatures(), separators=(",", ":"))
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
