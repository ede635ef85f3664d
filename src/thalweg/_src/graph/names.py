"""The grammar of names in a graph: TensorFlow's."""

from __future__ import annotations

NAME = r"[A-Za-z0-9.][A-Za-z0-9_./>\-]*"
INNER_NAME = r"[A-Za-z0-9._][A-Za-z0-9_./>\-]*"  # of what a program does not name itself
SCOPE = r"[A-Za-z0-9_./>\-]*"  # inside of another scope
