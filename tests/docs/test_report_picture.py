"""The picture of a report in the README."""

import struct
import subprocess
from pathlib import Path

import pytest

from docs.generators import report_picture

ROOT = Path(__file__).resolve().parents[2]
PICTURE = "docs/images/report.png"


def test_the_readme_shows_a_picture_of_the_size_that_is_taken():
    assert f"]({PICTURE})" in (ROOT / "README.md").read_text(encoding="utf-8")
    data = (ROOT / PICTURE).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (report_picture.WIDTH, report_picture.HEIGHT)
    assert len(data) < 300_000


def test_without_a_browser_it_says_which_would_do(monkeypatch, tmp_path):
    monkeypatch.setattr(report_picture.shutil, "which", lambda _: None)
    with pytest.raises(SystemExit, match="no browser is installed: one of chromium"):
        report_picture.take(tmp_path / "report.html", tmp_path / "report.png")


def test_a_browser_that_fails_is_told(monkeypatch, tmp_path):
    def fail(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "no display")

    monkeypatch.setattr(report_picture.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(report_picture.subprocess, "run", fail)
    with pytest.raises(SystemExit, match="chromium took no picture: no display"):
        report_picture.take(tmp_path / "report.html", tmp_path / "report.png")
