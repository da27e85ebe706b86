"""Deciders of queues."""
