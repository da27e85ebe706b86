"""Virtual time, seeded scheduling, simulated processes and tasks, and a trace of all events."""
