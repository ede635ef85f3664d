"""SavedModels: writing, loading, signatures."""
