"""`helix models`: which encoders are there, and how they get there.

Prints tables and one-line errors; the making itself is `helix_cli.model_build`, imported only by the
commands that need it, because onnx would slow the start of every other command.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from helix_shared.encoders.model import load_card, read_card
from helix_shared.encoders.store import BGE_SMALL, default_model, model_folders
from helix_shared.errors import CorruptArtifactError, HelixError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

models_app = typer.Typer(help="List, build, import and fetch sentence encoders.", no_args_is_help=True)

MEBIBYTE = 1 << 20

Home = Annotated[
    Path, typer.Option("--home", envvar="HELIX_HOME", help="Folder of Helix; models lie in its `models`.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Make it again although it is there.")]
DEFAULT_HOME = Path("~/.helix")


def models_root(home: Path) -> Path:
    """Where models lie in a Helix home."""
    return home.expanduser() / "models"


def ensure_default_model(root: Path) -> Path:
    """Find the default model under `root`; build all-MiniLM-L6-v2 when there is none yet.

    Takes seconds the first time. Several processes may ask at once: one builds, the others wait for it.

    Raises:
        NotFoundError: there is none and the package with the weights is not installed.
        PermanentError: there is none and the build failed its check.
    """
    try:
        return default_model(root)
    except NotFoundError:
        from helix_cli.model_build.minilm import build_minilm  # noqa: PLC0415 - onnx is slow to import

        return build_minilm(root)


@models_app.command("list")
def list_command(
    home: Home = DEFAULT_HOME, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show the models that are there, and whether their files are still the ones their cards name."""
    with _one_line_errors():
        root = models_root(home)
        rows = _rows(root)
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif rows:
            Console().print(_table(rows))
            _print_default(root)
        else:
            typer.echo(f"no models under {root}: run `helix models build`")


@models_app.command("build")
def build_command(home: Home = DEFAULT_HOME, replace: Replace = False) -> None:
    """Build all-MiniLM-L6-v2 (int8) from the installed package; needs no network."""
    with _one_line_errors():
        from helix_cli.model_build.minilm import build_minilm  # noqa: PLC0415 - onnx is slow to import

        root = models_root(home)
        _report(build_minilm(root, replace=replace), root)


@models_app.command("import")
def import_command(
    folder: Annotated[Path, typer.Argument(help="A sentence-transformers folder with an ONNX graph.")],
    *,
    name: Annotated[
        str | None, typer.Option(help="Name of the model; the folder's name if not given.")
    ] = None,
    query_prefix: Annotated[
        str | None, typer.Option(help="Put before every query, instead of what the folder says.")
    ] = None,
    passage_prefix: Annotated[
        str | None, typer.Option(help="Put before every stored text, instead of what the folder says.")
    ] = None,
    fp32: Annotated[bool, typer.Option("--fp32", help="Keep the float32 graph; do not quantise it.")] = False,
    replace: Replace = False,
    home: Home = DEFAULT_HOME,
) -> None:
    """Import an encoder from a folder; a float32 graph is quantised to int8 and compared with itself."""
    with _one_line_errors():
        from helix_cli.model_build.importing import Origin, import_folder  # noqa: PLC0415 - onnx is slow to import

        root, source = models_root(home), folder.expanduser().resolve()
        origin = Origin(
            name=name or source.name,
            source=f"folder {source.name}",
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            keep_fp32=fp32,
        )
        _report(import_folder(source, root, origin, existing="replace" if replace else "refuse"), root)


@models_app.command("pull")
def pull_command(
    name: Annotated[str, typer.Argument(help=f"What to fetch: {BGE_SMALL}.")],
    hub: Annotated[
        str, typer.Option(envvar="HF_ENDPOINT", help="Address of the hub or of a mirror.")
    ] = "https://huggingface.co",
    timeout_seconds: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds the hub may be silent.")
    ] = 30.0,
    replace: Replace = False,
    home: Home = DEFAULT_HOME,
) -> None:
    """Fetch a published model at its pinned revision, check every byte, and quantise it to int8."""
    with _one_line_errors():
        from helix_cli.model_build.hub import pull  # noqa: PLC0415 - onnx is slow to import

        root = models_root(home)
        _report(pull(name, root, hub=hub, timeout_seconds=timeout_seconds, replace=replace), root)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn a failure that has an explanation into one line on standard error and exit code 1."""
    try:
        yield
    except (HelixError, OSError) as error:
        line = " ".join(str(error).split())
        typer.echo(f"error: {line}", err=True)
        raise typer.Exit(1) from error


def _rows(root: Path) -> list[dict[str, Any]]:
    default = _default(root)
    return [_row(folder, is_default=folder == default) for folder in model_folders(root)]


def _row(folder: Path, *, is_default: bool) -> dict[str, Any]:
    """One model for people and for JSON; a damaged one is a row too."""
    row: dict[str, Any] = {"name": folder.name, "default": is_default, "path": str(folder), "state": "ok"}
    try:
        card = read_card(folder)
        row |= card.model_dump() | {"checksum": card.checksum, "size_bytes": _size_bytes(folder)}
        load_card(folder)
    except CorruptArtifactError as error:
        row["state"] = f"corrupt: {error}"
    return row


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        "model", "default", "precision", "dimensions", "max tokens", "pooling", "MiB", "checksum", "state"
    )
    for row in rows:
        size = f"{row['size_bytes'] / MEBIBYTE:.1f}" if "size_bytes" in row else ""
        facts = [str(row.get(key, "")) for key in ("precision", "dimensions", "max_tokens", "pooling")]
        mark = "yes" if row["default"] else ""
        table.add_row(
            row["name"], mark, *facts, size, row.get("checksum", "")[:12], row["state"].split(":")[0]
        )
    return table


def _report(folder: Path, root: Path) -> None:
    card = load_card(folder)
    typer.echo(f"{card.name}: {folder}")
    typer.echo(f"  {card.source}")
    typer.echo(f"  {_size_bytes(folder) / MEBIBYTE:.1f} MiB, checksum {card.checksum}")
    _print_default(root)


def _print_default(root: Path) -> None:
    default = _default(root)
    typer.echo(f"default: {default.name}" if default else "default: none, run `helix models build`")


def _default(root: Path) -> Path | None:
    try:
        return default_model(root)
    except NotFoundError:
        return None


def _size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
