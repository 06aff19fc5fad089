"""Fixtures of the gateway's tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from helix_shared.rpc.access.static_tokens import token_digest


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, Any]:
    """Settings with the tokens of a user, of a reader, of a writer, of an eraser and of an admin."""
    entries: list[dict[str, Any]] = [
        {"id": "ana", "tenant": "acme", "user": "ana", "roles": ["recall", "write"]},
        {"id": "reader", "tenant": "acme", "user": "*", "roles": ["recall"]},
        {"id": "writer", "tenant": "acme", "user": "ana", "roles": ["write"]},
        {"id": "eraser", "tenant": "acme", "user": "ana", "roles": ["erase"]},
        {"id": "boss", "tenant": "acme", "user": "", "roles": ["recall", "admin"]},
    ]
    for one in entries:
        one["sha256"] = token_digest(str(one["id"]))
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"tokens": entries}))
    return {"auth": "tokens", "tokens_file": file}
