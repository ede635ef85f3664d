"""Images: compositions of image operations."""
