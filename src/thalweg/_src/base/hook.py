"""Hook: an attribute of a class by which a lower module calls a higher one without importing it.

`connect: ClassVar[Hook[Callable[[str], Backend]]]` declares one; the higher module sets it when it is imported, as
`BaseSession.connect = ...`. `HOOKS` in tests/test_architecture.py lists all of them, with the modules that set them.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

T = TypeVar("T")
Hook = Annotated[T, "set by a higher module"]
