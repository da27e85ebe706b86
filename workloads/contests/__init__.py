"""Workloads whose clients contend for one thing: locks, permits, the leadership."""
