"""Values without behaviour, registries, the declaration of public names, and bytes on disk: no graph, no torch."""
