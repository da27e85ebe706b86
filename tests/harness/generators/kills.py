"""Kills of clients, drawn by Hypothesis."""

from hypothesis import strategies as st

from tests.harness.generators.dry_run import MILLISECOND, Kill


def kills(clients, *, until, away=40 * MILLISECOND):
    """Kills at any time up to ``until``, each for at most ``away`` (both in nanoseconds)."""
    return st.builds(Kill, st.integers(0, until), st.integers(0, clients - 1), st.integers(1, away))
