"""Documents that are changed after parsing, some of many; ``make torture`` has the rest of them."""

import json
from collections import Counter

import pytest

from tests.torture.fuzzing import CORPUS, Fuzzer, taken

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


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_was_a_defect_once(path, tmp_path):
    kept = json.loads(path.read_text())
    kind = Fuzzer().kinds[kept["kind"]]
    assert taken(kind, kept["document"], tmp_path / "here") == kept["taken"]
