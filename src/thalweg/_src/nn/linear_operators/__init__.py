"""Linear operators: structured matrices with efficient products and solves."""
