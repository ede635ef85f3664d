"""Data sets of tutorials, read from files of the local cache."""
