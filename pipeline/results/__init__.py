"""Build the result tables, figures and summaries of a run."""
