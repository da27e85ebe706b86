"""Gives out numbers: of invoices, say."""
