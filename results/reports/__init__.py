"""A run's results for people (HTML report, summary, terminal) and for CI servers (JUnit)."""
