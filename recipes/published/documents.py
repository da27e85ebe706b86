"""The documents whose recipes are put to the test, by letter and title."""

from collections.abc import Mapping
from typing import Final

DOCUMENTS: Final[Mapping[str, str]] = {
    "G": "Zookeeper を簡単に説明する (パート 2) Zookeeper に基づく分散ロックとリーダー選出",
    "L": "zookeeper學習",
    "A": "私たちのシステムにはどのような分散ロックが必要ですか?",
    "C": "ZooKeeper分散ロック原理の徹底解析",
    "P": "ZooKeeper Recipes and Solutions 两段式提交和选主",
}
"""Letter -> title, in the document's own language."""


def document_of(printed: str) -> str:
    """The letter of the document that a ``printed`` begins with, as in ``L 3.2``.

    Raises:
        ValueError: it begins with no document's letter.
    """
    letter = printed.partition(" ")[0]
    if letter not in DOCUMENTS:
        raise ValueError(f"{printed!r} names none of the documents {', '.join(DOCUMENTS)}")
    return letter
