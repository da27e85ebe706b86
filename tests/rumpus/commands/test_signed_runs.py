"""Runs that are signed as they are performed, or later, and required to be."""

import json
import shutil
import sys

import pytest
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory
from rumpus.results.seal import SIGNATURE

WORDS = "run lock --recipe fair --ensemble sim --seed 1 --time-limit 4 --nemesis none"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A private key, and its public one."""
    place = tmp_path_factory.mktemp("keys")
    key = Ed25519PrivateKey.generate()
    kinds = (forms.Encoding.PEM, forms.PrivateFormat.OpenSSH, forms.NoEncryption())
    (place / "key").write_bytes(key.private_bytes(*kinds))
    kinds = (forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH)
    (place / "key.pub").write_bytes(key.public_key().public_bytes(*kinds))
    return place / "key", place / "key.pub"


@pytest.fixture(scope="module")
def performed(keys, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    assert main([*WORDS.split(), "--runs", str(runs), "--sign", str(keys[0])]) == 0
    return (runs / "latest").resolve()


@pytest.fixture
def signed(performed, tmp_path):
    return shutil.copytree(performed, tmp_path / "signed")


@pytest.fixture
def no_library(monkeypatch):
    loaded = [name for name in sys.modules if name.partition(".")[0] == "cryptography"]
    for name in {"cryptography", *loaded}:
        monkeypatch.setitem(sys.modules, name, None)


def test_a_run_is_signed_and_its_command_does_not_say_so(rumpus, signed, keys):
    told = (signed / "test.json").read_text() + (signed / "report.html").read_text()
    assert "--sign" not in told
    assert str(keys[0]) not in told
    answer = rumpus("check", signed, "--require", keys[1], "--json")
    assert answer.code == 0
    assert "signed by:  SHA256:" in answer.err
    assert json.loads(answer.out)["valid"] is True
    assert rumpus("check", signed, "--require", keys[1]).code == 0  # its results are made again
    assert rumpus("replay", signed).code == 0


def test_a_run_that_is_not_what_was_signed_is_refused_before_it_is_judged(rumpus, signed, keys):
    run = RunDirectory(signed)
    run.results.unlink()
    run.history.write_text(run.history.read_text().replace('"ok"', '"fail"', 1))
    answer = rumpus("check", signed, "--require", keys[1], "--json")
    assert answer.code == 2
    assert "since it was sealed history.jsonl was changed" in answer.err
    assert json.loads(answer.out)["exit_code"] == 2
    run.seal()
    assert "the seal was made again since" in rumpus("check", signed, "--require", keys[1]).err
    assert not run.results.exists()
    assert "the seal was made again since" in rumpus("check", signed).err
    run.record.unlink()
    assert rumpus("check", signed, "--require", keys[1]).code == 2


def test_a_run_is_signed_later(rumpus, signed, keys):
    (signed / SIGNATURE).unlink()
    answer = rumpus("check", signed)
    assert "signed by:  nobody" in answer.err
    assert rumpus("check", signed, "--require", keys[1]).code == 2
    assert "signed by:  SHA256:" in rumpus("check", signed, "--sign", keys[0], "--perform").err
    assert rumpus("check", signed, "--require", keys[1]).code == 0


def test_what_is_another_run_when_it_is_performed_again_is_not_signed(rumpus, signed, keys):
    (signed / SIGNATURE).unlink()
    run = RunDirectory(signed)
    told = json.loads(run.record.read_text())
    run.record.write_text(json.dumps(told | {"digest": "0" * 64}))
    run.seal()
    answer = rumpus("check", signed, "--perform", "--sign", keys[0])
    assert answer.code == 3
    assert "not signed, since it was another run" in answer.err
    assert not (signed / SIGNATURE).exists()


def test_a_key_that_cannot_be_read_is_refused_before_the_run(rumpus, tmp_path, keys):
    for key in (tmp_path / "nowhere", keys[1]):
        assert rumpus(*WORDS.split(), "--runs", tmp_path / "runs", "--sign", key).code == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("no_library")
def test_without_the_library_signatures_are_refused_with_the_remedy(rumpus, signed, keys, tmp_path):
    remedy = "pip install 'rumpus[sign]'"
    for words in (
        (*WORDS.split(), "--runs", tmp_path / "runs", "--sign", keys[0]),
        ("check", signed, "--sign", keys[0]),
        ("check", signed, "--require", keys[1]),
    ):
        answer = rumpus(*words)
        assert (answer.code, remedy in answer.err) == (4, True)
    assert not (tmp_path / "runs").exists()
    answer = rumpus("check", signed, "--believe")
    assert answer.code == 0
    assert f"as it says: {remedy} to have that verified" in answer.err


@pytest.mark.parametrize("option", ["--sign", "--require"])
@pytest.mark.parametrize("more", [[], ["--model", "register"]])
def test_a_history_alone_has_no_signature(rumpus, signed, keys, option, more):
    alone = signed.parent / "alone.jsonl"
    shutil.copy(signed / "history.jsonl", alone)
    answer = rumpus("check", alone, option, keys[1], *more)
    why = "judges the operations in the file" if more else "a history alone has no seal"
    assert (answer.code, why in answer.err) == (2, True)


def test_what_no_seal_has_is_not_read_where_a_signature_is_required(rumpus, signed, keys):
    (signed / "likelihood.json").write_text("{")
    assert rumpus("check", signed, "--require", keys[1]).code == 0
    assert rumpus("check", signed).code == 2
