"""Changes the file in which an agent keeps hooks; what is not ours stays as it is.

A file that is no JSON, or whose hooks have another form, is refused and left alone. One that need not
change is not written. A link is followed, mode and indentation are kept, and the file is replaced in one
step.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from helix_cli.agents.connection import is_ours
from helix_shared.errors import InvalidInputError

HOOKS: Final = "hooks"
NEW_FILE_MODE: Final = 0o600
_INDENTATION: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_DEFAULT_INDENTATION: Final = "  "


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file as it was read."""

    path: Path
    """Where the link leads, if it is one."""
    text: str
    """Empty: there is none."""
    content: dict[str, Any]

    def with_hooks(
        self, wanted: Mapping[str, list[Any]], *, is_grouped: bool, base: Mapping[str, Any]
    ) -> str:
        """The text with our hooks as wanted, and nothing else changed."""
        content = copy.deepcopy(self.content) or dict(base)
        hooks = content.setdefault(HOOKS, {})
        for event in [*hooks, *(one for one in wanted if one not in hooks)]:
            before = hooks.get(event, [])
            kept, ours = _parted(before, is_grouped=is_grouped)
            if ours != wanted.get(event, []):
                hooks[event] = [*kept, *wanted.get(event, [])]
                if not hooks[event]:
                    del hooks[event]
        return self._text_of(content)

    def without_hooks(self, *, is_grouped: bool, base: Mapping[str, Any]) -> str:
        """The text without our hooks; empty if nothing else is in the file."""
        if not self.content.get(HOOKS):
            return self.text
        content = json.loads(self.with_hooks({}, is_grouped=is_grouped, base={}))
        if not content[HOOKS]:
            del content[HOOKS]
        return "" if content in ({}, dict(base)) else self._text_of(content)

    def write(self, text: str) -> bool:
        """Replace the file, or remove it for an empty text; whether anything changed."""
        if text == self.text:
            return False
        if not text:
            self.path.unlink(missing_ok=True)
            return True
        self.path.parent.mkdir(parents=True, exist_ok=True)
        mode = self.path.stat().st_mode & 0o777 if self.path.exists() else NEW_FILE_MODE
        draft = self.path.with_name(f".{self.path.name}.helix-new")
        draft.unlink(missing_ok=True)
        with os.fdopen(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8"
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(self.path)
        return True

    def _text_of(self, content: Mapping[str, Any]) -> str:
        if content == self.content:
            return self.text
        found = _INDENTATION.search(self.text)
        text = json.dumps(content, indent=found[1] if found else _DEFAULT_INDENTATION, ensure_ascii=False)
        return text if self.text and not self.text.endswith("\n") else f"{text}\n"


def read_hook_file(path: Path, *, is_grouped: bool) -> HookFile:
    """The file, or an empty one where there is none.

    Raises:
        InvalidInputError: it is no JSON, or its hooks have another form.
    """
    real = path.resolve()
    try:
        text = real.read_text(encoding="utf-8")
    except FileNotFoundError:
        return HookFile(real, "", {})
    except UnicodeError as error:
        raise InvalidInputError(str(path), "is no UTF-8; nothing was changed") from error
    try:
        content = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(str(path), f"is no JSON ({error}); mend it, nothing was changed") from error
    if not _has_form(content, is_grouped=is_grouped):
        raise InvalidInputError(str(path), "has hooks of an unknown form; nothing was changed")
    return HookFile(real, text, content)


def _has_form(content: object, *, is_grouped: bool) -> bool:
    if not isinstance(content, dict) or not isinstance(content.get(HOOKS, {}), dict):
        return False
    for entries in content.get(HOOKS, {}).values():
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            return False
        if is_grouped and not all(isinstance(one.get(HOOKS, []), list) for one in entries):
            return False
    return True


def _parted(entries: list[Any], *, is_grouped: bool) -> tuple[list[Any], list[Any]]:
    """Entries of others, and ours; of a group with both, each its own."""
    if not is_grouped:
        return [one for one in entries if not is_ours(one)], [one for one in entries if is_ours(one)]
    kept, ours = [], []
    for group in entries:
        mine = [one for one in group.get(HOOKS, []) if is_ours(one)]
        others = [one for one in group.get(HOOKS, []) if not is_ours(one)]
        if mine:
            ours.append({**group, HOOKS: mine})
        if others or not mine:
            kept.append({**group, HOOKS: others} if mine else group)
    return kept, ours
