"""What a workload declares, and what follows from that."""
