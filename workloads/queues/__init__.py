"""Workloads of queues and priority queues."""
