"""Estimators: models given by functions, which are trained, evaluated, run and exported by one object."""
