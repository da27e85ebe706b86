"""A network of simulated hosts: TCP connections as programs see them."""
