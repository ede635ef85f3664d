"""From sequence to sequence: decoders, what feeds them, attention, beam search."""
