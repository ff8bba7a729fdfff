"""Draw the figures of a finished run."""
