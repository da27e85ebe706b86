"""Simulated disks: what is written, what is safe, and what a crash leaves."""
