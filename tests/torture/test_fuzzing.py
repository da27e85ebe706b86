"""Documents that are changed after parsing, some of many; ``make torture`` has the rest of them."""

import contextlib
import json
from collections import Counter
from copy import deepcopy
from random import Random

import pytest

from rumpus.results.history_file import read_history
from rumpus.results.store_error import StoreError
from tests.torture import documents
from tests.torture.fuzzing import CORPUS, Fuzzer, taken
from tests.torture.operations import change_operation

COUNT = 500
KEPT = sorted(CORPUS.glob("*.json"))


def test_documents_that_get_past_their_readers(tmp_path):
    fuzzer = Fuzzer()
    ways: Counter[tuple[str, bool]] = Counter()
    for number in range(COUNT):
        name, document = fuzzer.document(number)
        ways[name, taken(fuzzer.kinds[name], document, tmp_path / "here")] += 1
    read = sum(many for (_, was_taken), many in ways.items() if was_taken)
    assert read > COUNT / 2
    assert {name for name, was_taken in ways if was_taken} == fuzzer.kinds.keys()


def test_a_history_with_a_changed_operation_is_one_still(tmp_path):
    path, read, changed = tmp_path / "history.jsonl", 0, 0
    examples = documents.kinds()["histories"].examples
    for number in range(COUNT // 5):
        chance = Random(number)
        example = chance.choice(examples)
        history = deepcopy(example)
        change_operation(history, chance)
        path.write_text(documents.lines(history))
        changed += history != example
        with contextlib.suppress(StoreError):
            read += bool(list(read_history(path)))
    assert changed > COUNT / 5 / 2
    assert read > COUNT / 5 * 0.9


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_was_a_defect_once(path, tmp_path):
    kept = json.loads(path.read_text())
    kind = Fuzzer().kinds[kept["kind"]]
    assert taken(kind, kept["document"], tmp_path / "here") == kept["taken"]
