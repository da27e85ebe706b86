"""Reading the servers' files (transaction logs, snapshots, epochs) and what they prove."""
