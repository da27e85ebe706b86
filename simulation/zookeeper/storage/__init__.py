"""A server's files: the transaction log, snapshots, epochs, configuration."""
