"""What the servers' files say: transaction logs, snapshots, epochs."""
