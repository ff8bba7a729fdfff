"""Result tables, figures and summaries of a run."""
