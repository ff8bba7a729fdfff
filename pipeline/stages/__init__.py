"""The kinds of tasks, a module a stage."""
