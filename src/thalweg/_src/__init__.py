"""The implementation of Thalweg, in folders; `thalweg` itself and its namespaces show the public names."""
