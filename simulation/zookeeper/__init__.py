"""ZooKeeper 3.8.0 servers that behave towards clients and operators like real ones."""
