"""Options that several commands of `helix-lab` have: which sets, questions and ranking profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataFolder = Annotated[Path, typer.Option("--data", help="Folder of the evaluation sets.")]
SetNames = Annotated[
    str, typer.Option("--sets", help="Set names, comma between; none: all of the folder, months.")
]
CorpusFrom = Annotated[
    Path | None, typer.Option("--corpus-from", help="Where a set without a corpus finds one.")
]
ProfilesFolder = Annotated[
    Path | None, typer.Option("--profiles-dir", help="Folder of your own ranking profiles.")
]
QuestionLimit = Annotated[int | None, typer.Option("--limit", help="Questions of each set at most.", min=1)]
