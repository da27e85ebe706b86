"""Simulated servers with one known mistake each: they break a promise of ZooKeeper's."""
