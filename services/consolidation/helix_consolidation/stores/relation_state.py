"""Statements and decided relations inside every generation, and how they are read back at the start.

The statements are the writer's own. The relations lie where the query service reads them for a history.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from helix_consolidation.folding.status.links import restore_links
from helix_consolidation.statements.statement_row import rows_of, table_of
from helix_shared.artifacts.relations.relation_files import (
    NAMES_FILE,
    RELATIONS,
    VOID_FILE,
    RelationFiles,
    encoded_void,
    read_names,
)
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_consolidation.ledger.consolidation_state import ConsolidationState

STATEMENTS: Final = "consolidation/statements"
UNDECIDED: Final = "consolidation/undecided.arrow"


def save_relations(state: ConsolidationState, live: Path) -> dict[str, Path | bytes]:
    """Files by relative path: bytes to write, and files in the folder `live` to link."""
    files: dict[str, Path | bytes] = {
        f"{STATEMENTS}/{path.name}": path for path in state.statements.save(live / STATEMENTS)
    }
    relations = RelationFiles(live / RELATIONS)
    relations.append(state.relations.unsaved())
    files |= {f"{RELATIONS}/{path.name}": path for path in relations.files}
    files[f"{RELATIONS}/{NAMES_FILE}"] = json.dumps(state.relations.names.names).encode()
    files[f"{RELATIONS}/{VOID_FILE}"] = encoded_void(state.relations.void)
    table = table_of(state.undecided.rows)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return files | {UNDECIDED: sink.getvalue().to_pybytes()}


def restore_relations(state: ConsolidationState, live: Path) -> None:
    """Read the files in the folder `live` into `state`, whose ledger and tombstones are there.

    Raises:
        CorruptArtifactError: a file is missing or damaged.
    """
    state.statements.load(live / STATEMENTS)
    records = RelationFiles(live / RELATIONS).records()
    state.relations.load(records, read_names(live / RELATIONS), state.ledger.facts["is_there"])
    try:
        with pa.memory_map(str(live / UNDECIDED)) as source:
            undecided = rows_of(pa.ipc.open_file(source).read_all())
    except (OSError, pa.ArrowException, TypeError) as error:
        raise CorruptArtifactError(f"undecided statements cannot be read: {live / UNDECIDED}") from error
    state.undecided.load(undecided, state.undecided.decided)
    restore_links(state)
