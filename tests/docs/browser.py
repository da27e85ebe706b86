"""A real browser, without a window, that tests ask over the pipe of its developer tools."""

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from itertools import count

import pytest

from docs.generators.report_picture import BROWSERS


class Browser:
    """One page of a browser."""

    def __init__(self, write, read):
        self._write, self._read = write, read
        self._numbers = count(1)
        self._session = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._ask("Page.enable")

    def open(self, url, width=1280, height=800):
        """Load a page in a window of this size; returns when all of it is loaded."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._ask("Page.navigate", url=url)
        self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def evaluate(self, program):
        """The value of an expression on the page; a promise is waited for."""
        answer = self._ask(
            "Runtime.evaluate", expression=program, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _ask(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        self._write.flush()
        answer = self._until(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, wanted):
        while True:
            letters = bytearray()
            while (letter := self._read.read(1)) != b"\0":
                assert letter, "the browser has ended"
                letters += letter
            message = json.loads(letters)
            if wanted(message):
                return message


@contextmanager
def browser(profile):
    """A browser with a profile of its own; skips the test where none is installed."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    to_read, write = os.pipe()
    read, to_write = os.pipe()
    command = [program, "--headless", "--no-sandbox", "--remote-debugging-pipe"]
    command.append(f"--user-data-dir={profile}")
    process = subprocess.Popen(
        # The browser reads from descriptor 3 and writes to 4, whatever ours are.
        ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", *command],
        pass_fds=(to_read, to_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        with os.fdopen(write, "wb") as to, os.fdopen(read, "rb") as answers:
            yield Browser(to, answers)
    finally:
        process.kill()
        process.wait()
