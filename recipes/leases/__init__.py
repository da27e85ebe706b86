"""Locks that end by themselves after a time, on servers of any system."""
