"""What people read: the report, the summary, the terminal; and JUnit for machines."""
