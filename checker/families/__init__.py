"""What one family of recipes promises besides exclusion: queues, barriers, jobs and others."""
