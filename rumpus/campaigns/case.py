"""Cases: a failure kept in one small file, from which its run can be performed again.

A case is a JSON document::

    {
      "version": 1,
      "settings": {"workload": "lock", "recipe": "kazoo-bare", "clients": 2, "time_limit": 8},
      "seed": 7,
      "plan": {"version": 1, "entries": [...]},
      "expects": {"kind": "deadlock", "operations": ["acquire"], "faults": ["client-partition"]},
      "promised": true,
      "versions": {"kazoo": "2.11.0", "rumpus": "0.1.0"},
      "story": ["..."]
    }

``settings`` are options of ``rumpus run`` that differ from their defaults. The run is simulated
unless they say otherwise, or have a ``service``.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.plan import FaultPlan, validate
from rumpus.results.atomic_file import check_writable, named_file, write_atomically
from rumpus.results.escapes import in_file_name, in_json
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.store_error import StoreError
from rumpus.results.untrusted_file import read_regular
from rumpus.runs.option import checked
from rumpus.runs.run_settings import OPTIONS, RunSettings
from rumpus.usage_error import UsageError

VERSION: Final = 1

CASES: Final = Path("cases")
"""Where commands keep cases if nothing is said."""

IN_DIRECTORY: Final = "--cases DIR"
IN_FILE: Final = "-o FILE"
"""The options that choose another place for many cases, and for one."""

_LARGEST: Final = 1 << 20  # bytes; most cases have less than 4,000

_LONGEST_LINE: Final = 150
"""Characters of an object that is written on one line."""

SETTINGS: Final = {each.spelled: each for each in OPTIONS.values() if each.option.in_case}
"""The options that are settings of a case."""


class Finding(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What is known about a failure, in Markdown: a row of docs/track-record/findings.md.

    Args:
        number: by which other pages name it.
        what: the class, and what goes wrong, from the view of its users.
        where: the function, and why it goes wrong there.
        fault: what it takes.
        also: further anomalies that the case's run shows.
        since: versions that have shown it.
    """

    number: int
    what: str
    where: str
    fault: str
    also: tuple[str, ...] = ()
    since: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure that can be performed again.

    Args:
        version: of the format.
        settings: options of ``rumpus run`` by name, without defaults.
        seed: the run's.
        plan: its faults.
        expects: the fingerprint of the anomaly.
        promised: whether the recipe promises that it never happens.
        story: what led to it, line by line.
        versions: of the software that showed it.
        digest: of the simulated run that showed it. Another digest means another run, and with the
            same software that means that something in the program has changed.
        finding: what is known about it, if it is in docs/track-record/findings.md.
        upstream: the address of an issue that reports the flaw, if there is one.
        mutant: whether the recipe has its mistake on purpose.
        known: whether the failure is accepted for now: pytest expects its test to fail.
    """

    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)] = VERSION
    settings: dict[str, Any]
    seed: int
    plan: FaultPlan
    expects: Fingerprint
    promised: bool = True
    story: tuple[str, ...] = ()
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    digest: str | None = None
    finding: Finding | None = None
    upstream: str | None = None
    mutant: bool = False
    known: bool = False

    def task(self, **changes: Any) -> TrialTask:
        """The run to perform.

        Args:
            changes: options that are to differ.

        Raises:
            msgspec.ValidationError: a setting does not exist, is missing or has a wrong value.
        """
        unknown = sorted(self.settings.keys() - SETTINGS) + sorted(changes.keys() - OPTIONS)
        if unknown:
            raise msgspec.ValidationError(f"its settings may not have {', '.join(unknown)}")
        told = {SETTINGS[key].name: value for key, value in self.settings.items()}
        usual = "auto" if "service" in told else "sim"  # services are not simulated
        given = {"ensemble": usual, **told, "seed": self.seed, **changes}
        if "workload" not in given:
            raise msgspec.ValidationError("its settings must have workload")
        try:
            taken = checked(given, OPTIONS, spelled="{0.spelled}")
        except UsageError as error:
            raise msgspec.ValidationError(str(error)) from error
        return TrialTask(settings=RunSettings(argv=(), **taken), plan=self.plan)

    def name(self) -> str:
        """A file's name for it, without its ending: workload, recipe and kind of anomaly."""
        recipe = str(self.settings.get("recipe") or "").rpartition(".")[2] or "recipe"
        workload = str(self.settings["workload"]).rpartition(":")[2]
        return in_file_name(f"{workload}-{recipe}-{self.expects.kind}")

    def to_json(self) -> bytes:
        """The document, indented, with a newline at its end."""
        plain = msgspec.to_builtins(self)
        entries = [_without_defaults(entry) for entry in plain["plan"].get("entries", [])]
        rest = {name: each for name, each in plain["plan"].items() if name != "entries"}
        told = {
            name: _object(value) if isinstance(value, dict) else json.dumps(value)
            for name, value in plain.items()
            if value not in (None, [], {}) and (name not in ("mutant", "known") or value)
        }
        told["plan"] = f'{json.dumps(rest)[:-1]}, "entries": {_in_lines(entries)}}}'
        if self.story:
            told["story"] = _in_lines(self.story)
        lines = ",\n".join(f'  "{name}": {text}' for name, text in told.items())
        return in_json(f"{{\n{lines}\n}}\n".encode())


