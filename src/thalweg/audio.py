"""tf.audio: Encoding and decoding of WAV files."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    decode_wav as decode_wav,
    encode_wav as encode_wav,
)

__all__ = ["decode_wav", "encode_wav"]
