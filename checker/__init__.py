"""Pure functions from a history to a verdict. Knows nothing of docker, kazoo or the network."""
