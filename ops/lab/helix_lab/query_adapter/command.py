"""`helix-lab adapter`: fits the query adapter of the package, or with `--from-feedback` that of one tenant.

That of the package is fitted to a set of our own, so that all others judge it: their questions are as new to
it as those of a user. What it does to whole recalls is shown by `helix-lab eval` with and without
`embed.adapted`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from helix_cli.clients.broker import run_async
from helix_cli.commands.common import options
from helix_cli.home.addresses import Server, nats_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.tenants import data_of_tenant
from helix_lab.evaluate import Evaluation, opened, progress_bar
from helix_lab.options import CorpusFrom, ProfilesFolder, QuestionLimit
from helix_lab.query_adapter.feedback import read_erased, read_feedback
from helix_lab.query_adapter.fit import BATCH_QUESTIONS, fit, require_own_codes
from helix_lab.query_adapter.from_feedback import MOST_QUESTIONS, learn
from helix_lab.query_adapter.observations import Observation, observations
from helix_lab.query_adapter.tenant import open_tenant
from helix_lab.ranking_profiles import one_profile
from helix_lab.sets.cached.corpora import in_process, load_answerable
from helix_lab.sets.cached.corpus import CachedCorpus
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import MONTHS
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_shared.artifacts.learned_adapters import publish_learned, remove_learned
from helix_shared.encoders.model import PROJECTION_FILE, read_card
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.store import default_model
from helix_shared.encoders.token_codes import TokenProjection
from helix_shared.errors import InvalidInputError, TemporaryError

PIPED_WIDTH: Final = 140
FIRST: Final = 10
FOLDS: Final = 4


def adapter_command(
    data: Annotated[Path | None, typer.Option(help="Folder of the development sets.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file of the adapter (.npz).")] = None,
    sets: Annotated[str, typer.Option(help="Set names that it is fitted to, comma between.")] = MONTHS,
    judged: Annotated[str, typer.Option(help="Other sets that judge it, comma between.")] = "",
    profile: Annotated[str, typer.Option(help="The ranking profile that asks.")] = "helix",
    corpus_from: CorpusFrom = None,
    profiles_dir: ProfilesFolder = None,
    limit: QuestionLimit = None,
    *,
    from_feedback: Annotated[
        bool,
        typer.Option("--from-feedback", help="Fit the adapter of --tenant to its feedback, and serve it."),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="--from-feedback: remove the tenant's adapter instead.")
    ] = False,
    models: Annotated[
        Path | None, typer.Option(help="--from-feedback: folder of the models; by default home/models.")
    ] = None,
    tenant: options.Tenant = "",
    home: options.Home = options.DEFAULT_HOME,
    nats: options.Nats = "",
) -> None:
    """Fit how questions are moved towards what answers them, and judge it on questions left out."""
    console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
    if from_feedback:
        if not tenant:
            raise InvalidInputError("--tenant", "must name the tenant whose feedback is learned from")
        where = HomeFolder.at(home)
        root = data_of_tenant(where, tenant)
        if remove:
            found = remove_learned(root, tenant)
            console.print(f"{tenant}: {'removed' if found else 'has no adapter of its own'}", markup=False)
        else:
            asking = one_profile(profile, profiles_dir)
            _learn(root, models or where.models, tenant, asking, nats_server(nats, home), console)
        return
    if data is None or out is None:
        raise InvalidInputError("--data, --out", "must be given, or --from-feedback")
    if out.suffix != ".npz":
        raise InvalidInputError("out", f"is {out.name}: the file of an adapter ends in .npz")
    start = with_constants(one_profile(profile, profiles_dir), {"embed.adapted": False})
    loaded = load_answerable(data, sets, corpus_from, limit)
    others = load_answerable(data, judged, corpus_from, limit) if judged else []
    evaluation = in_process(profiles_dir)
    folder = default_model(evaluation.models)
    card = read_card(folder)
    require_own_codes(card)
    fitted = partial(fit, card.encoder_checksum, TokenProjection.load(folder / PROJECTION_FILE).matrix)
    seen = list(_observed(loaded, start, evaluation, console))
    adapter = fitted(seen)
    out.parent.mkdir(parents=True, exist_ok=True)
    adapter.save(out)
    table = Table(
        title=f"percent of the relevant candidates in the first {FIRST} by cosine; held out: fitted without "
        "these tenants",
        title_justify="left",
    )
    for title in ("set", "plain", "fitted", "held out"):
        table.add_column(title, justify="left" if title == "set" else "right")
    table.add_row(sets, *map(_mean, (_recalls(seen), _recalls(seen, adapter), _held_out(fitted, seen))))
    for other in others:
        some = list(_observed([other], start, evaluation, console))
        table.add_row(other.name, _mean(_recalls(some)), "-", _mean(_recalls(some, adapter)))
    console.print(table)
    console.print(f"written: {out}", markup=False)


def _learn(
    data: Path, models: Path, tenant: str, asking: RankingProfile, server: Server, console: Console
) -> None:
    """Fit the adapter of a tenant and publish it; the query service serves it from the next recall on."""
    with open_tenant(data, models, tenant, asking) as corpus:
        learned = learn(corpus, run_async(read_feedback(server, tenant, most=MOST_QUESTIONS)), console)
    card = publish_learned(data, learned.adapter.save, learned.card, learned.memories)
    with open_tenant(data, models, tenant, asking) as corpus:
        # not the names of those who ask now: one who was erased may have asked again
        erased = run_async(read_erased(server, tenant))
        if not corpus.holds(learned.memories) or learned.is_asked_by_erased(erased):
            remove_learned(data, tenant)
            raise TemporaryError("something that it was fitted with was erased meanwhile; fit again")
    console.print(f"{tenant}: adapter {card.number} of {card.questions} questions is served", markup=False)


def _observed(
    sets: Sequence[EvaluationSet], profile: RankingProfile, evaluation: Evaluation, console: Console
) -> Iterator[Observation]:
    with progress_bar(console) as progress:
        for one in sets:
            with opened(one, evaluation, progress) as corpus:
                yield from observations(CachedCorpus(corpus), one, profile)


def _held_out(
    fitted: Callable[[Sequence[Observation]], QueryAdapter], seen: Sequence[Observation]
) -> list[float]:
    """`_recalls` by adapters that have not seen the tenant."""
    tenants = sorted({(one.set_name, one.tenant) for one in seen})
    found: list[float] = []
    for fold in range(FOLDS):
        left_out = {*tenants[fold::FOLDS]}
        used = [one for one in seen if (one.set_name, one.tenant) not in left_out]
        judging = [one for one in seen if (one.set_name, one.tenant) in left_out]
        if len(used) >= BATCH_QUESTIONS and judging:
            found += _recalls(judging, fitted(used))
    return found


def _recalls(seen: Sequence[Observation], adapter: QueryAdapter | None = None) -> list[float]:
    """Percent of the relevant candidates among the first `FIRST` by cosine, by question."""
    found = []
    for one in seen:
        vector = one.vector if adapter is None else adapter.vector(one.vector)
        first = np.argsort(-(one.memories @ vector), kind="stable")[:FIRST]
        found.append(100.0 * float(one.is_relevant[first].sum() / one.is_relevant.sum()))
    return found


def _mean(percents: Sequence[float]) -> str:
    return f"{np.mean(percents):.1f}" if percents else "-"
