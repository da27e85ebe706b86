"""Mistakes that are made by machine: what would a recipe's trial notice?"""
