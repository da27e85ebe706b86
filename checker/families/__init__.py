"""Checks of promises that one family of recipes makes: queues, barriers, jobs and others."""
