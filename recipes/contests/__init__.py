"""The common core of locks, elections and semaphores: clients contend, and one or a few win."""
