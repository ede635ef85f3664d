"""Sessions: fetches, feeds, partial runs, and functions about the process and its devices."""
