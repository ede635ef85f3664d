"""The public namespaces under `tf`."""
