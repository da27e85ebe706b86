"""A signed seal: it holds for what the key's holder had, and for nothing else."""

import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from rumpus.results.seal import SEAL, SIGNATURE, changes, seal
from rumpus.results.signed_seal import public_key, require, sign, signing_key, signing_of
from rumpus.results.ssh_signature import SshSignature, key_fingerprint, signed_bytes
from rumpus.results.store_error import UnreadableRun

PEM = (forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.PublicFormat.SubjectPublicKeyInfo)
OPENSSH = (forms.Encoding.PEM, forms.PrivateFormat.OpenSSH, forms.PublicFormat.OpenSSH)
FORMATS = pytest.mark.parametrize("form", [PEM, OPENSSH], ids=["PEM", "OpenSSH"])
WITH_SSH_KEYGEN = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen"
)
ONE = Ed25519PrivateKey.from_private_bytes(b"one of thirty-two bytes, as such")
OTHER = Ed25519PrivateKey.from_private_bytes(b"another key, of thirty-two bytes")


def written(place, key, form=PEM, lock=None):
    """The files of a private key and of its public one."""
    place.mkdir(exist_ok=True)
    encoding, private, public = form
    hidden = forms.NoEncryption() if lock is None else forms.BestAvailableEncryption(lock)
    (place / "key").write_bytes(key.private_bytes(encoding, private, hidden))
    encoding = forms.Encoding.OpenSSH if form is OPENSSH else encoding
    (place / "key.pub").write_bytes(key.public_key().public_bytes(encoding, public) + b"\n")
    return place / "key", place / "key.pub"


@pytest.fixture
def run(tmp_path):
    place = tmp_path / "run"
    place.mkdir()
    (place / "history.jsonl").write_text("what happened")
    seal(place)
    return place


@pytest.fixture
def one(tmp_path):
    return written(tmp_path / "one", ONE)


@pytest.fixture
def signed(run, one):
    sign(run, signing_key(one[0]))
    return run


def refusal(run, *public):
    with pytest.raises(UnreadableRun) as refused:
        require(run, [public_key(each) for each in public])
    return str(refused.value)


@FORMATS
def test_who_has_signed_is_known_and_can_be_required(run, tmp_path, form):
    private, public = written(tmp_path / "keys", ONE, form)
    _, other = written(tmp_path / "other", OTHER, form)
    assert signing_of(run).words == "nobody"
    sign(run, signing_key(private))
    assert changes(run) == []
    name = key_fingerprint(ONE.public_key().public_bytes_raw())
    assert signing_of(run) == (name, False)
    require(run, [public_key(other), public_key(public)])
    assert "not by a key that is required" in refusal(run, other)


@WITH_SSH_KEYGEN
def test_ssh_keygen_verifies_it_and_makes_one_that_is_taken(signed, tmp_path):
    private, public = written(tmp_path / "openssh", ONE, OPENSSH)
    private.chmod(0o600)
    verify = ["ssh-keygen", "-Y", "check-novalidate", "-n", "rumpus-seal", "-s", signed / SIGNATURE]
    said = subprocess.run(
        verify, input=(signed / SEAL).read_bytes(), capture_output=True, check=True
    )
    assert key_fingerprint(ONE.public_key().public_bytes_raw()) in said.stdout.decode()
    (signed / SIGNATURE).unlink()
    make = ["ssh-keygen", "-Y", "sign", "-n", "rumpus-seal", "-f", private, signed / SEAL]
    subprocess.run(make, capture_output=True, check=True)
    require(signed, [public_key(public)])


def test_results_that_are_made_again_do_not_break_it(signed, one):
    for name in ("results.json", "report.html", "junit.xml", "summary.md", "harness.log"):
        (signed / name).write_text("new")
    require(signed, [public_key(one[1])])


def test_a_run_that_nobody_signed_is_refused(run, one):
    assert "a signature is required, and it has no signature" in refusal(run, one[1])
    (run / SEAL).unlink()
    assert "it has no seal" in refusal(run, one[1])


def test_evidence_that_was_changed_since_is_refused(signed, one):
    (signed / "history.jsonl").write_text("what happenes")
    assert "since it was sealed history.jsonl was changed" in refusal(signed, one[1])


