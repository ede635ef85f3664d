"""Models as objects of other packages."""
