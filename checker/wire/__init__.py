"""What passed between clients and servers, and what ZooKeeper's rules say of it."""
