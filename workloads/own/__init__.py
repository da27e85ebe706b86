"""Recipes from other repositories: adapters by which a workload drives any object."""
