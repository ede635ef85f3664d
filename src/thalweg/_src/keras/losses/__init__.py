"""Losses of Keras: functions of targets and predictions, and classes that weigh and reduce their values."""
