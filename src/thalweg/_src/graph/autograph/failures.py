"""Errors of the conversion of Python functions."""

from __future__ import annotations

import linecache
from typing import Any


class ConversionError(Exception):
    """A function that cannot be converted."""


class InaccessibleSourceCodeError(ConversionError, ValueError):
    """A function whose source is not available."""


class UnsupportedLanguageElementError(ConversionError, NotImplementedError):
    """A statement that cannot be converted."""


def unsupported(filename: str, node: Any, what: str, hint: str) -> UnsupportedLanguageElementError:
    """Returns the error of a statement that cannot be converted, with its line and what to write instead."""
    line = linecache.getline(filename, node.lineno).strip()
    return UnsupportedLanguageElementError(f"{what}\n  at: {filename}:{node.lineno}: {line}\n  hint: {hint}")
