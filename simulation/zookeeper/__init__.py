"""ZooKeeper 3.8.0 servers, as far as clients and operators can tell them from real ones."""
