"""What a run leaves behind: the store, the report, JUnit, summaries."""
