"""How the failures of a night stand: new, known or expected."""

from collections.abc import Sequence

from rumpus.nights.documents.document import FailureResult, NightDocument
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.records import NightRow


def document_of(gathered: Gathered, night: NightRow) -> NightDocument:
    """What a night has said of itself; one that goes on, or has not said it, has said nothing."""
    told = gathered.documents.get(night.name) if night.ended is not None else None
    return told or NightDocument(night=night)


def standing(gathered: Gathered, night: NightRow) -> Sequence[FailureResult]:
    """The failures that runs of a night have shown, as the night itself has judged them.

    Where it has not, one is new in the first night that saw it. Those that have got another
    fingerprint since are judged so, too.
    """
    told = {each.failure.id: each for each in document_of(gathered, night).failures}
    found = []
    for failure, nights in gathered.shown.items():
        row = gathered.failures.get(failure)
        if night.name not in nights or row is None:
            continue
        said = told.get(failure)
        state = "new" if row.first_night == night.name else "known"
        found.append(
            FailureResult(
                failure=row,
                state=said.state if said is not None else state,  # type: ignore[arg-type]
                runs=nights[night.name],
                owner=said.owner if said is not None else "",
                why=said.why if said is not None else "",
            )
        )
    order = ("new", "known", "expected", "base")
    return sorted(found, key=lambda each: (order.index(each.state), -each.runs, each.failure.id))
