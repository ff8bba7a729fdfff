"""The plan of a sweep as a value: tasks, what they need, and their memory, disk and time."""
