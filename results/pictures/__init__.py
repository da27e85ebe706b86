"""Drawings: timelines, latencies and the witnesses of anomalies."""