def _object(value: dict[str, Any]) -> str:
    """A JSON object on one line, or if that is too long with a field on each line."""
    line = json.dumps(value)
    if len(line) <= _LONGEST_LINE:
        return line
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items())
    return f"{{\n{rows}\n  }}"


def _in_lines(items: Sequence[Any]) -> str:
    """A JSON array with an item on each line."""
    rows = ",\n".join(f"    {json.dumps(item)}" for item in items)
    return f"[\n{rows}\n  ]" if rows else "[]"


def _without_defaults(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of a plan as plain data, without what need not be said."""
    targets = {name: value for name, value in entry["targets"].items() if value is not None}
    told = {**entry, "targets": targets}
    return {name: value for name, value in told.items() if value not in (None, {})}


def case_of(outcome: TrialOutcome, seen: Seen, **more: Any) -> Case:
    """The case of an anomaly that a run has shown: it happens after the kinds of fault of the run.

    Once the run is shrunk these are the kinds that the anomaly needs; before, some of them may do.

    Args:
        outcome: what the run showed.
        seen: the anomaly.
        more: further fields of the case.
    """
    settings = {
        key: getattr(outcome.settings, option.name)
        for key, option in SETTINGS.items()
        if option.is_given(outcome.settings)
    }
    if settings.get("ensemble") in ("sim", "auto"):
        del settings["ensemble"]
    plan = msgspec.structs.replace(outcome.plan, seed=None, notes=())
    return Case(
        settings=msgspec.to_builtins(settings),
        seed=outcome.seed,
        plan=plan,
        expects=seen.fingerprint.after(plan.kinds),
        promised=seen.promised,
        story=seen.story,
        versions=outcome.versions,
        digest=outcome.digest,
        **more,
    )


def load_case(path: Path) -> Case:
    """Read a case from a file.

    Raises:
        UsageError: it cannot be read, is malformed, or asks for what does not exist.
        UnreadableRun: it is no regular file, or is too large.
    """
    document = read_regular(path, "read the case", _LARGEST)
    return decode_case(document, str(path))


def decode_case(document: bytes, source: str) -> Case:
    """Read a case from JSON; ``source`` names it in errors.

    Raises:
        UsageError: it is malformed, or asks for what does not exist.
    """
    try:
        raw = msgspec.json.decode(document)
        if isinstance(raw, dict) and raw.get("version", VERSION) != VERSION:
            raise UsageError(
                f"{source}: a case of version {raw['version']}; this program reads {VERSION}"
            )
        for number, entry in enumerate(_entries(raw), start=1):
            if isinstance(entry, dict):
                entry.setdefault("id", number)
        case = msgspec.convert(raw, Case)
        settings = case.task().settings
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{source}: not a case: {error}") from error
    try:
        validate(
            case.plan,
            nodes=settings.nodes,
            clients=settings.clients,
            time_limit=settings.time_limit,
            source=f"{source}: plan",
        )
    except PlanError as error:
        raise UsageError(str(error)) from error
    return case


def _entries(raw: Any) -> list[Any]:
    """The entries of a case's plan, as far as they can be found in what was read."""
    plan = raw.get("plan") if isinstance(raw, dict) else None
    entries = plan.get("entries") if isinstance(plan, dict) else None
    return entries if isinstance(entries, list) else []


def save_case(case: Case, path: Path, option: str = "", *, named: bool = False) -> None:
    """Write a case to a file, whose directory is made if it is missing.

    Args:
        case: the case.
        path: the file.
        option: the command's option that chooses another place; empty if there is none.
        named: whether that option names the file itself: a link stands for what it leads to.

    Raises:
        StoreError: it cannot be written.
    """
    if named:
        path = named_file(path, option=option)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError.from_os_error(
            path.parent, "make the directory of cases", error, option=option
        ) from error
    write_atomically(path, case.to_json(), option=option)


def check_place_of_cases(directory: Path) -> None:
    """Find out, before runs are performed, whether a directory takes cases (``--cases DIR``).

    It may be one that is still to be made.

    Raises:
        StoreError: it does not.
    """
    check_writable(directory / "any.case.json", option=IN_DIRECTORY)


def check_place_of_case(output: Path | None) -> None:
    """The same of one case's file (``-o FILE``); None: some file of ``CASES``.

    Raises:
        StoreError: it cannot be written.
    """
    if output is None and CASES.is_symlink():
        # Nobody has named it, and whoever sent this directory may have made it.
        problem = f"it is a link to {CASES.resolve()}"
        raise StoreError(CASES, problem, f"name the file with {IN_FILE}, if that is where it goes")
    place = named_file(output, option=IN_FILE) if output else CASES / "any.case.json"
    check_writable(place, option=IN_FILE)
