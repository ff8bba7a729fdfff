"""Build the result tables, one per module."""
