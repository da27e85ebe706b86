"""Words that several checks and pages have in common."""


def counted(count: int, noun: str) -> str:
    """A number with its noun: ``1 hazard``, ``2 hazards``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
