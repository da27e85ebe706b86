"""The picture of a report in the README, made from a run of a lock with a known mistake.

Usage::

    python -m docs.generators.report_picture docs/images/report.png
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "examples" / "own_lock"
RUN = (
    "lock --recipe warehouse.lock:AisleLock --ensemble sim --time-limit 20 --seed 0 "
    "--preemption blocking"
)
WIDTH, HEIGHT = 1280, 800
"""Of the picture, in pixels: that of the report's first screen on a laptop."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take(
    page: Path, picture: Path, *, size: tuple[int, int] = (WIDTH, HEIGHT), dark: bool = False
) -> None:
    """Take a picture of the top of a page.

    Args:
        page: its file.
        picture: the file to write.
        size: width and height in pixels.
        dark: whether the reader likes dark pages.

    Raises:
        SystemExit: there is no browser, or it failed.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"no browser is installed: one of {', '.join(BROWSERS)} takes the picture")
    picture.parent.mkdir(parents=True, exist_ok=True)
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--window-size={size[0]},{size[1]}",
        f"--screenshot={picture.resolve()}",
        page.resolve().as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode or not picture.exists():
        sys.exit(f"{browser} took no picture: {done.stderr.strip()}")


def main(picture: Path) -> None:
    """Perform the run, and take a picture of its report."""
    picture = picture.resolve()
    with tempfile.TemporaryDirectory() as made:
        project = Path(made, LOCK.name)
        shutil.copytree(LOCK, project, ignore=shutil.ignore_patterns("runs"))
        command = [sys.executable, "-m", "rumpus.program", "run", *RUN.split()]
        root = str(LOCK.parents[1])
        subprocess.run(command, cwd=project, env={**os.environ, "PYTHONPATH": root}, check=False)
        take(project / "runs" / "latest" / "report.html", picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
