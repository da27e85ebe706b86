"""A defect of etcd that breaks what a lease promises that is kept alive."""

from typing import Final

REVOKES: Final = (
    "a leader of etcd before 3.4.31 and 3.5.13 (Debian has 3.4.23) that was frozen while another "
    "was elected revokes, when it goes on, the leases that the other has kept alive "
    "(etcd-io/etcd#15247)"
)
