"""The memories of the small corpus that most tests ask."""

from datetime import UTC, datetime, timedelta
from typing import Any

from .corpus import NOW


def said(text: str, **fields: Any) -> dict[str, Any]:
    """A row with this text and other fields."""
    return {"text": text} | fields


DAY = timedelta(days=1)
FAR_AHEAD = datetime(2900, 1, 1, tzinfo=UTC)
"""After the clock of any machine: validity is decided by that clock, not by `now`."""
ROWS: list[dict[str, Any]] = [
    said("The staging server listens on port 5432.", type="semantic", occurred_at=NOW - 30 * DAY),
    said("The staging server listens on port 6432 now.", type="semantic", occurred_at=NOW - DAY),
    said("Caroline planted tomatoes in the garden.", speaker="Caroline", session_id="s1",
         entities=["Caroline"]),
    said("Melanie ran a charity race on Sunday.", speaker="Melanie", session_id="s2", entities=["Melanie"]),
    said("We chose Postgres because of its transactions.", type="decision", entities=["Postgres"]),
    said("Restart the worker with systemctl restart helix-worker.", type="procedural"),
    said("src/app/loader.py raises ConfigError when the file is empty.", type="code", entities=["loader.py"]),
    said("Polish Summer is a film directed by Jan Nowak.", title="Polish Summer", type="semantic",
         entities=["Polish Summer", "Jan Nowak"]),
    said("Jan Nowak was born in Gdansk; his mother was Maria Nowak.", title="Jan Nowak", type="semantic",
         entities=["Jan Nowak", "Maria Nowak", "Gdansk"]),
    said("Gdansk lies on the Baltic coast.", title="Gdansk", type="semantic", entities=["Gdansk"]),
    said("Ann keeps the spare garage key under the blue pot.", name="ann private", user_id="ann",
         owner="ann"),
    said("Bob keeps the spare garage key in the shed.", name="bob private", user_id="bob", owner="bob"),
    # others can reach these through the graph only
    said("A remark about a birthday present.", name="ann linked", user_id="ann", owner="ann",
         entities=["Maria Nowak"]),
    said("A remark that was taken back.", name="deleted linked", hidden=True, entities=["Maria Nowak"]),
    said("A remark of the past.", name="expired linked", expires_at=NOW - DAY, entities=["Maria Nowak"]),
    said("A remark for the board.", name="board linked", audience=["board"], acl=["board"],
         entities=["Maria Nowak"]),
    said("The board approved the merger with Initech.", name="board only", audience=["board"], acl=["board"]),
    said("The office plant is a ficus named Fred.", name="deleted", hidden=True, deleted_at=NOW),
    said("The office cactus is called Spike.", name="erasing", hidden=True, deleted_at=NOW, erasing=True),
    said("The canteen offer ended: free pizza on Mondays.", name="expired", expires_at=NOW - DAY),
    said("The canteen closed for ever.", name="no longer valid", valid_to=NOW),
    said("The canteen reopens with new chairs.", name="not yet valid", valid_from=FAR_AHEAD),
    said("We met the auditors last week about invoices.", occurred_at=NOW - 7 * DAY, session_id="s3"),
    said("We met the auditors in autumn about invoices.", occurred_at=NOW - 150 * DAY, session_id="s4"),
    said("Globex keeps the vault code behind the painting.", name="globex secret", tenant_id="globex",
         entities=["Jan Nowak"]),
]  # fmt: skip
