"""Image functions composed of image operations."""
