"""ZooKeeper's own promises: what its clients may rely on without linearizable reads.

From the ZooKeeper Programmer's Guide, "Consistency Guarantees" and "What ZooKeeper Guarantees
about Watches", and Hunt et al., ZooKeeper: wait-free coordination for internet-scale systems,
USENIX ATC 2010, section 2.3 (linearizable writes, FIFO client order). Terry et al., Session
guarantees for weakly consistent replicated data, PDIS 1994, has the names of the session's.

How a history records them (`checker.guarantees.znode_operations`): operations on znodes whose
results carry what the server's Stat says::

    write   {key, value}      -> {version, zxid}         the Stat after setData
    create  {key, value}      -> {version, zxid}         version 0, zxid the czxid
    read    {key}             -> {value, version, zxid}  zxid is the mzxid; null if there is no node
    watch   {key}             -> as read                 a read that leaves a watch
    event   {key}             -> nothing, or {zxid}      the watch's event has arrived
    sync                      -> nothing                 false: no live quorum all the time

``key`` is the path, and may be missing where there is one znode only. ``session`` in any of them
says whose view it is; where it is recorded nowhere, each process is a session of its own. After
an expiry the new session is another one, and may see an older state.
"""
