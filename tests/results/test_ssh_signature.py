"""Signatures in OpenSSH's format, held against one that ssh-keygen has made."""

import base64

import pytest

from rumpus.results.ssh_signature import SshSignature, key_fingerprint

MADE_BY_SSH_KEYGEN = b"""\
-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgUokvyJFuHD5+vJZEKUnPqKBoXZ
IoAHs1upxQm4zK2qgAAAALcnVtcHVzLXNlYWwAAAAAAAAABnNoYTUxMgAAAFMAAAALc3No
LWVkMjU1MTkAAABABtici2gLHFzg8ISavch7PU55BboQ66p+D7Wk+tVlu0QC4KxtSOe75y
CLmzbyHqNqh/H1Q19jYL+eIaG0hv1EAA==
-----END SSH SIGNATURE-----
"""


def test_one_of_ssh_keygen_is_read_and_written_byte_by_byte():
    signature = SshSignature.parse(MADE_BY_SSH_KEYGEN)
    assert (signature.namespace, signature.hashed_by) == ("rumpus-seal", "sha512")
    named = "SHA256:We61bsA/FwWza+SK/dGARZCfWSxkN748d8CItgO9vyg"  # as ssh-keygen -l printed it
    assert key_fingerprint(signature.key) == named
    assert signature.armoured() == MADE_BY_SSH_KEYGEN


def damaged(change):
    """The signature with another blob."""
    coded = b"".join(MADE_BY_SSH_KEYGEN.splitlines()[1:-1])
    begin, *_, end = MADE_BY_SSH_KEYGEN.splitlines(keepends=True)
    return begin + base64.b64encode(change(base64.b64decode(coded))) + b"\n" + end


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "no armoured signature"),
        (b"\xff", "ascii"),
        (MADE_BY_SSH_KEYGEN.replace(b"U1NI", b"U1N!"), "not in base64"),
        (damaged(lambda blob: blob.replace(b"SSHSIG", b"SSHSOG")), "no signature of OpenSSH's"),
        (damaged(lambda blob: blob[:-1]), "cut off"),
        (damaged(lambda blob: blob + b"\0\0\0\0"), "not the parts"),
        (damaged(lambda blob: blob[:10]), "not the parts"),
        (damaged(lambda blob: blob.replace(b"sha512", b"md5md5")), "its hash is none of sha256"),
        (
            damaged(lambda blob: blob.replace(b"ssh-ed25519", b"ssh-ed25518")),
            "its key is of the kind ssh-ed25518, not ssh-ed25519",
        ),
    ],
)
def test_a_malformed_one_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        SshSignature.parse(text)
