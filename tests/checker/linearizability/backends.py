"""Both twins of the search, as far as they are there."""

import pytest

from rumpus.checker.linearizability.search import C

needs_c = pytest.mark.skipif(C is None, reason="the C extension was not built")
both = pytest.mark.parametrize("backend", ["python", pytest.param("c", marks=needs_c)])
