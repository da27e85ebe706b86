"""Nights by systemd and cron, and whom they tell; what holds for all files of examples/ci.

`rumpus` is a stand-in here (`pipelines.py`): what it does is tested elsewhere.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rumpus.nights.schedulers.schedulers import files_for
from tests.examples.pipelines import CI


@pytest.fixture
def place(machine):
    machine.run("python3 -m venv .venv")
    shutil.copy(CI / "cron" / "rumpus-notify.sh", machine.project)
    return machine


def test_the_line_of_crontab(place):
    times, command = (CI / "cron" / "crontab").read_text().split(" cd ")
    assert len(times.split()) == 5
    assert "%" not in command  # cron makes newlines of them
    done = place.run(f"cd {command}".replace("/srv/project", shlex.quote(str(place.project))), "sh")
    assert done.returncode == 0, done.stderr
    assert place.nights == ["rumpus nightly --budget 30m --notify ./rumpus-notify.sh"]
    assert done.stdout == "# all is well\n"


def test_the_command_of_the_unit(place):
    unit = (CI / "cron" / "rumpus-nightly.service").read_text()
    (command,) = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
    done = place.run(command.replace("/srv/project", str(place.project)), NIGHT="1")
    assert (done.returncode, done.stdout) == (1, "# 1 new failure\n")


def test_without_an_address_the_headline_is_printed(place):
    done = place.run("rumpus nightly --notify ./rumpus-notify.sh")
    assert (done.returncode, done.stdout) == (0, "# all is well\n")


def test_a_mail(place):
    place.add("mail", '#!/bin/sh\nprintf "%s\\n" "$@" >mailed\ncat >>mailed\n')
    done = place.run(
        "rumpus nightly --notify ./rumpus-notify.sh", RUMPUS_MAIL_TO="team@example.org"
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    mailed = (place.project / "mailed").read_text().splitlines()
    assert mailed[:4] == ["-s", "all is well", "team@example.org", "# all is well"]


@pytest.fixture
def webhook():
    """The address of a server that notes what it is told, and the notes."""
    told = []

    class Noting(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(500 if self.path == "/broken" else 200)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Noting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", told
        server.shutdown()
        thread.join()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_a_webhook(place, webhook):
    address, told = webhook
    done = place.run(
        "rumpus nightly --notify ./rumpus-notify.sh", RUMPUS_WEBHOOK=f"{address}/secret?a=b%20c"
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    summary = (place.project / "runs" / "nights" / "latest" / "summary.md").read_text()
    assert told == [("/secret?a=b%20c", "application/json", {"text": summary})]
    done = place.run("./rumpus-notify.sh", RUMPUS_WEBHOOK=f"{address}/broken")
    assert done.returncode != 0
    assert "500" in done.stderr


def test_who_cannot_be_told_is_no_silence(place):
    place.add("mail", "#!/bin/sh\nexit 7\n")
    (place.project / "runs" / "nights" / "latest").mkdir(parents=True)
    (place.project / "runs" / "nights" / "latest" / "summary.md").write_text("# well\n")
    assert place.run("./rumpus-notify.sh", RUMPUS_MAIL_TO="a@example.org").returncode == 7


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd here to check units"
)
@pytest.mark.parametrize("name", ["project", "a b 100% $d é"])
def test_the_units_as_systemd_reads_them(tmp_path, name):
    project = tmp_path / name
    program = project / "bin" / "rumpus"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    units = tmp_path / "units"
    units.mkdir()
    for file, text in files_for("cron", project, program).items():
        (units / file).write_text(text)

    def said(*files):
        words = ["systemd-analyze", "verify", "--user", *(units / file for file in files)]
        around = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=around)
        return done.returncode, done.stdout + done.stderr

    assert said("rumpus-nightly.service", "rumpus-nightly.timer") == (0, "")
    program.unlink()
    code, words = said("rumpus-nightly.service")
    assert code != 0
    assert str(program) in words


def test_scripts_are_scripts():
    for path in CI.rglob("*.sh"):
        assert os.access(path, os.X_OK)
        done = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_page_leads_to_every_file_and_all_it_leads_to_exists():
    page = (CI / "README.md").read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page)
    for target in targets:
        assert (CI / target).exists(), target
    files = {str(path.relative_to(CI)) for path in CI.rglob("*") if path.is_file()}
    assert files - {"README.md"} <= set(targets)
