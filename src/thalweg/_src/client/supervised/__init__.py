"""Supervised training: sessions that start, save, report, stop and recover by themselves."""
