"""Servers among themselves: election, leader, learners."""
