"""What ZooKeeper itself promises: sequential consistency, sessions, sync and watches."""
