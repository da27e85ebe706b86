"""The format of OpenSSH's signatures of files (PROTOCOL.sshsig), for ed25519 keys.

It is taken because it names the key and what the signature is for, and because ``ssh-keygen -Y``
makes and verifies it without rumpus, with keys that an agent or a passphrase keeps.
"""

import base64
import binascii
import hashlib
import struct
from typing import Final, NamedTuple, Self

_MAGIC: Final = b"SSHSIG"
_VERSION: Final = 1
_KIND: Final = b"ssh-ed25519"
_HASHES: Final = frozenset({"sha256", "sha512"})
_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_COLUMNS: Final = 70
"""Width of the armoured lines, as ssh-keygen writes them."""


class SshSignature(NamedTuple):
    """A signature, with all that it says.

    Attributes:
        key: the public ed25519 key, 32 bytes.
        namespace: what it was made for: one made for something else proves nothing here.
        hashed_by: name of the hash of the signed message, ``sha256`` or ``sha512``.
        signature: 64 bytes, of `signed_bytes`.
    """

    key: bytes
    namespace: str
    hashed_by: str
    signature: bytes

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Read an armoured signature.

        Raises:
            ValueError: it is malformed, or not one by an ed25519 key.
        """
        words = " ".join(text.decode("ascii").split())
        if not (words.startswith(_BEGIN) and words.endswith(_END)):
            raise ValueError("it is no armoured signature of OpenSSH")
        middle = words.removeprefix(_BEGIN).removesuffix(_END)
        try:
            blob = base64.b64decode(middle.replace(" ", ""), validate=True)
        except binascii.Error as error:
            raise ValueError(f"it is not in base64: {error}") from error
        if blob[:10] != _MAGIC + struct.pack(">I", _VERSION):
            raise ValueError(f"it is no signature of OpenSSH's version {_VERSION}")
        key, namespace, _reserved, hashed_by, signature = _strings(blob[10:], 5)
        if hashed_by.decode("ascii") not in _HASHES:
            raise ValueError(f"its hash is none of {', '.join(sorted(_HASHES))}")
        return cls(
            _of_ed25519(key, 32, "key"),
            namespace.decode("ascii"),
            hashed_by.decode("ascii"),
            _of_ed25519(signature, 64, "signature"),
        )

    def armoured(self) -> bytes:
        """The signature as a file has it."""
        blob = (
            _MAGIC
            + struct.pack(">I", _VERSION)
            + _string(public_blob(self.key))
            + _string(self.namespace.encode())
            + _string(b"")
            + _string(self.hashed_by.encode())
            + _string(_string(_KIND) + _string(self.signature))
        )
        coded = base64.b64encode(blob).decode()
        lines = [coded[at : at + _COLUMNS] for at in range(0, len(coded), _COLUMNS)]
        return "\n".join([_BEGIN, *lines, _END, ""]).encode()


def signed_bytes(message: bytes, namespace: str, hashed_by: str) -> bytes:
    """What is signed in place of a message: its hash, and what the signature is for.

    Args:
        message: the content of the signed file.
        namespace: what the signature is for.
        hashed_by: ``sha256`` or ``sha512``.
    """
    digest = hashlib.new(hashed_by, message).digest()
    parts = (namespace.encode(), b"", hashed_by.encode(), digest)
    return _MAGIC + b"".join(map(_string, parts))


def public_blob(key: bytes) -> bytes:
    """A public ed25519 key (32 bytes) as OpenSSH encodes it."""
    return _string(_KIND) + _string(key)


def key_fingerprint(key: bytes) -> str:
    """The fingerprint of a public ed25519 key (32 bytes), as ``ssh-keygen -l`` prints it."""
    digest = hashlib.sha256(public_blob(key)).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _of_ed25519(blob: bytes, size: int, what: str) -> bytes:
    """The bytes of a key or signature.

    Raises:
        ValueError: it is of another kind, or of another size.
    """
    kind, *_ = _strings(blob, None)
    if kind != _KIND:
        name = kind.decode("ascii", errors="backslashreplace")
        raise ValueError(f"its {what} is of the kind {name}, not {_KIND.decode()}")
    _, value = _strings(blob, 2)
    if len(value) != size:
        raise ValueError(f"its {what} has {len(value)} bytes, not {size}")
    return value


def _string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def _strings(blob: bytes, count: int | None) -> list[bytes]:
    """The strings that follow each other in a blob, to its end; ``count`` None: as many as it has.

    Raises:
        ValueError: they end early, or there are more or fewer.
    """
    found = []
    while blob:
        size = int.from_bytes(blob[:4])
        if len(blob) < 4 + size:
            raise ValueError("it is cut off")
        found.append(blob[4 : 4 + size])
        blob = blob[4 + size :]
    if not found or len(found) != (count or len(found)):
        raise ValueError("it has not the parts that it should have")
    return found
