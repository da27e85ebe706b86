"""Checks of ZooKeeper's own guarantees, on histories of operations on plain znodes."""
