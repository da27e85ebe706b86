"""Files by which a scheduler performs nights, and a first guess of what they run."""
