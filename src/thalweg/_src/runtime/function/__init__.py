"""Functions: Python functions traced into graphs, which run as compiled steps, eagerly and in other graphs."""
