"""Simulated servers with one known mistake each, which violates a guarantee of ZooKeeper."""
