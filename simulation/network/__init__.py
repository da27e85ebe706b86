"""A network of simulated hosts: TCP connections as their users see them."""
