"""A run on virtual time: simulated servers, clients and links."""
