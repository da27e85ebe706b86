"""``rumpus image``: the versions of ZooKeeper that servers can have, and the images of them."""

import argparse
from contextlib import closing

import msgspec

from rumpus.consoles import answers, notices, print_json
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.image import NODE, ensure_node_image, image_tag, is_there
from rumpus.harness.zookeeper_versions import (
    DEBIAN_RELEASES,
    USUAL_VERSION,
    UnknownVersion,
    find_version,
)
from rumpus.usage_error import UsageError


def image_command(arguments: argparse.Namespace) -> int:
    """List the versions, or make the image of one and print its name; the exit code, 0.

    Raises:
        UsageError: there is no such version.
        EnvironmentRefusal: no engine answers, or the image cannot be built here.
    """
    if arguments.version is not None:
        try:
            version = find_version(arguments.version)
        except UnknownVersion as unknown:
            raise UsageError(str(unknown)) from unknown
        with closing(connect()) as engine:
            made = ensure_node_image(engine, _say, NODE, version)
        if arguments.json:
            print_json(_encoded({"version": version, "image": made}))
        else:
            answers().print(made, markup=False, highlight=False, soft_wrap=True)
        return 0
    with closing(connect()) as engine:
        images = [
            {
                "version": version,
                "debian": release,
                "image": (tag := image_tag(NODE, version)),
                "here": is_there(engine, tag),
                "default": version == USUAL_VERSION,
            }
            for version, release in DEBIAN_RELEASES.items()
        ]
    if arguments.json:
        print_json(_encoded({"images": images}))
        return 0
    for image in images:
        state = "is here" if image["here"] else "is missing: the first run builds it"
        usual = ", the default" if image["default"] else ""
        answers().print(
            f"{image['version']:<7} Debian {image['debian']:<9} {image['image']} {state}{usual}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    return 0


def _encoded(document: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _say(line: str) -> None:
    notices().print(line, markup=False, highlight=False, soft_wrap=True)
