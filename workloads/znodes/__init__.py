"""Workloads on plain znodes: what ZooKeeper itself promises."""
