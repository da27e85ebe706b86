"""Deciders of locks, semaphores and read-write locks."""
