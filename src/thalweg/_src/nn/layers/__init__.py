"""Layers: functions that bring their own variables, as classes and as plain functions."""
