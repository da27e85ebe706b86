"""The protocols between servers: leader election, and Zab with leader and learners."""
