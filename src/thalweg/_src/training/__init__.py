"""Monitored training: sessions that initialize, checkpoint, report, stop and recover, with hooks around each step."""
