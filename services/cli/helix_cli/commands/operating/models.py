"""`helix models`: lists, builds, imports, fetches and changes sentence encoders and rerankers.

`helix_cli.model_build` makes the models; it is imported by the commands that make one, because onnx is slow
to import.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from helix_cli.commands.common.lines.models import (
    ENCODER,
    MEBIBYTE,
    RERANKER,
    model_row,
    model_rows,
    model_table,
    size_bytes,
)
from helix_cli.commands.common.options import DEFAULT_HOME, AsJson, Home, Nats, Query
from helix_cli.commands.group import COMMANDS
from helix_cli.home.folder import HomeFolder
from helix_cli.output.terminal import stdout
from helix_shared.encoders.model import ModelCard, load_card, load_reranker_card
from helix_shared.encoders.store import (
    BGE_SMALL,
    default_model,
    model_folder,
    model_folders,
    reranker_folders,
)
from helix_shared.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from helix_cli.model_build.publish import Existing


class Kind(StrEnum):
    """What a model is for."""

    ENCODER = "encoder"
    RERANKER = "reranker"
    LATE_INTERACTION = "late-interaction"


Replace = Annotated[bool, typer.Option("--replace", help="Replace a model of that name.")]

app = typer.Typer(help=COMMANDS["models"].summary, no_args_is_help=True, add_completion=False)


@app.command("list")
def list_command(home: Home = DEFAULT_HOME, as_json: AsJson = False) -> None:
    """List the models and check their files against their cards."""
    root = HomeFolder.at(home).models
    rows = model_rows(root, default=_default(root))
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    elif rows:
        stdout().print(model_table(rows))
        _print_default(root)
        for row in rows:
            for line in row.get("fitted_elsewhere", ()):
                typer.echo(line)
    else:
        typer.echo(f"no models under {root}: run `helix models build`")


@app.command("build")
def build_command(home: Home = DEFAULT_HOME, replace: Replace = False, as_json: AsJson = False) -> None:
    """Build all-MiniLM-L6-v2 (int8) from the installed package; needs no network.

    Models of an older release get the token projection that they lack.
    """
    from helix_cli.model_build.minilm import build_minilm  # noqa: PLC0415  onnx is slow to import
    from helix_cli.model_build.token_projection import complete  # noqa: PLC0415  likewise

    root = HomeFolder.at(home).models
    built = build_minilm(root, replace=replace)
    for folder in model_folders(root):
        complete(folder)
    _report(built, root, as_json=as_json)


@app.command("import")
def import_command(
    folder: Annotated[Path, typer.Argument(help="A sentence-transformers folder with an ONNX graph.")],
    *,
    kind: Annotated[
        Kind | None, typer.Option(help="What the folder holds; by default what its files say.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model; by default that of the folder.")
    ] = None,
    query_prefix: Annotated[
        str | None, typer.Option(help="Prefix of every query; by default what the folder says.")
    ] = None,
    passage_prefix: Annotated[
        str | None, typer.Option(help="Prefix of every stored text; by default what the folder says.")
    ] = None,
    matryoshka: Annotated[
        str | None,
        typer.Option(
            help="Lengths of prefixes of a vector that were trained to be vectors, comma between; "
            "by default what the folder says."
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            help="Late interaction: the encoder that makes the vectors; by default the default model."
        ),
    ] = None,
    fp32: Annotated[bool, typer.Option("--fp32", help="Keep a float32 graph as it is.")] = False,
    replace: Replace = False,
    as_json: AsJson = False,
    home: Home = DEFAULT_HOME,
) -> None:
    """Import an encoder, a reranker or a late-interaction model from a folder.

    A float32 graph is quantised to int8 and checked. A reranker is a cross-encoder: a model for sequence
    classification with one label. A late-interaction model (ColBERT) becomes a model with the vectors of an
    encoder and its own codes of tokens.
    """
    from helix_cli.model_build.importing import Origin, import_folder  # noqa: PLC0415  onnx is slow to import
    from helix_cli.model_build.late_interaction.importing import (  # noqa: PLC0415  likewise
        import_late_interaction,
    )
    from helix_cli.model_build.rerankers.importing import import_reranker, kind_of  # noqa: PLC0415  likewise

    root, source = HomeFolder.at(home).models, folder.expanduser().resolve()
    origin = Origin(
        name=name or source.name,
        source=f"folder {source.name}",
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        keep_fp32=fp32,
        matryoshka_dimensions=None if matryoshka is None else _lengths(matryoshka),
    )
    found = kind or Kind(kind_of(source))
    existing: Existing = "replace" if replace else "refuse"
    if beside is not None and found is not Kind.LATE_INTERACTION:
        raise InvalidInputError(
            "--beside", f"must be given with a late-interaction model only, is one of {found}"
        )
    if found is Kind.LATE_INTERACTION:
        encoder = default_model(root) if beside is None else model_folder(root, beside)
        _report(
            import_late_interaction(source, root, origin, beside=encoder, existing=existing),
            root,
            as_json=as_json,
        )
        return
    imports = {Kind.ENCODER: import_folder, Kind.RERANKER: import_reranker}[found]
    _report(imports(source, root, origin, existing=existing), root, as_json=as_json)


@app.command("pair")
def pair_command(
    name: Annotated[str, typer.Argument(help="Name of the model that is made.")],
    *,
    passages: Annotated[str, typer.Option(help="The installed encoder of stored texts.")],
    queries: Annotated[str, typer.Option(help="The installed encoder of questions.")],
    replace: Replace = False,
    as_json: AsJson = False,
    home: Home = DEFAULT_HOME,
) -> None:
    """Make one model of two installed encoders whose vectors are in one space: an asymmetric pair.

    Usually a small encoder of questions that was trained to give the vectors of a larger one. It makes the
    codes of tokens, too.
    """
    from helix_cli.model_build.pairs.pairing import pair  # noqa: PLC0415  onnx is slow to import

    root = HomeFolder.at(home).models
    of_passages, of_queries = model_folder(root, passages), model_folder(root, queries)
    _report(
        pair(of_passages, of_queries, root, name, existing="replace" if replace else "refuse"),
        root,
        as_json=as_json,
    )


@app.command("pull")
def pull_command(
    name: Annotated[str, typer.Argument(help=f"Model to fetch: {BGE_SMALL}.")],
    hub: Annotated[
        str, typer.Option(envvar="HF_ENDPOINT", help="Address of the hub or of a mirror.")
    ] = "https://huggingface.co",
    timeout_seconds: Annotated[
        float, typer.Option("--timeout", min=1, help="Longest silence of the hub in seconds.")
    ] = 30.0,
    replace: Replace = False,
    as_json: AsJson = False,
    home: Home = DEFAULT_HOME,
) -> None:
    """Fetch a published model at its pinned revision, check its files, and quantise it to int8."""
    from helix_cli.model_build.hub import pull  # noqa: PLC0415  onnx is slow to import

    root = HomeFolder.at(home).models
    _report(
        pull(name, root, hub=hub, timeout_seconds=timeout_seconds, replace=replace), root, as_json=as_json
    )


@app.command("use")
def use_command(
    name: Annotated[str, typer.Argument(help="A model that is installed.")],
    *,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also if the memories have this model already, to apply new rules."),
    ] = False,
    every_seconds: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between two lines about the progress.")
    ] = 5.0,
    as_json: AsJson = False,
    nats: Nats = "",
    query: Query = "",
    home: Home = DEFAULT_HOME,
) -> None:
    """Embed with another model from now on, and every memory anew; needs `helix up` if there are memories.

    Every memory is made again from the log, beside the generation that is served, and put in its place in one
    step. Recalls are answered all the time. May be ended and called again: it continues where it was.
    """
    from helix_cli.commands.common.model_use import use_model  # noqa: PLC0415  the engines are slow to import

    used = use_model(
        HomeFolder.at(home), name, nats=nats, query=query, again=again, every_seconds=every_seconds
    )
    typer.echo(json.dumps(asdict(used), indent=2) if as_json else used.line())


def _lengths(text: str) -> tuple[int, ...]:
    try:
        lengths = {int(one) for one in text.split(",") if one.strip()}
    except ValueError as error:
        raise InvalidInputError("--matryoshka", f"must be whole numbers, is {text!r}") from error
    if any(one < 1 for one in lengths):
        raise InvalidInputError("--matryoshka", f"must be numbers above 0, is {text!r}")
    return tuple(sorted(lengths))


def _report(folder: Path, root: Path, *, as_json: bool) -> None:
    """Print a model that was made; as JSON the object that `helix models list` has of it."""
    is_reranker = folder in reranker_folders(root)
    if as_json:
        kind = RERANKER if is_reranker else ENCODER
        typer.echo(json.dumps(model_row(folder, kind, is_default=folder == _default(root)), indent=2))
        return
    card = load_reranker_card(folder) if is_reranker else load_card(folder)
    typer.echo(f"{card.name}: {folder}")
    typer.echo(f"  {card.source}")
    typer.echo(f"  {size_bytes(folder) / MEBIBYTE:.1f} MiB, checksum {card.checksum}")
    if is_reranker:
        typer.echo(f'  used by ranking profiles with [rerank.cross_encoder] model = "{card.name}"')
        return
    if isinstance(card, ModelCard) and card.has_late_interaction:
        typer.echo(f"  used by the ranking profile `colbert` after `helix models use {card.name}`")
    _print_default(root)


def _print_default(root: Path) -> None:
    default = _default(root)
    typer.echo(f"default: {default.name}" if default else "default: none, run `helix models build`")


def _default(root: Path) -> Path | None:
    try:
        return default_model(root)
    except NotFoundError:
        return None
