"""Locks on etcd."""
