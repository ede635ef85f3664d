"""Tests of Estimators."""
