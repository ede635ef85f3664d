"""Versions: the TensorFlow API version and the version of Thalweg; docs/decisions/0008-versions.md explains both."""

from __future__ import annotations

import platform

from thalweg._src.base.export import export_constants
from thalweg._src.graph.graphdef import MIN_CONSUMER, PRODUCER

THALWEG_VERSION = "0.1.0"

VERSION = "1.15.0"
KERAS_VERSION = "2.2.4-tf"  # of the Keras in TensorFlow 1.15
GIT_VERSION = f"thalweg-{THALWEG_VERSION}"
COMPILER_VERSION = platform.python_compiler()
GRAPH_DEF_VERSION = PRODUCER
GRAPH_DEF_VERSION_MIN_CONSUMER = MIN_CONSUMER
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG = 1
CXX_VERSION = 201703
MONOLITHIC_BUILD = 0

export_constants(
    COMPILER_VERSION=("COMPILER_VERSION", "version.COMPILER_VERSION"),
    CXX11_ABI_FLAG=("CXX11_ABI_FLAG", "sysconfig.CXX11_ABI_FLAG"),
    CXX_VERSION=("CXX_VERSION", "sysconfig.CXX_VERSION"),
    GIT_VERSION=("GIT_VERSION", "version.GIT_VERSION"),
    GRAPH_DEF_VERSION_MIN_PRODUCER=("GRAPH_DEF_VERSION_MIN_PRODUCER", "version.GRAPH_DEF_VERSION_MIN_PRODUCER"),
    KERAS_VERSION="keras.__version__",
    MONOLITHIC_BUILD=("MONOLITHIC_BUILD", "sysconfig.MONOLITHIC_BUILD"),
    VERSION=("VERSION", "__version__", "version.VERSION"),
    THALWEG_VERSION="version.THALWEG_VERSION",
)
