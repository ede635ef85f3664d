"""Valid calls of candidate samplers."""

from __future__ import annotations

from tests.valid_calls.values import Call, longs

_TRUE = longs([[1, 2], [0, 5]])
_ATTRS = {"num_true": 2, "num_sampled": 4, "unique": True, "range_max": 7, "seed": 1}

VALID: dict[str, Call] = {
    **{
        f"{kind}CandidateSampler": ((_TRUE,), _ATTRS)
        for kind in ("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram")
    },
    "FixedUnigramCandidateSampler": (
        (_TRUE,),
        {**_ATTRS, "range_max": 6, "num_reserved_ids": 1, "unigrams": [1.0, 2.0, 3.0, 4.0, 5.0]},
    ),
    "AllCandidateSampler": ((_TRUE,), {"num_true": 2, "num_sampled": 6, "unique": True}),
    "ComputeAccidentalHits": ((_TRUE, longs(5, 9, 5, 1)), {"num_true": 2}),
}
