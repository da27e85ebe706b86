"""What a workload declares, and what the framework derives from it."""
