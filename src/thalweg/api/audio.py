"""tf.audio: sound as WAV files."""

from thalweg.ops.audio import decode_wav, encode_wav

__all__ = ["decode_wav", "encode_wav"]
