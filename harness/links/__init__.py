"""The connections between clients and servers, as something that can be broken."""
