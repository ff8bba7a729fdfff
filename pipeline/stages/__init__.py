"""The kinds of task."""
