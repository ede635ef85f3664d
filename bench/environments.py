"""Where each peer's Python is: named by the user, made before, or made now with pip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"tensorflow": "tensorflow-cpu==2.21.0", "jax": "jax"}
FOLDERS = {"tensorflow": "tf", "jax": "jax"}


def interpreter(peer: str) -> Path:
    """Finds a peer's Python: BENCH_PYTHON_<PEER>, else an environment of its own, else this one."""
    library = peer.partition("_")[0]
    named = os.environ.get(f"BENCH_PYTHON_{library.upper()}")
    if named:
        return Path(named)
    if library not in PACKAGES:
        return Path(sys.executable)
    return _environment(library)


def _environment(library: str) -> Path:
    folder = ROOT / ".venv-bench" / FOLDERS[library]
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"making {folder.relative_to(ROOT)} with {PACKAGES[library]}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGES[library]], check=True)
        (folder / "ready").touch()
    return python


def variables(peer: str) -> dict[str, str]:
    """Gives the environment of a peer's process; Thalweg comes from this source tree."""
    given = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # an import is timed as users see it, from compiled files
    if peer.startswith("thalweg"):
        given["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    return given


def two_cores() -> int:
    """Keeps this process and those it starts on two cores, so that every library takes two threads."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cores)
    return len(cores)
