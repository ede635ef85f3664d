"""Bytes on disk and on the wire: files, messages, text; no graph, no torch."""
