"""All checks: those of the product, and those that need control of the servers."""

from rumpus.conformance import server_checks
from rumpus.conformance.registry import Check
from rumpus.conformance.server_checks import perform
from tests.conformance import checks_ensemble, checks_files
from tests.conformance.deployment import Deployment

MODULES = (*server_checks.MODULES, checks_files, checks_ensemble)
"""In the order of their numbers; importing them fills the registry."""


PROPERTIES = {82: {"extendedTypesEnabled": "true"}}
"""System properties that some checks need; all others are for the defaults."""


def perform_alone(check: Check, deployment: Deployment) -> None:
    """Try one check on servers of its own, which are torn down after it."""
    try:
        perform(check, deployment)
    finally:
        deployment.tear_down()
