"""The answer to a question about a history, apart from the verdict on a run."""

from typing import Literal

Valid = bool | Literal["unknown"]
"""True, False, or ``"unknown"`` if the history does not settle the question."""
