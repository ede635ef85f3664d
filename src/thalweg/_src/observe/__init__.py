"""What is written down of a run, for people and their tools."""
