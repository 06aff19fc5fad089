"""The form in which a server answers: it is tried once, from the strictest down, and remembered.

Servers differ in what they accept: some know no `json_schema`, some no `response_format` at all, some models
refuse `temperature`. A refusal (400, 404, 415, 422, 501) of one form leads to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

FORMS: Final = ("json_schema", "json_object", "text")
REFUSALS: Final = frozenset({400, 404, 415, 422, 501})
SCHEMA_NAME: Final = "answer"


class ReplyForm:
    """What is sent beside the question; used from one event loop."""

    def __init__(self, structured: str, temperature: float) -> None:
        self._forms = FORMS if structured == "auto" else (structured,)
        self._at = 0
        self._temperature: float | None = temperature
        self.is_known = structured != "auto"
        """Whether an answer in this form has arrived."""

    @property
    def name(self) -> str:
        """One of `FORMS`."""
        return self._forms[self._at]

    def parameters(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of the request; `schema` is the JSON schema of the answer."""
        fields: dict[str, Any] = {}
        if self._temperature is not None:
            fields["temperature"] = self._temperature
        if self.name == "json_schema":
            named = {"name": SCHEMA_NAME, "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        elif self.name == "json_object":
            fields["response_format"] = {"type": "json_object"}
        return fields

    def accepted(self) -> None:
        """An answer arrived: the form stays."""
        self.is_known = True

    def reset(self) -> None:
        """Begin again with the strictest form: the server refused all, so the form was not the reason."""
        self._at = 0

    def refused(self, sent: dict[str, Any], schema: Mapping[str, Any], reason: str) -> bool:
        """Change the form after a refusal of a request with the fields `sent`; False: there is none left.

        `reason` is the server's text. Another question may have changed the form meanwhile.
        """
        if sent != self.parameters(schema):
            return True
        if "temperature" in sent and ("temperature" in reason.casefold() or self._is_last):
            self._temperature = None
            return True
        if self.is_known or self._is_last:
            return False
        self._at += 1
        return True

    @property
    def _is_last(self) -> bool:
        return self._at == len(self._forms) - 1
