"""Every field of a config, loading, and cluster profiles."""
