"""Checks that every run gets, whatever its workload."""
