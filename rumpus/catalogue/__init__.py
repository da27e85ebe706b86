"""What rumpus has, by name: workloads, recipes, faults, mutant servers and models."""
