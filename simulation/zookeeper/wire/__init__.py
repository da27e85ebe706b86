"""The client protocol: records, requests, operation and error codes."""
