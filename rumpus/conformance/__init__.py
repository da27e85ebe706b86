"""Checks of what a ZooKeeper server does, against any server that can be reached."""
