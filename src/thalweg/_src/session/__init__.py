"""Sessions: what is fetched and fed, partial runs, and functions about a process and its devices."""
