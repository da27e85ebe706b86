"""Locks and elections on etcd."""
