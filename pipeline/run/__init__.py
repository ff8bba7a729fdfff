"""The driver: runs a plan on a cluster, and resumes, verifies and repairs runs."""
