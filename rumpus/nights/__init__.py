"""Nights: scheduled campaigns that remember what they have seen, and say what is new."""
