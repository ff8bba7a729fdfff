"""Draw the figures of a run."""
