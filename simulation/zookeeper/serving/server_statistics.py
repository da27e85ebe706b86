"""The counters that ``srvr``, ``stat``, ``cons`` and ``mntr`` show (``ServerStats``)."""


class ServerStatistics:
    """Counts of packets, and latencies in ms from reading a request to answering it."""

    __slots__ = ("count", "longest", "received", "sent", "shortest", "total")

    def __init__(self) -> None:
        self.received = 0
        self.sent = 0
        self.count = 0
        self.total = 0
        self.shortest = 0
        self.longest = 0

    def answered(self, latency: int) -> None:
        """Count a request that was answered by one packet; ``latency`` in milliseconds."""
        self.sent += 1
        if latency:
            self.total += latency
            self.longest = max(self.longest, latency)
            if latency < self.shortest or not self.count:
                self.shortest = latency
        else:
            self.shortest = 0
        self.count += 1

    @property
    def average(self) -> float:
        """Mean latency, rounded to 4 decimals, half up; 0 if nothing was answered."""
        if not self.count:
            return 0.0
        return (self.total * 20_000 // self.count + 1) // 2 / 10_000
