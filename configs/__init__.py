"""Shipped configs and cluster profiles; `pipeline configs` lists the configs."""
