"""An entry of a recipe catalogue: a sound recipe, or a mutant and its known mistake.

Recipes do not import this module. What a test needs to know about a mutant is in the catalogues,
so production code can import recipes without it.
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
        expected: the kinds of anomaly by which the checker detects the mistake.
        printed: the place in a published document that contains the same mistake, if there is one
            (see ``recipes.published.documents``).
        options: further options of ``rumpus run`` without which the mistake cannot show.
    """

    recipe: type[Recipe_co]
    mistake: str = ""
    expected: frozenset[str] = frozenset()
    printed: str = ""
    options: tuple[str, ...] = ()

    @property
    def faulty(self) -> bool:
        """Whether it is a mutant."""
        return bool(self.mistake)


def sound(recipe: type[Kind]) -> CatalogueEntry[Kind]:
    """The entry of a recipe that keeps its promises."""
    return CatalogueEntry(recipe)


def mutant(
    recipe: type[Kind],
    mistake: str,
    expected: AbstractSet[str],
    printed: str = "",
    options: tuple[str, ...] = (),
) -> CatalogueEntry[Kind]:
    """The entry of a recipe with one known mistake; arguments as for ``CatalogueEntry``."""
    return CatalogueEntry(recipe, mistake, frozenset(expected), printed, options)


def variant(sound: type[Kind], *mistakes: type[Any], **parts: type[Any] | bool) -> type[Kind]:
    """A subclass of a sound class with something replaced.

    Args:
        sound: the class.
        mistakes: classes whose methods override those of the sound class.
        parts: replacements for class attributes of the sound class, by attribute name.

    Raises:
        AttributeError: the sound class has no attribute of that name.
    """
    for part in parts:
        getattr(sound, part)
    name = "".join(
        each.__name__ for each in (*mistakes, *parts.values(), sound) if isinstance(each, type)
    )
    made = new_class(name, (*mistakes, sound), exec_body=lambda body: body.update(parts))
    return cast("type[Kind]", made)
