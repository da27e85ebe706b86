"""The bill of materials of a distribution, as CycloneDX 1.6 in JSON: ``make dist`` makes it.

It is made by hand from the lock. The tools that make one describe a whole environment or a
requirements file: both have the developers' tools, which nobody gets with rumpus, and the address
of an index. They would bring more packages than the bill names.
"""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from docs.generators.locked_packages import (
    LOCKS,
    expression,
    licence,
    locked,
    needs,
    runtime,
    users,
)


def bill_of_materials(version: str) -> dict[str, Any]:
    """The document.

    Args:
        version: of the distribution.
    """
    of_users = users()
    packages = {each.name: each for each in locked(LOCKS[0]) if each.name in of_users}
    purls = {name: f"pkg:pypi/{name}@{each.version}" for name, each in packages.items()}
    ours = f"pkg:pypi/rumpus@{version}"
    components = [
        {
            "type": "library",
            "bom-ref": purls[name],
            "name": name,
            "version": each.version,
            "scope": "required" if "" in of_users[name] else "optional",
            "licenses": [_licence(name)],
            "purl": purls[name],
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": purls[name],
                    "comment": "the files of this version, of which an installation takes one",
                    "hashes": [{"alg": "SHA-256", "content": each} for each in each.hashes],
                }
            ],
        }
        for name, each in sorted(packages.items())
    ]
    graph = {ours: [purls[name] for name in runtime()]}
    for name in sorted(packages):
        graph[purls[name]] = [purls[other] for other in needs(name) if other in purls]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Of the content alone, so that the same distribution has the same bill.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ours + repr(components))}",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": "rumpus",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": ours,
            },
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": others} for ref, others in graph.items()],
    }


def _licence(name: str) -> dict[str, Any]:
    """What a package says of its licence: an SPDX expression, or words."""
    if said := expression(name):
        return {"expression": said, "acknowledgement": "declared"}
    return {"license": {"name": licence(name), "acknowledgement": "declared"}}


def main(place: Path) -> None:
    """Write the bill of the distribution in a directory, beside its source archive."""
    (archive,) = place.glob("rumpus-*.tar.gz")
    name = archive.name.removesuffix(".tar.gz")
    document = bill_of_materials(name.removeprefix("rumpus-"))
    bill = place / f"{name}.cdx.json"
    bill.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{bill.name}  {len(document['components'])} components")  # noqa: T201 - as make dist does


if __name__ == "__main__":
    main(Path(sys.argv[1]))
