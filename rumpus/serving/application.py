"""The server's answers: pages of a store, runs, and files, to whoever asks from this machine."""

import ipaddress
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rumpus.nights.memory.store import Store
from rumpus.nights.pages.gathering import gather
from rumpus.nights.pages.places import INDEX
from rumpus.nights.pages.rendering import rendered
from rumpus.nights.pages.site import Page, Site
from rumpus.results.store_error import StoreError
from rumpus.serving.following import Follower, is_ours, state_of, what_of
from rumpus.serving.served_files import inside, kind_of, listed, newest_runs, opened
from rumpus.usage_error import UsageError

RUNS: Final = "runs/"
ALSO: Final[Sequence[tuple[str, str]]] = ((RUNS, "Runs"),)
"""Where pages lead beside the pages of nights."""

REFRESH_S: Final = 2
"""How often a run in progress is looked at."""

NIGHT_S: Final = 30
"""How often the first page is asked for again while a night goes on."""

_FOLLOWED: Final = 20
"""How many runs are followed at once."""

_HEADERS: Final = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_OURS: Final = "frame-ancestors 'none'"
"""What our own pages, which have a policy themselves, cannot say in it."""

_OTHER_HOST: Final = "another name is served: ask by address, or serve with --host NAME\n"

_App = Callable[[Any, Any, Any], Awaitable[None]]


class Answers:
    """What is answered.

    Args:
        store: where nights are kept; it need not be there yet.
        runs: the directory of runs.

    Attributes:
        goes_on: whether the newest night has not ended.
    """

    def __init__(self, store: Path, runs: Path) -> None:
        self.goes_on = False
        self._store, self._runs = store, runs
        self._lock = threading.Lock()
        self._stamp: object = None
        self._pages: dict[str, Page] = {}
        self._texts: dict[str, str] = {}
        self._followers: OrderedDict[Path, Follower] = OrderedDict()

    def page(self, place: str) -> str | None:
        """A page of the store as it is now; None if there is none of that place.

        Raises:
            UsageError, UnreadableRun, StoreError: the store cannot be read.
        """
        with self._lock:
            self._look()
            page = self._pages.get(place)
            if page is None:
                return None
            if place not in self._texts:
                self._texts[place] = page.make()
            return self._texts[place]

    def _look(self) -> None:
        """Read the store anew if it has changed."""
        stamp = [_stamp(self._store.with_name(self._store.name + end)) for end in ("", "-wal")]
        if stamp == self._stamp:
            return
        with Store.opened(self._store) as store:
            gathered = gather(store)
        self._pages = {page.place: page for page in Site(gathered, ALSO).pages()}
        self.goes_on = any(night.ended is None for night in gathered.nights[-1:])
        self._texts.clear()
        self._stamp = stamp

    def folder(self, path: Path, place: str) -> str:
        """The page of a directory, of a run for example."""
        entries, more = listed(path)
        if place == RUNS:
            runs = [_row(run, path) for run in newest_runs(path)]
            return rendered("runs.html.j2", place, also=ALSO, runs=runs, entries=entries, more=more)
        run = None
        if (path / "test.json").is_file():
            with self._lock:
                run = self._follower(path).progress()
        return rendered(
            "folder.html.j2",
            place,
            also=ALSO,
            refresh=REFRESH_S if run is not None and run.live else 0,
            name="/".join(place.rstrip("/").split("/")[1:]),
            run=run,
            report=is_ours(path, "report.html"),
            entries=entries,
            more=more,
        )

    def _follower(self, path: Path) -> Follower:
        follower = self._followers.pop(path, None) or Follower(path)
        self._followers[path] = follower
        if len(self._followers) > _FOLLOWED:
            self._followers.popitem(last=False)
        return follower

    async def answer_page(self, request: Request) -> Response:
        """Answer with a page of the store, or a failure's case."""
        place = request.path_params.get("place") or INDEX
        try:
            text = await run_in_threadpool(self.page, place)
        except (UsageError, StoreError) as error:
            return PlainTextResponse(f"{error}\n", 503)
        if text is None:
            return _missing()
        kind = "text/html" if place.endswith(".html") else "text/plain"
        answer = _sent(text, kind)
        if place == INDEX and self.goes_on:
            answer.headers["refresh"] = f"{NIGHT_S}"
        return answer

    async def answer_file(self, request: Request) -> Response:
        """Answer with a file under the directory of runs, or with a folder of it."""
        place = request.path_params.get("place", "")
        path = await run_in_threadpool(inside, self._runs, place)
        if path is None:
            return _missing()
        if path.is_dir():
            if place and not place.endswith("/"):
                return RedirectResponse(f"./{quote(place.rpartition('/')[2])}/", headers=_HEADERS)
            text = await run_in_threadpool(self.folder, path, RUNS + place)
            return _sent(text, "text/html")
        found = await run_in_threadpool(opened, path)
        if found is None:
            return _missing()
        size, pieces = found
        kind, policy = await run_in_threadpool(kind_of, path)
        headers = {**_HEADERS, "content-length": str(size)}
        headers |= {"content-security-policy": policy} if policy else {}
        if kind == "application/octet-stream":
            headers["content-disposition"] = "attachment"
        return StreamingResponse(pieces, headers=headers, media_type=kind)


class KnownHosts:
    """Refuses requests for other hosts: a page elsewhere must not read these by a name of its own.

    Args:
        app: who answers the others.
        host: the name or the address by which it is served. Addresses are no names, so all of them
            may be asked for.
    """

    def __init__(self, app: _App, host: str) -> None:
        self._app, self._host = app, host.lower()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or refuse."""
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
            if not self.knows(given):
                refusal = PlainTextResponse(_OTHER_HOST, 421)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def knows(self, given: str) -> bool:
        """Whether a request's host, with or without a port, is served."""
        name = given.rpartition("]")[0][1:] if given.startswith("[") else given.partition(":")[0]
        if name in ("localhost", self._host):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def application(answers: Answers, host: str) -> _App:
    """The application, as servers of ASGI take it.

    Args:
        answers: what is answered.
        host: the name or the address by which it is served.
    """
    routes = [
        Route("/", answers.answer_page),
        Route("/runs/{place:path}", answers.answer_file),
        Route("/{place:path}", answers.answer_page),
    ]
    return KnownHosts(Starlette(routes=routes), host)


def _row(run: Path, root: Path) -> tuple[str, str, str, str, str]:
    name = run.relative_to(root).as_posix()
    state, tone, _ = state_of(run)
    return name, f"{name}/", state, tone, what_of(run)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _sent(text: str, kind: str) -> Response:
    headers = {**_HEADERS, "content-security-policy": _OURS}
    return Response(text.encode(errors="replace"), headers=headers, media_type=kind)


def _missing() -> Response:
    return PlainTextResponse("there is no such page\n", 404, headers=_HEADERS)
