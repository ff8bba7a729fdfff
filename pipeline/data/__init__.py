"""Read datasets from their sources and prepare them for learning."""
