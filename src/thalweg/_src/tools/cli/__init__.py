"""The `thalweg` command."""
