"""Runs on several hosts; the one that is elected writes reports, until its session is in doubt."""

import threading
from collections.abc import Callable

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState

PERIOD_S = 0.05
PAUSE_S = 0.1


class ReportService:
    def __init__(self, hosts: str, name: str, write_report: Callable[[str], None]) -> None:
        self.name = name
        self.write_report = write_report
        self.client = KazooClient(hosts, timeout=2.0)
        self.client.add_listener(self._connection_changed)
        self.election = self.client.Election("/reports/leader", name)
        self.leads = False
        self._stopped = threading.Event()
        self._in_doubt = threading.Event()
        self._thread = threading.Thread(target=self._campaign)

    def start(self) -> None:
        self.client.start()
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._in_doubt.set()
        self.election.cancel()
        self._thread.join()
        self.client.stop()
        self.client.close()

    def _campaign(self) -> None:
        while not self._stopped.is_set():
            self._in_doubt.clear()
            try:
                self.election.run(self._lead)
            except KazooException:
                self._stopped.wait(PAUSE_S)  # no server answers: try again

    def _lead(self) -> None:
        self.leads = True
        try:
            while not self._stopped.is_set() and not self._in_doubt.is_set():
                self.write_report(self.name)
                self._in_doubt.wait(PERIOD_S)
        finally:
            self.leads = False

    def _connection_changed(self, state: str) -> None:
        if state != KazooState.CONNECTED:
            self._in_doubt.set()
