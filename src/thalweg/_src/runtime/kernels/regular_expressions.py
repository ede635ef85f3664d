"""RE2 regular expressions, translated to Python's `re`.

Patterns and texts are decoded from UTF-8; an invalid byte becomes a lone surrogate, which no pattern matches, and is
encoded as the same byte again.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, NoReturn

from thalweg._src.base.errors import invalid
from thalweg._src.runtime.kernels.unicode_scripts import SCRIPTS, script_ranges

Ranges = list[tuple[int, int]]

_LAST = 0x10FFFF
_SURROGATES: Ranges = [(0xD800, 0xDFFF)]
_MAX_REPEAT = 1000
_DIGIT: Ranges = [(0x30, 0x39)]
_UPPER, _LOWER = (0x41, 0x5A), (0x61, 0x7A)
_PERL: dict[str, Ranges] = {
    "d": _DIGIT,
    "s": [(9, 10), (12, 13), (32, 32)],
    "w": [*_DIGIT, _UPPER, (0x5F, 0x5F), _LOWER],
}
_POSIX: dict[str, Ranges] = {
    "alnum": [*_DIGIT, _UPPER, _LOWER],
    "alpha": [_UPPER, _LOWER],
    "ascii": [(0, 0x7F)],
    "blank": [(9, 9), (32, 32)],
    "cntrl": [(0, 0x1F), (0x7F, 0x7F)],
    "digit": _DIGIT,
    "graph": [(0x21, 0x7E)],
    "lower": [_LOWER],
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": [(9, 13), (32, 32)],
    "upper": [_UPPER],
    "word": _PERL["w"],
    "xdigit": [*_DIGIT, (0x41, 0x46), (0x61, 0x66)],
}
_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_REPEAT = re.compile(r"\{(\d+)(,?)(\d*)\}")
_GROUP = re.compile(r"\?(?:P?<(\w+)>|([imsU]*)(?:-([imsU]+))?([:)]))", re.ASCII)
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_PROPERTY = re.compile(r"[pP](?:\{(\^?)(\w+)\}|([A-Za-z]))")


class Replacement:
    """A pattern and the rewrite of its matches."""

    def __init__(self, pattern: bytes, rewrite: bytes) -> None:
        self._pattern = compile_pattern(pattern)
        self._pieces, self._is_complete = _read_rewrite(rewrite.decode("utf-8", "surrogateescape"))
        groups = [piece for piece in self._pieces if isinstance(piece, int)]
        self._applies = max(groups, default=0) <= self._pattern.groups

    def _rewrite(self, match: re.Match[str]) -> str:
        return "".join(piece if isinstance(piece, str) else match.group(piece) or "" for piece in self._pieces)

    def first(self, string: bytes) -> bytes:
        """Replaces the first match; an incomplete escape in the rewrite makes it replace nothing."""
        text = string.decode("utf-8", "surrogateescape")
        match = self._pattern.search(text) if self._applies and self._is_complete else None
        if match is None:
            return string
        return _encode(text[: match.start()] + self._rewrite(match) + text[match.end() :])

    def all(self, string: bytes) -> bytes:
        """Replaces every match except an empty one right after another, which `re.sub` would replace."""
        if not self._applies:
            return string
        text = string.decode("utf-8", "surrogateescape")
        result: list[str] = []
        position, last = 0, -1
        while position <= len(text):
            match = self._pattern.search(text, position)
            if match is None:
                break
            start, end = match.span()
            if start == end == last:
                result.append(text[position : position + 1])
                position += 1
                continue
            result += (text[position:start], self._rewrite(match))
            position = last = end
        if last < 0:
            return string
        return _encode("".join([*result, text[position:]]))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read_rewrite(rewrite: str) -> tuple[list[str | int], bool]:
    """Returns the texts and group indices of a rewrite up to an invalid escape, and whether all was valid."""
    result: list[str | int] = []
    pieces = rewrite.split("\\")
    result.append(pieces[0])
    index = 1
    while index < len(pieces):
        piece = pieces[index]
        if piece[:1].isascii() and piece[:1].isdigit():
            result += (int(piece[0]), piece[1:])
        elif not piece and index + 1 < len(pieces):
            index += 1
            result.append("\\" + pieces[index])
        else:
            return result, False
        index += 1
    return result, True


@lru_cache(maxsize=1024)
def compile_pattern(pattern: bytes) -> re.Pattern[str]:
    """Translates an RE2 pattern to one for `re` on decoded texts."""
    shown = pattern.decode("utf-8", "replace")
    try:
        return re.compile(_Translation(pattern.decode("utf-8")).run())
    except UnicodeDecodeError:
        reason = "invalid UTF-8"
    except (re.error, OverflowError, RecursionError, _BadPattern) as error:
        reason = str(error)
    raise invalid(f"Invalid pattern: {shown}, error: {reason}")


class _BadPattern(Exception):
    """Raised for a pattern that RE2 rejects."""


class _Translation:
    """A single left-to-right parse of a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.output: list[str] = []
        self.flags: frozenset[str] = frozenset()
        self.outer: list[frozenset[str]] = []  # the flags outside each open group
        self.starts: list[int] = []  # output position of each open group
        self.atom: int | None = None  # output position of the last repeatable item
        self.repeated = ""  # the repetition operator just parsed
        self.names: set[str] = set()

    def run(self) -> str:
        while self.position < len(self.pattern):
            self._step()
        if self.outer:
            self._fail(f"missing ): {self.pattern}")
        return "".join(self.output)

    def _fail(self, text: str) -> NoReturn:
        raise _BadPattern(text)

    def _step(self) -> None:
        char = self.pattern[self.position]
        if char in "*+?" or (char == "{" and _REPEAT.match(self.pattern, self.position)):
            self._repeat(char)
            return
        self.position += 1
        self.repeated = ""
        if char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "|":
            self.output.append("|")
            self.atom = None
        elif char == "[":
            self._emit_class(self._class())
        elif char == ".":
            self._emit_class(_complement([] if "s" in self.flags else [(10, 10)]))
        elif char == "^":
            self._emit("(?:(?m:^))" if "m" in self.flags else r"(?:\A)")
        elif char == "$":
            self._emit("(?:(?m:$))" if "m" in self.flags else r"(?:\Z)")
        elif char == "\\":
            self._escape()
        else:
            self._literal(char)

    def _emit(self, text: str) -> None:
        self.atom = len(self.output)
        self.output.append(text)

    def _literal(self, char: str) -> None:
        text = re.escape(char)
        self._emit(f"(?i:{text})" if "i" in self.flags and char.lower() != char.upper() else text)

    def _emit_class(self, ranges: Ranges) -> None:
        text = _show_class(ranges)
        self._emit(f"(?i:{text})" if "i" in self.flags else text)

    def _repeat(self, char: str) -> None:
        start = self.position
        match = _REPEAT.match(self.pattern, start) if char == "{" else None
        self.position = match.end() if match else start + 1
        if self.repeated:
            self._fail(f"bad repetition operator: {self.repeated}{self.pattern[start : self.position]}")
        if self.atom is None:
            self._fail(f"no argument for repetition operator: {self.pattern[start : self.position]}")
        operator = self.pattern[start : self.position]
        if match:
            least, most = int(match[1]), int(match[3] or match[1])
            if max(least, most) > _MAX_REPEAT or most < least:
                self._fail(f"invalid repetition size: {operator}")
        lazy = self.pattern[self.position : self.position + 1] == "?"
        self.position += lazy
        self.repeated = self.pattern[start : self.position]
        self.output.insert(self.atom, "(?:")
        self.output.append(f"){operator}{'?' if lazy != ('U' in self.flags) else ''}")

    def _open(self) -> None:
        self.outer.append(self.flags)
        self.atom = None
        if self.pattern[self.position : self.position + 1] != "?":
            self.starts.append(len(self.output))
            self.output.append("(")
            return
        match = _GROUP.match(self.pattern, self.position)
        if match is None or (match[1] is None and match[4] == ")" and not (match[2] or match[3])):
            self._fail(f"invalid perl operator: ({self.pattern[self.position : self.position + 2]}")
        self.position = match.end()
        if match[1] is not None:
            if match[1] in self.names:
                self._fail(f"duplicate capture group name: {match[1]}")
            self.names.add(match[1])
            self.starts.append(len(self.output))
            self.output.append("(")
            return
        flags = (self.flags | set(match[2])) - set(match[3] or "")
        if match[4] == ")":
            self.outer.pop()
        else:
            self.starts.append(len(self.output))
            self.output.append("(?:")
        self.flags = flags

    def _close(self) -> None:
        if not self.outer:
            self._fail(f"unexpected ): {self.pattern}")
        self.flags = self.outer.pop()
        self.output.append(")")
        self.atom = self.starts.pop()

    def _escape(self) -> None:
        char = self.pattern[self.position : self.position + 1]
        if char == "Q":
            end = self.pattern.find("\\E", self.position)
            end = len(self.pattern) if end < 0 else end
            for literal in self.pattern[self.position + 1 : end]:
                self._literal(literal)
            self.position = end + 2
        elif char in ("A", "z"):
            self.position += 1
            self._emit(r"(?:\A)" if char == "A" else r"(?:\Z)")
        elif char in ("b", "B"):
            self.position += 1
            # `\B` alone does not match an empty text.
            self._emit(r"(?:(?a:\b))" if char == "b" else r"(?:(?!(?a:\b)))")
        else:
            ranges = self._class_escape()
            if ranges is None:
                self._literal(chr(self._character_escape()))
            else:
                self._emit_class(ranges)

    def _class_escape(self) -> Ranges | None:
        """Parses the rest of an escape that denotes a character class."""
        char = self.pattern[self.position : self.position + 1]
        if char.lower() in _PERL and char:
            self.position += 1
            ranges = _PERL[char.lower()]
            return ranges if char.islower() else _complement(ranges)
        match = _PROPERTY.match(self.pattern, self.position)
        if match is None:
            return None
        self.position = match.end()
        ranges = self._property(match[2] or match[3])
        return _complement(ranges) if (char == "P") != bool(match[1]) else ranges

    def _property(self, name: str) -> Ranges:
        if name == "Any":
            return [(0, _LAST)]
        if name in SCRIPTS:
            return script_ranges(SCRIPTS[name])
        ranges = _category_ranges(name) if len(name) <= 2 else []
        return ranges or self._fail(f"invalid character class range: \\p{{{name}}}")

    def _character_escape(self) -> int:
        """Parses the rest of an escape that denotes one character."""
        start = self.position
        char = self.pattern[start : start + 1]
        for form, base in ((_OCTAL, 8), (_HEX, 16)):
            match = form.match(self.pattern, start)
            if match:
                self.position = match.end()
                code = int(match[0] if base == 8 else match[1] or match[2], base)
                return code if code <= _LAST else self._fail(f"invalid escape sequence: \\{match[0]}")
        if char in _CONTROL:
            self.position += 1
            return _CONTROL[char]
        if not char or char.isalnum() or ord(char) >= 0x80:
            self._fail(f"invalid escape sequence: \\{char}" if char else "trailing \\")
        self.position += 1
        return ord(char)

    def _class(self) -> Ranges:
        start = self.position - 1
        negated = self.pattern[self.position : self.position + 1] == "^"
        self.position += negated
        ranges: Ranges = []
        first = True
        while first or self.pattern[self.position : self.position + 1] != "]":
            if self.position >= len(self.pattern):
                self._fail(f"missing ]: {self.pattern[start:]}")
            ranges += self._class_item()
            first = False
        self.position += 1
        return _complement(ranges) if negated else _normalized(ranges)

    def _class_item(self) -> Ranges:
        named = re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, self.position)
        if named:
            if named[2] not in _POSIX:
                self._fail(f"invalid character class range: {named[0]}")
            self.position = named.end()
            return _complement(_POSIX[named[2]]) if named[1] else _POSIX[named[2]]
        if self.pattern[self.position] == "\\":
            self.position += 1
            ranges = self._class_escape()
            if ranges is not None:
                return ranges
            self.position -= 1
        low = self._class_character()
        rest = self.pattern[self.position : self.position + 2]
        if rest[:1] != "-" or rest[1:] in ("]", ""):
            return [(low, low)]
        self.position += 1
        high = self._class_character()
        return [(low, high)] if low <= high else self._fail(f"invalid character class range: {chr(low)}-{chr(high)}")

    def _class_character(self) -> int:
        char = self.pattern[self.position]
        self.position += 1
        return self._character_escape() if char == "\\" else ord(char)


def _normalized(ranges: Ranges) -> Ranges:
    result: Ranges = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return result


def _complement(ranges: Ranges) -> Ranges:
    """Returns all other characters except surrogates, which represent invalid bytes."""
    result: Ranges = []
    start = 0
    for low, high in _normalized([*ranges, *_SURROGATES]):
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    return [*result, (start, _LAST)] if start <= _LAST else result


def _show_class(ranges: Ranges) -> str:
    if not ranges:
        return r"[^\x00-\U0010ffff]"
    return "[" + "".join(f"\\U{low:08x}" + (f"-\\U{high:08x}" if high > low else "") for low, high in ranges) + "]"


@lru_cache(maxsize=64)
def _categories() -> list[str]:
    return [unicodedata.category(chr(code)) for code in range(_LAST + 1)]


@lru_cache(maxsize=64)
def _category_ranges(name: str) -> Any:
    """Returns the characters of a general category such as "L" or "Lu"."""
    codes = [(code, code) for code, category in enumerate(_categories()) if category.startswith(name)]
    return [] if name == "Cs" else _normalized(codes)
