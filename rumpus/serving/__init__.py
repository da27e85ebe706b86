"""``rumpus serve``: the pages of nights, runs in progress, and their files, over HTTP."""
