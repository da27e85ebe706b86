"""Virtual time, seeded scheduling, simulated processes and tasks, and the trace of it all."""
