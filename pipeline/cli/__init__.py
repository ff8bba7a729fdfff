"""The command line: commands and terminal views."""
