"""ZooKeeper's own promises, held against operations on plain znodes."""
