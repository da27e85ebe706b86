"""Small histories, written the way a run records them."""

from typing import Any

from rumpus.checker.history import History, Op

MS = 1_000_000


class Recorded:
    """Collects records; times are given in milliseconds."""

    def __init__(self, clients: int = 3) -> None:
        self.clients = clients
        self.ops: list[Op] = []

    def add(self, ms: float, process: int | str, type_: str, f: str, value: Any = None, **more):
        self.ops.append(
            Op(
                index=len(self.ops),
                time=int(ms * MS),
                process=process,
                type=type_,  # type: ignore[arg-type]
                f=f,
                value=value,
                **more,
            )
        )
        return self

    def session(self, ms: float, process: int, f: str, **value):
        value = {"client": process % self.clients, "process": process, **value}
        return self.add(ms, "session", "info", f, value)

    def act(self, ms: float, process: int, *, token=None, accepted=True):
        order = sum(op.process == "witness" for op in self.ops)
        value = {
            "client": process % self.clients,
            "process": process,
            "token": token,
            "order": order,
            "accepted": accepted,
        }
        return self.add(ms, "witness", "info", "act", value)

    def acquire(self, called: float, returned: float, process: int, **value):
        value = {"session": f"0x{process + 1}", **value}
        return self.add(called, process, "invoke", "acquire").add(
            returned, process, "ok", "acquire", value
        )

    def release(self, called: float, returned: float, process: int, outcome: str = "ok"):
        return self.add(called, process, "invoke", "release").add(
            returned, process, outcome, "release"
        )

    def link(self, ms: float, client: int, path: str, event: str = "deleted"):
        value = {"client": client, "event": event, "path": path}
        return self.add(ms, "link", "info", "watch", value)

    def end(self, ms: float):
        return self.add(ms, "control", "info", "end")

    def history(self, *, truncated: bool = False) -> History:
        return History(self.ops, clients=self.clients, truncated=truncated)
