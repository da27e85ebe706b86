"""What a family's catalogue says of a recipe: sound, or a mutant with its mistake.

Recipes know nothing of this: what a test needs to know of a mutant stands in the catalogues, and
production code imports recipes without it.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import new_class
from typing import Any, Generic, TypeVar, cast

Kind = TypeVar("Kind")
Recipe_co = TypeVar("Recipe_co", covariant=True)


@dataclass(frozen=True)
class CatalogueEntry(Generic[Recipe_co]):
    """A recipe of a catalogue.

    Args:
        recipe: the class.
        mistake: a mutant's known mistake, in words; empty for a sound recipe.
        expected: the kinds of anomaly that give the mistake away.
        printed: where a document prints the mistake (``recipes.published.documents``), if one does.
    """

    recipe: type[Recipe_co]
    mistake: str = ""
    expected: frozenset[str] = frozenset()
    printed: str = ""

    @property
    def faulty(self) -> bool:
        """Whether it is a mutant."""
        return bool(self.mistake)


def sound(recipe: type[Kind]) -> CatalogueEntry[Kind]:
    """The entry of a recipe that keeps its promises."""
    return CatalogueEntry(recipe)


def mutant(
    recipe: type[Kind], mistake: str, expected: AbstractSet[str], printed: str = ""
) -> CatalogueEntry[Kind]:
    """The entry of a recipe with one known mistake; arguments as for ``CatalogueEntry``."""
    return CatalogueEntry(recipe, mistake, frozenset(expected), printed)


def variant(sound: type[Kind], *mistakes: type[Any], **parts: type[Any] | bool) -> type[Kind]:
    """A subclass of a sound class with something replaced.

    Args:
        sound: the class.
        mistakes: classes whose methods go before those of the sound one.
        parts: class attributes of the sound one, by name, with their replacements.

    Raises:
        AttributeError: the sound class has no such part.
    """
    for part in parts:
        getattr(sound, part)
    name = "".join(
        each.__name__ for each in (*mistakes, *parts.values(), sound) if isinstance(each, type)
    )
    made = new_class(name, (*mistakes, sound), exec_body=lambda body: body.update(parts))
    return cast("type[Kind]", made)
