"""Valid calls of Fourier transforms."""

from __future__ import annotations

from tests.valid_calls.values import Call, floats, ints

_SIGNAL = floats(2, 3, 4, 5)
_TERMS = _SIGNAL.astype("complex64")
_LENGTHS = {"": ints([5]), "2D": ints(3, 5), "3D": ints(3, 4, 4)}

VALID: dict[str, Call] = {
    **{f"{way}FFT{suffix}": ((_TERMS,), {}) for way in ("", "I") for suffix in _LENGTHS},
    **{f"RFFT{suffix}": ((_SIGNAL, lengths), {}) for suffix, lengths in _LENGTHS.items()},
    **{f"IRFFT{suffix}": ((_TERMS, lengths), {}) for suffix, lengths in _LENGTHS.items()},
}
