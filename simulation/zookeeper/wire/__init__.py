"""What goes over the wire: records, requests, error codes."""
