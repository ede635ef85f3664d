"""File and wire formats: checkpoints, record files, events, messages and text; no graph, no torch."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "bytes_or_text": "Bytes or text.",
    "compression_level": "Compression level, 0 to 9.",
    "compression_method": "Compression method of zlib.",
    "compression_strategy": "Compression strategy of zlib.",
    "dst": "The new path.",
    "encoding": 'Encoding of the strings, such as "utf-8".',
    "flush_mode": "Flush mode of zlib.",
    "input_buffer_size": "Accepted for compatibility; the buffer's size is fixed.",
    "mem_level": "Memory level of zlib, 1 to 9.",
    "onerror": "Function called with an error of the file system; None ignores it.",
    "output_buffer_size": "Accepted for compatibility; the buffer's size is fixed.",
    "path": "Path of the file or folder.",
    "pattern": "Pattern of paths, or a list of patterns.",
    "src": "The present path.",
    "topdown": "Whether a folder comes before its subfolders, not after them.",
    "window_bits": "Size of zlib's history buffer, as a power of two.",
}
