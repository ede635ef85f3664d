"""Python environments of the peers: named by the user, or created with pip on first use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"tensorflow": "tensorflow-cpu==2.21.0 tf_keras==2.21.0", "jax": "jax"}
FOLDERS = {"tensorflow": "tf", "jax": "jax"}


def interpreter(peer: str) -> Path:
    """Returns the Python interpreter of a peer: BENCH_PYTHON_<PEER>, its own environment, or this one."""
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
        print(f"creating {folder.relative_to(ROOT)} with {PACKAGES[library]}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[library].split()], check=True)
        (folder / "ready").touch()
    return python


def variables(peer: str) -> dict[str, str]:
    """Returns the environment variables of a peer's process; Thalweg is imported from this source tree."""
    given = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONWARNINGS="ignore")
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # imports are timed with cached bytecode, as users see them
    if peer.startswith("thalweg"):
        given["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    return given


def two_cores() -> int:
    """Pins this process and its children to two cores, so that every library uses two threads."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cores)
    return len(cores)
