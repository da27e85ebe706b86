"""A world on virtual time in one process: kernel, loader, network, disks, ZooKeeper servers.

Usable on its own: it knows nothing of the rest of the project.
"""
