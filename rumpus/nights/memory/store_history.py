"""What the store of nights tells of many runs at once, whatever was thinned out."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from rumpus.nights.memory.evidence import Moments
from rumpus.nights.memory.store_file import StoreFile
from rumpus.nights.memory.store_keys import keyed, keyed_versions
from rumpus.nights.memory.store_rows import NOT_PERFORMED, SubjectPast, Tally, from_json


def tallies(
    file: StoreFile,
    nights: Sequence[str] | None,
    version: tuple[str, str] | None,
    *,
    figures: bool,
) -> list[Tally]:
    """The counts and sums of batches, oldest night first.

    Args:
        file: the store's.
        nights: the names of the nights to tell of; None: of all.
        version: a software, and the version of it that the runs used; None: whichever.
        figures: whether to tell of figures; they are most of what there is to read.
    """
    conditions, values = ["TRUE"], []
    if nights is not None:
        conditions.append("nights.name IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(nights)))
    if version is not None:
        conditions.append("b.version_set_id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(version_sets(file, *version)))
    chosen = (
        "batches b JOIN nights ON nights.id = b.night_id "
        "JOIN subjects ON subjects.id = b.subject_id "
        "JOIN version_sets ON version_sets.id = b.version_set_id "
        f"WHERE {' AND '.join(conditions)}"
    )
    of_these = f"batch_id IN (SELECT b.id FROM {chosen})"  # noqa: S608 - written here
    query = f"SELECT batch_id, outcome, runs FROM outcomes WHERE {of_these}"  # noqa: S608
    outcomes = _by_batch(file.rows(query, values))
    query = (
        "SELECT s.batch_id, f.identifier, s.runs FROM sightings s "  # noqa: S608
        f"JOIN failures f ON f.id = s.failure_id WHERE s.{of_these}"
    )
    shown = _by_batch(file.rows(query, values))
    query = f"SELECT batch_id, figure, count, total, squares FROM figure_sums WHERE {of_these}"  # noqa: S608
    sums = file.rows(query, values) if figures else []
    moments = _by_batch((batch, name, Moments(*each)) for batch, name, *each in sums)
    names, branches = keyed(file, "nights", "name"), keyed(file, "nights", "branch")
    subjects, versions = keyed(file, "subjects", "key"), keyed_versions(file)
    rows = file.rows(
        "SELECT b.id, b.night_id, b.subject_id, b.role, b.name, b.kind, b.version_set_id, "  # noqa: S608
        "(SELECT SUM(seconds) FROM outcomes o WHERE o.batch_id = b.id) "
        f"FROM {chosen} ORDER BY nights.began, nights.id, b.id",
        values,
    )
    return [
        Tally(
            night=names[night],
            branch=branches[night],
            subject=subjects[subject],
            role=role,
            name=name,
            kind=kind,
            versions=versions[version_set],
            outcomes=outcomes.get(batch, {}),
            shown=shown.get(batch, {}),
            figures=moments.get(batch, {}),
            seconds=seconds,
        )
        for batch, night, subject, role, name, kind, version_set, seconds in rows
    ]


def version_sets(file: StoreFile, software: str, version: str) -> list[int]:
    """The keys, in the tables, of the sets of versions that have a version of a software."""
    return [key for key, each in keyed_versions(file).items() if each.get(software) == version]


def subjects_last(file: StoreFile) -> dict[str, SubjectPast]:
    """By the ``key`` of a subject, what is known from its runs so far; only role ``run``."""
    names, subjects = keyed(file, "nights", "name"), keyed(file, "subjects", "key")
    versions = keyed_versions(file)
    rows = file.rows(
        "SELECT b.subject_id, b.night_id, b.last_at, b.version_set_id, o.outcome, o.runs, "
        "o.seconds FROM batches b JOIN nights ON nights.id = b.night_id "
        "JOIN subjects ON subjects.id = b.subject_id "
        "JOIN version_sets ON version_sets.id = b.version_set_id "
        "JOIN outcomes o ON o.batch_id = b.id "
        "WHERE b.role = 'run' ORDER BY nights.began, nights.id, b.last_at, b.id"
    )
    sources = dict(
        file.rows(
            "SELECT subjects.key, sources.source FROM sources "
            "JOIN nights ON nights.id = sources.night_id "
            "JOIN subjects ON subjects.id = sources.subject_id ORDER BY nights.began, nights.id"
        )
    )
    by_subject: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for subject, night, at, version_set, *row in rows:
        told = (names[night], at, versions[version_set], *row)
        by_subject[subjects[subject]].append(told)
    return {
        subject: _past(of_subject, sources.get(subject, ""))
        for subject, of_subject in by_subject.items()
    }


def _past(rows: Sequence[tuple[Any, ...]], source: str) -> SubjectPast:
    """What is known of one subject, by its rows in the order of time."""
    newest, _, versions, *_ = rows[-1]
    outcomes = {outcome for night, _, _, outcome, *_ in rows if night == newest}
    done = [(runs, seconds) for *_, outcome, runs, seconds in rows if outcome != NOT_PERFORMED]
    performed = sum(runs for runs, _ in done)
    return SubjectPast(
        last=max(at for _, at, *_ in rows),
        night=newest,
        failed="violation" in outcomes,
        unperformed=NOT_PERFORMED in outcomes,
        versions=versions,
        source=source,
        seconds=sum(seconds for _, seconds in done) / performed if performed else 0.0,
        runs=sum(runs for *_, runs, _ in rows),
    )


def sightings(file: StoreFile, failure: str, roles: Sequence[str]) -> list[tuple[str, int, int]]:
    """How often each night saw a failure; see ``Store.sightings``."""
    marks = ", ".join("?" * len(roles))
    rows = file.rows(
        f"""
        SELECT nights.name, SUM(COALESCE(
            (SELECT s.runs FROM sightings s WHERE s.failure_id = f.id AND s.batch_id = b.id), 0
        )), SUM(
            (SELECT COALESCE(SUM(runs), 0) FROM outcomes o
             WHERE o.batch_id = b.id AND o.outcome != '{NOT_PERFORMED}')
        ) AS performed
        FROM failures f
        JOIN subjects ON subjects.thing = f.workload || ' / ' || f.recipe
        JOIN batches b ON b.subject_id = subjects.id AND b.role IN ({marks})
        JOIN nights ON nights.id = b.night_id
        WHERE f.identifier = ?
        GROUP BY nights.id HAVING performed > 0 ORDER BY nights.began DESC, nights.id DESC
        """,  # noqa: S608 - written here
        [*roles, failure],
    )
    return [(name, shown, performed) for name, shown, performed in rows]


def faults(file: StoreFile) -> dict[str, dict[str, int]]:
    """How many valid runs had which kinds of fault; see ``Store.faults``."""
    rows = file.rows(
        "SELECT nights.name, r.faults, COUNT(*) FROM runs r JOIN batches b ON b.id = r.batch_id "
        "JOIN nights ON nights.id = b.night_id "
        "WHERE b.role = 'run' AND r.outcome = 'valid' GROUP BY nights.id, r.faults"
    )
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for night, text, runs in rows:
        for kind in set(from_json(text, list[str])):
            found[night][kind] += runs
    return {night: dict(sorted(kinds.items())) for night, kinds in found.items()}


def canary_past(file: StoreFile) -> dict[str, tuple[int, int]]:
    """By the name of a canary, how many of its runs were violations, and how many performed."""
    rows = file.rows(
        "SELECT b.name, SUM(CASE o.outcome WHEN 'violation' THEN o.runs ELSE 0 END), SUM(o.runs) "
        "FROM batches b JOIN outcomes o ON o.batch_id = b.id "
        "WHERE b.role = 'canary' AND o.outcome != ? GROUP BY b.name ORDER BY b.name",
        [NOT_PERFORMED],
    )
    return {name: (caught, runs) for name, caught, runs in rows}


def _by_batch(rows: Iterable[tuple[Any, ...]]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    for batch, name, value in rows:
        found[batch][name] = value
    return found