def test_a_seal_that_was_made_again_is_refused(signed, one):
    (signed / "history.jsonl").write_text("something else")
    seal(signed)
    assert changes(signed) == []
    assert "is not one of its seal" in refusal(signed, one[1])
    assert signing_of(signed).doubtful


def changed(signed, **fields):
    place = signed / SIGNATURE
    place.write_bytes(SshSignature.parse(place.read_bytes())._replace(**fields).armoured())


@pytest.mark.parametrize("fields", [{"signature": bytes(64)}, {"namespace": "file"}])
def test_a_signature_that_does_not_fit_is_refused(signed, one, fields):
    changed(signed, **fields)
    assert "is not one of its seal" in refusal(signed, one[1])
    assert signing_of(signed).doubtful


def test_a_signature_under_the_name_of_another_key_is_refused(signed, tmp_path):
    _, other = written(tmp_path / "other", OTHER)
    changed(signed, key=OTHER.public_key().public_bytes_raw())
    assert "is not one of its seal" in refusal(signed, other)


def test_a_signature_that_was_made_for_something_else_is_refused(signed, one):
    """Also if the bytes that were signed are the seal's: keys are used for other files, too."""
    made = ONE.sign(signed_bytes((signed / SEAL).read_bytes(), "file", "sha512"))
    changed(signed, signature=made)
    assert "is not one of its seal" in refusal(signed, one[1])


def test_a_malformed_signature_is_refused(signed, one):
    (signed / SIGNATURE).write_bytes(b"-----BEGIN SSH SIGNATURE-----")
    assert "no signature of a seal" in refusal(signed, one[1])
    assert signing_of(signed).doubtful


def test_only_an_intact_run_is_signed(run, one):
    (run / "history.jsonl").write_text("changed")
    with pytest.raises(UnreadableRun, match=r"since it was sealed history\.jsonl was changed"):
        sign(run, signing_key(one[0]))
    (run / SEAL).unlink()
    with pytest.raises(UnreadableRun, match="it has no seal"):
        sign(run, signing_key(one[0]))


def test_the_signature_of_another_is_not_replaced(signed, tmp_path):
    other, public = written(tmp_path / "other", OTHER)
    with pytest.raises(UnreadableRun, match="it is already, by SHA256:"):
        sign(signed, signing_key(other))
    seal(signed)
    (signed / "history.jsonl").write_text("what happened then")
    seal(signed)  # now the other's signature is worth nothing
    sign(signed, signing_key(other))
    require(signed, [public_key(public)])


@FORMATS
def test_keys_that_cannot_be_used_are_refused_in_words(tmp_path, form):
    private, public = written(tmp_path / "keys", ONE, form)
    with pytest.raises(UnreadableRun, match="no private key in PEM or OpenSSH's format"):
        signing_key(public)
    with pytest.raises(UnreadableRun, match="it is a private key"):
        public_key(private)
    rsa, of_rsa = written(tmp_path / "rsa", generate_private_key(65537, 2048), form)
    for read, place in ((signing_key, rsa), (public_key, of_rsa)):
        with pytest.raises(UnreadableRun, match="not one of ed25519"):
            read(place)
    for place in (tmp_path / "keys", tmp_path / "nowhere"):
        with pytest.raises(UnreadableRun, match="cannot read the key"):
            signing_key(place)
    (tmp_path / "text").write_text("ssh-ed25519 AAAA\nssh-ed25519 BBBB\n")
    with pytest.raises(UnreadableRun, match="several lines"):
        public_key(tmp_path / "text")


@WITH_SSH_KEYGEN
def test_a_locked_key_of_openssh_is_refused_in_words(tmp_path):
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "passphrase", "-f", tmp_path / "key"]
    subprocess.run(make, check=True)
    with pytest.raises(UnreadableRun, match="the key has a passphrase; sign with `ssh-keygen -Y"):
        signing_key(tmp_path / "key")


def test_a_locked_key_in_pem_is_refused_in_words(tmp_path):
    private, _ = written(tmp_path / "locked", ONE, PEM, b"passphrase")
    with pytest.raises(UnreadableRun, match="the key has a passphrase; name one without"):
        signing_key(private)
