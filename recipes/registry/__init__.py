"""Service discovery."""

from rumpus.recipes.registry.service_registry import ServiceRegistry

__all__ = ["ServiceRegistry"]
