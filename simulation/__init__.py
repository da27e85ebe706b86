"""A simulated world on virtual time, in one real process.

Its parts: kernel, loader, network, disks, ZooKeeper servers. Usable on its own: it imports nothing
from the rest of the project.
"""
