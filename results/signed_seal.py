"""``seal.json.sig``: who vouches for a run's seal, and so for its evidence.

Whoever changes the evidence can make its seal again. A signature of the seal takes a private key,
so it shows that the evidence is what the key's holder had. It is one of OpenSSH, made as by
``ssh-keygen -Y sign -n rumpus-seal -f KEY seal.json``; keys are ed25519, in OpenSSH's format or in
PEM. The package ``cryptography`` computes (``pip install 'rumpus[sign]'``) and is imported when it
is needed.
"""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rumpus.results.atomic_file import write_atomically
from rumpus.results.seal import SEAL, SIGNATURE, changes_since, read_seal
from rumpus.results.ssh_signature import SshSignature, key_fingerprint, signed_bytes
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import read_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAMESPACE: Final = "rumpus-seal"
"""What these signatures are for: one that its key made for anything else is not taken."""

_LARGEST: Final = 1 << 16  # bytes of a key or a signature
_OF_OPENSSH: Final = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_MAKE_ONE: Final = "make one by `ssh-keygen -t ed25519`"


class SigningKey(NamedTuple):
    """A private ed25519 key, and its public one (32 bytes)."""

    private: "Ed25519PrivateKey"
    public: bytes

    @property
    def fingerprint(self) -> str:
        """The key's name, as ``ssh-keygen -l`` prints it."""
        return key_fingerprint(self.public)


class Signing(NamedTuple):
    """What a run's signature shows.

    Attributes:
        words: who has signed the seal, or why that cannot be said.
        doubtful: whether there is a signature that is not one of the seal, or cannot be read.
    """

    words: str
    doubtful: bool = False


def signing_key(path: Path) -> SigningKey:
    """Read a private key.

    Raises:
        UnreadableRun: it cannot be read, or is not a private ed25519 key without a passphrase.
        ModuleNotFoundError: ``cryptography`` is not installed.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - optional
        Ed25519PrivateKey,
    )

    content = read_regular(path, "read the key", _LARGEST)
    of_openssh = content.lstrip().startswith(_OF_OPENSSH)
    try:
        if of_openssh:
            key: object = serialization.load_ssh_private_key(content, password=None)
        else:
            key = serialization.load_pem_private_key(content, password=None)
    except TypeError as error:
        remedy = "name one without, such as `openssl pkey` writes"
        if of_openssh:
            remedy = f"sign with `ssh-keygen -Y sign -n {NAMESPACE} -f KEY RUN/{SEAL}`, which asks"
        raise UnreadableRun(path, "the key has a passphrase", remedy) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableRun(path, "no private key in PEM or OpenSSH's format", _MAKE_ONE) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UnreadableRun(path, "its key is not one of ed25519", _MAKE_ONE)
    return SigningKey(key, key.public_key().public_bytes_raw())


def public_key(path: Path) -> bytes:
    """Read a public key; 32 bytes.

    Raises:
        UnreadableRun: it cannot be read, or is not one public ed25519 key.
        ModuleNotFoundError: ``cryptography`` is not installed.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - optional
        Ed25519PublicKey,
    )

    content = read_regular(path, "read the key", _LARGEST).strip()
    if b"PRIVATE KEY-----" in content:
        raise UnreadableRun(path, "it is a private key", "name the public one that belongs to it")
    try:
        if content.startswith(b"-----BEGIN "):
            key: object = serialization.load_pem_public_key(content)
        elif b"\n" in content:
            raise UnreadableRun(path, "it has several lines", "name a file for each key")
        else:
            key = serialization.load_ssh_public_key(content)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableRun(path, "no public key in PEM or OpenSSH's format", _MAKE_ONE) from error
    if not isinstance(key, Ed25519PublicKey):
        raise UnreadableRun(path, "its key is not one of ed25519", _MAKE_ONE)
    return key.public_bytes_raw()


