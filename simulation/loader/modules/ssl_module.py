"""``ssl``: contexts can be made, as programs do when they are imported; TLS is not simulated."""

import ssl
from types import FunctionType, ModuleType
from typing import Any

from rumpus.simulation.loader.modules.refused_modules import refusing
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import Runtime

_MAKERS = (
    "create_default_context", "_create_default_https_context", "_create_stdlib_context",
    "_create_unverified_context",
)  # fmt: skip
_CERTIFICATES = (
    "load_cert_chain", "load_default_certs", "load_verify_locations", "set_default_verify_paths",
)  # fmt: skip


def build(runtime: Runtime) -> ModuleType:
    """The ``ssl`` of a process."""
    process = runtime.process
    stream = runtime.simulator.random(f"ssl of {process.name} {process.pid}")

    def load_nothing(*_: object, **__: object) -> None:
        """No connection will need certificates, and to read the system's takes 0.1 s."""

    class SSLContext(ssl.SSLContext):
        wrap_socket = refusing(runtime, "ssl.SSLContext.wrap_socket")
        wrap_bio = refusing(runtime, "ssl.SSLContext.wrap_bio")

    for name in _CERTIFICATES:
        setattr(SSLContext, name, load_nothing)
    namespace = {**vars(ssl), "SSLContext": SSLContext}

    def own(make: Any) -> Any:
        """The library's function, with contexts of this kind."""
        made = FunctionType(make.__code__, namespace, make.__name__, make.__defaults__)
        made.__kwdefaults__ = make.__kwdefaults__
        return made

    refused = {
        name: refusing(runtime, f"ssl.{name}")
        for name in ("get_server_certificate", "wrap_socket")
        if hasattr(ssl, name)
    }
    kinds = {
        name: type(name, (), {"__new__": refusing(runtime, f"ssl.{name}")})
        for name in ("SSLObject", "SSLSocket")
    }
    return simulated(
        ssl,
        RAND_bytes=stream.randbytes,
        SSLContext=SSLContext,
        **kinds,
        **{name: own(getattr(ssl, name)) for name in _MAKERS},
        **refused,
    )
