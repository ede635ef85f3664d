"""tf.contrib.seq2seq: Sequence-to-sequence decoding: decoders, helpers, attention and beam search."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.seq2seq.attention import (
    AttentionMechanism as AttentionMechanism,
    AttentionWrapper as AttentionWrapper,
    AttentionWrapperState as AttentionWrapperState,
    BahdanauAttention as BahdanauAttention,
    LuongAttention as LuongAttention,
    hardmax as hardmax,
)
from thalweg._src.compat.contrib.seq2seq.beam_search import (
    BeamSearchDecoder as BeamSearchDecoder,
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
    BeamSearchDecoderState as BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
    gather_tree as gather_tree,
    tile_batch as tile_batch,
)
from thalweg._src.compat.contrib.seq2seq.decoder import (
    BasicDecoder as BasicDecoder,
    BasicDecoderOutput as BasicDecoderOutput,
    Decoder as Decoder,
    dynamic_decode as dynamic_decode,
)
from thalweg._src.compat.contrib.seq2seq.helpers import (
    CustomHelper as CustomHelper,
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
    Helper as Helper,
    InferenceHelper as InferenceHelper,
    SampleEmbeddingHelper as SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
    TrainingHelper as TrainingHelper,
)
from thalweg._src.compat.contrib.seq2seq.loss import sequence_loss as sequence_loss
from thalweg._src.compat.contrib.seq2seq.monotonic import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
    LuongMonotonicAttention as LuongMonotonicAttention,
    monotonic_attention as monotonic_attention,
    safe_cumprod as safe_cumprod,
)
from thalweg._src.compat.contrib.seq2seq.scheduled import ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper

__all__ = [
    "AttentionMechanism", "AttentionWrapper", "AttentionWrapperState", "BahdanauAttention",
    "BahdanauMonotonicAttention", "BasicDecoder", "BasicDecoderOutput", "BeamSearchDecoder", "BeamSearchDecoderOutput",
    "BeamSearchDecoderState", "CustomHelper", "Decoder", "FinalBeamSearchDecoderOutput", "GreedyEmbeddingHelper",
    "Helper", "InferenceHelper", "LuongAttention", "LuongMonotonicAttention", "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper", "ScheduledOutputTrainingHelper", "TrainingHelper", "dynamic_decode",
    "gather_tree", "hardmax", "monotonic_attention", "safe_cumprod", "sequence_loss", "tile_batch",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
