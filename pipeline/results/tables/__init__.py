"""The built-in result tables, one module each."""
