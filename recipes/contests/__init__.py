"""The core of locks, elections and semaphores: a place that few contenders have at a time."""
