"""An ensemble of real servers in Docker containers."""
