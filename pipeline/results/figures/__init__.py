"""Figures of a finished run, and the registry to which new ones are added."""
