"""Define and load configs and cluster profiles."""
