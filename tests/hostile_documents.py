"""Documents in which every text is a given one, made from their types: no new field is left out."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import msgspec.inspect as types

from rumpus.campaigns.case import SETTINGS, Case
from rumpus.checker.history import History
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.record import RunRecord
from rumpus.runs.run_settings import RunSettings

KEPT = frozenset({"id", "phase", "session"})
"""Texts in the values of a history by which rumpus joins records: they are never printed alone."""


def filled(kind: Any, text: str) -> Any:
    """A value of a type in which every text that may be any text is this one; lists have two."""
    return _filled(types.type_info(kind), text)


def _filled(kind: types.Type, text: str) -> Any:
    if isinstance(kind, types.StrType):
        return text
    if isinstance(kind, types.AnyType):
        return {text: [text]}
    if isinstance(kind, types.BoolType):
        return True
    if isinstance(kind, types.IntType | types.FloatType):
        return max(kind.ge or 0, 1)
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.DateTimeType):
        return datetime(2026, 1, 1, tzinfo=UTC)
    if isinstance(kind, types.LiteralType):
        return kind.values[0]
    if isinstance(kind, types.UnionType):
        return _filled(next(t for t in kind.types if not isinstance(t, types.NoneType)), text)
    if isinstance(kind, types.TupleType):
        return tuple(_filled(item, text) for item in kind.item_types)
    if isinstance(kind, types.DictType):
        return {_filled(kind.key_type, text): _filled(kind.value_type, text)}
    if isinstance(kind, types.StructType | types.DataclassType):
        fields = {each.name: _filled(each.type, text) for each in kind.fields}
        return kind.cls(**fields | _special(kind.cls, text))
    if isinstance(kind, types.CustomType):
        return kind.cls(text)
    makers = {types.ListType: list, types.SetType: set, types.FrozenSetType: frozenset}
    return makers.get(type(kind), tuple)([_filled(kind.item_type, text)] * 2)


def _special(kind: type, text: str) -> dict[str, Any]:
    """Fields that have any value by their types, and the values that they are expected to have."""
    if kind is Case:
        settings = filled(RunSettings, text)
        told = {key: getattr(settings, option.name) for key, option in SETTINGS.items()}
        told |= dict.fromkeys(("kazoo", "patch"), text.replace("\0", ""))  # as no path has it
        plain = msgspec.to_builtins(told)
        of_form = {"ensemble": "sim", "usage": "", "service": [], "private": [], "shared": []}
        return {"settings": plain | of_form}
    if kind is RunRecord:
        options = dict.fromkeys(("server_mutant", "kazoo", "usage", "preemption", text), text)
        options["kazoo"] = text.replace("\0", "")
        own = {text: None}
        plan = msgspec.to_builtins(filled(FaultPlan, text))
        return {"options": {**options, "own_faults": own}, "plan": plan}
    return {}


def with_text(history: History, text: str) -> History:
    """A history in which what clients, servers and faults have said is this text.

    Its operations, their kinds of outcome, its sessions' changes and its times stay.
    """
    records = []
    for op in history:
        client = isinstance(op.process, int)
        records.append(
            msgspec.structs.replace(
                op,
                f=text if client else op.f,
                value=_replaced(op.value, text),
                error=text if op.type in ("fail", "info") else op.error,
            )
        )
    return History(records, clients=history.clients)


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, dict):
        return {k: v if k in KEPT else _replaced(v, text) for k, v in value.items()}
    return [_replaced(each, text) for each in value] if isinstance(value, list) else value
