"""Permissions and access control lists (ACLs), as they stand in records."""

READ = 1
WRITE = 2
CREATE = 4
DELETE = 8
ADMIN = 16
ALL = 31

Acl = tuple[tuple[int, str, str], ...]
"""Entries of (permissions, scheme, id)."""

AskedAcl = tuple[tuple[int, str | None, str | None], ...]
"""An ACL as a client sends it: any string may be null."""

OPEN: Acl = ((ALL, "world", "anyone"),)
READ_ONLY: Acl = ((READ, "world", "anyone"),)
