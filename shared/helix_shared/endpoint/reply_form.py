"""The form in which a server answers: forms are tried from the strictest down, the first accepted is kept.

Servers differ in what they accept: some know no `json_schema`, some no `response_format` at all, some models
refuse `temperature`. A refusal (400, 404, 415, 422, 501) of a form leads to the next, also when the form was
accepted before. A form is given up when the server answers in another: a question that is refused in every
form changes nothing.
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
        return self._fields(self._at, self._temperature, schema)

    def after_refusal(
        self, sent: Mapping[str, Any], schema: Mapping[str, Any], reason: str
    ) -> dict[str, Any] | None:
        """Fields to try after a request with the fields `sent` was refused; None: there are none left.

        `reason` is the server's text.
        """
        at, temperature = self._place_of(sent), sent.get("temperature")
        is_last = at == len(self._forms) - 1
        if temperature is not None and ("temperature" in reason.casefold() or is_last):
            return self._fields(at, None, schema)
        return None if is_last else self._fields(at + 1, temperature, schema)

    def accepted(self, sent: Mapping[str, Any]) -> None:
        """An answer to a request with the fields `sent` arrived: what was left out stays left out."""
        self._at = max(self._at, self._place_of(sent))
        self._temperature = self._temperature if "temperature" in sent else None
        self.is_known = True

    def _place_of(self, sent: Mapping[str, Any]) -> int:
        return self._forms.index(sent.get("response_format", {}).get("type", "text"))

    def _fields(self, at: int, temperature: float | None, schema: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {} if temperature is None else {"temperature": temperature}
        if self._forms[at] == "json_schema":
            named = {"name": SCHEMA_NAME, "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": named}
        elif self._forms[at] == "json_object":
            fields["response_format"] = {"type": "json_object"}
        return fields
