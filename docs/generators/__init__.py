"""Programs that make the tables on the pages of ``docs/`` from the code."""
