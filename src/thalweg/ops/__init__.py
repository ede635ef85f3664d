"""The vocabulary: a file a family, each op with schema, shape function and constructor."""
