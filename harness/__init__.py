"""One run from start to end: generator, interpreter, workers, links, ensembles, witness."""
