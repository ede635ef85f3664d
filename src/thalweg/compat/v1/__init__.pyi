# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import Any

from thalweg import *

def __getattr__(name: str) -> Any: ...
