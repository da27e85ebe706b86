"""The connections between clients and servers, as targets of faults."""