def sign(directory: Path, key: SigningKey) -> None:
    """Sign the seal of an intact run.

    Raises:
        UnreadableRun: it has no seal, has changed since, or is signed by another key.
        StoreError: the signature cannot be written.
    """
    seal = read_seal(directory)
    if seal is None:
        raise UnreadableRun(directory, "not signed: it has no seal", "only a whole run is signed")
    if changed := changes_since(directory, seal):
        told = f"not signed: since it was sealed {_first(changed)}"
        raise UnreadableRun(directory, told, "restore what the run wrote")
    by = _read_signature(directory)
    if by is not None and by.key != key.public and _verified(by, seal):
        told = f"not signed: it is already, by {key_fingerprint(by.key)}"
        raise UnreadableRun(directory, told, f"remove {SIGNATURE} to have it signed anew")
    made = key.private.sign(signed_bytes(seal, NAMESPACE, "sha512"))
    signature = SshSignature(key.public, NAMESPACE, "sha512", made)
    write_atomically(directory / SIGNATURE, signature.armoured())


def require(directory: Path, keys: Collection[bytes]) -> None:
    """Refuse a run that is not, as it lies there, what the holder of one of the keys has signed.

    Args:
        directory: the run.
        keys: the public keys, of which any will do.

    Raises:
        UnreadableRun: it is not; the message says why.
        ModuleNotFoundError: ``cryptography`` is not installed.
    """
    seal, by = read_seal(directory), _read_signature(directory)
    if seal is None or by is None:
        lacking = "seal" if seal is None else "signature"
        remedy = "who performed it can sign it: `rumpus run --sign KEY`, `rumpus check RUN --sign`"
        raise UnreadableRun(directory, f"a signature is required, and it has no {lacking}", remedy)
    name = key_fingerprint(by.key)
    if by.key not in keys:
        required = ", ".join(key_fingerprint(key) for key in keys)
        told = f"it is signed by {name}, and not by a key that is required ({required})"
        raise UnreadableRun(directory, told, "do not rely on it, or require the other key, too")
    if not _verified(by, seal):
        raise UnreadableRun(directory, _misfit(name), "do not rely on it")
    if changed := changes_since(directory, seal):
        told = f"it is signed by {name}, and since it was sealed {_first(changed)}"
        raise UnreadableRun(directory, told, "do not rely on it, or restore what the run wrote")


def signing_of(directory: Path) -> Signing:
    """Who has signed a run's seal, as far as that can be said."""
    try:
        by, seal = _read_signature(directory), read_seal(directory)
    except UnreadableRun as error:
        return Signing(str(error), doubtful=True)
    if by is None:
        return Signing("nobody")
    name = key_fingerprint(by.key)
    try:
        verified = seal is not None and _verified(by, seal)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cryptography":
            raise
        return Signing(f"{name}, as it says: pip install 'rumpus[sign]' to have that verified")
    return Signing(name) if verified else Signing(_misfit(name), doubtful=True)


def _read_signature(directory: Path) -> SshSignature | None:
    """The signature of a run's seal, unverified; None if there is none.

    Raises:
        UnreadableRun: it is malformed.
    """
    path = directory / SIGNATURE
    if not path.exists() and not path.is_symlink():
        return None
    content = read_regular(path, "read the signature", _LARGEST)
    try:
        return SshSignature.parse(content)
    except ValueError as error:
        raise UnreadableRun(path, f"no signature of a seal ({error})", "do not rely on it") from (
            error
        )


def _verified(signature: SshSignature, seal: bytes) -> bool:
    """Whether a signature is one of this seal, by the key that it names.

    Raises:
        ModuleNotFoundError: ``cryptography`` is not installed.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - optional
        Ed25519PublicKey,
    )

    if signature.namespace != NAMESPACE:
        return False
    key = Ed25519PublicKey.from_public_bytes(signature.key)
    try:
        key.verify(signature.signature, signed_bytes(seal, NAMESPACE, signature.hashed_by))
    except InvalidSignature:
        return False
    return True


def _misfit(name: str) -> str:
    return (
        f"its signature by {name} is not one of its seal: the seal was made again since, or one of "
        "the two was changed"
    )


def _first(changed: list[str]) -> str:
    return changed[0] + (f", and {len(changed) - 1} more" if len(changed) > 1 else "")
