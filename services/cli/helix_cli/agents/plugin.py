"""A plugin of Claude Code with our hooks and our MCP server, in a folder that is a marketplace of one plugin.

    <folder>/.claude-plugin/marketplace.json     what `/plugin marketplace add` reads
    <folder>/README.md
    <folder>/plugins/helix-memory/               the plugin; the agent copies it elsewhere to install it
        .claude-plugin/plugin.json, hooks/hooks.json, .mcp.json
        hooks/helix_hook.py, hooks/helix.conf    the program of hooks that no HTTP hook can be, its connection

The agent finds hooks and servers in these places by itself; a manifest that names them too has them twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from helix_cli.agents.connection import PROGRAM, Connection, program_text
from helix_cli.home.addresses import CALL_VARIABLES
from helix_shared.errors import InvalidInputError
from helix_shared.machine.processes import module_command

if TYPE_CHECKING:
    from helix_cli.agents.hosts import Host

MARKETPLACE: Final = "helix"
PLUGIN: Final = "helix-memory"
DISTRIBUTION: Final = "helix-memory-cli"
DESCRIPTION: Final = "Recalls what is remembered before each prompt, and remembers the sessions."
MARKETPLACE_FILE: Final = ".claude-plugin/marketplace.json"
_FOLDER: Final = f"plugins/{PLUGIN}"
_ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"
"""Where the agent has put the plugin, as it writes that."""
COMMAND: Final = f'python3 -I -S "{_ROOT}/hooks/{PROGRAM}" "{_ROOT}/hooks/helix.conf"'
OWNER: Final = {"name": "Helix"}


def plugin_files(host: Host, connection: Connection) -> dict[str, str]:
    """Text of every file by its path below the folder."""
    parts = {
        "hooks/hooks.json": _json({"description": DESCRIPTION, "hooks": host.hooks(connection, COMMAND)}),
        f"hooks/{PROGRAM}": program_text(),
        "hooks/helix.conf": connection.text(),
        ".mcp.json": _json({"mcpServers": {"helix": _server(connection)}}),
    }
    version = _version(parts)
    about = {"name": PLUGIN, "description": DESCRIPTION, "version": version, "author": OWNER}
    parts[".claude-plugin/plugin.json"] = _json(about | {"license": "Apache-2.0"})
    listed = {"name": PLUGIN, "source": f"./{_FOLDER}", "description": DESCRIPTION, "version": version}
    market = {"name": MARKETPLACE, "owner": OWNER, "metadata": {"description": DESCRIPTION}}
    return {
        MARKETPLACE_FILE: _json(market | {"plugins": [listed]}),
        "README.md": _readme(connection),
        **{f"{_FOLDER}/{path}": text for path, text in parts.items()},
    }


def write_plugin(folder: Path, files: Mapping[str, str]) -> bool:
    """Write the files; whether anything changed.

    Raises:
        InvalidInputError: the folder holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError("--out", f"{folder} is no folder")
    if folder.is_dir() and any(folder.iterdir()) and not _is_ours(folder / MARKETPLACE_FILE):
        raise InvalidInputError("--out", f"{folder} holds something else; name a new or an empty folder")
    changed = False
    for name, text in files.items():
        path = folder / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        changed = True
    return changed


def _is_ours(path: Path) -> bool:
    try:
        return bool(json.loads(path.read_text(encoding="utf-8")).get("name") == MARKETPLACE)
    except (OSError, ValueError, AttributeError):
        return False


def _server(connection: Connection) -> dict[str, Any]:
    """MCP over HTTP where that needs no secret and no own CA, else by `helix mcp` of this installation."""
    if connection.is_plain:
        url = f"{connection.gateway.rstrip('/')}/mcp"
        return {"type": "http", "url": url, "headers": connection.headers}
    named = ["--url", connection.gateway, "--tenant", connection.tenant, "--user", connection.user]
    files = {"token_file": connection.token_file, "ca_file": connection.ca_file}
    variables = {CALL_VARIABLES[name]: str(path) for name, path in files.items() if path}
    program, *arguments = module_command("helix_cli", "mcp", *named)
    return {"command": program, "args": arguments, "env": variables}


def _version(parts: Mapping[str, str]) -> str:
    """The version of Helix and a digest: the agent updates a plugin only where its version changes."""
    digest = hashlib.sha256("".join(f"{name}\n{text}" for name, text in sorted(parts.items())).encode())
    return f"{metadata.version(DISTRIBUTION)}+{digest.hexdigest()[:8]}"


def _readme(connection: Connection) -> str:
    text = resources.files("helix_cli.agents").joinpath("plugin_readme.md").read_text(encoding="utf-8")
    values = {"GATEWAY": connection.gateway, "TENANT": connection.tenant, "USER": connection.user or "(none)"}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
