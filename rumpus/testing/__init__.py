"""ZooKeeper servers for tests of applications, and faults for them."""
