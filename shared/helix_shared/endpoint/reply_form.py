"""The form in which a server answers: forms are tried from the strictest down, the first accepted is kept.

Servers differ in what they accept: some know no `json_schema`, some no `response_format` at all, some models
refuse `temperature`, or want the longest answer as `max_completion_tokens`. A refusal (400, 404, 415, 422,
501) of a form leads to the next, also when the form was accepted before. A form is given up when the server
answers in another: a question that is refused in every form changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

FORMS: Final = ("json_schema", "json_object", "text")
REFUSALS: Final = frozenset({400, 404, 415, 422, 501})
SCHEMA_NAME: Final = "answer"
LIMIT: Final = "max_tokens"
NEWER_LIMIT: Final = "max_completion_tokens"
"""Name of the same field where a server asks for it: models that think before they answer refuse `LIMIT`."""


class ReplyForm:
    """What is sent beside the question; used from one event loop."""

    def __init__(self, structured: str, temperature: float) -> None:
        self._forms = FORMS if structured == "auto" else (structured,)
        self._at = 0
        self._temperature: float | None = temperature
        self._limit = LIMIT
        self.is_known = structured != "auto"
        """Whether an answer in this form has arrived."""

    @property
    def name(self) -> str:
        """One of `FORMS`."""
        return self._forms[self._at]

    def parameters(self, schema: Mapping[str, Any], most_tokens: int) -> dict[str, Any]:
        """Fields of the request; `schema` is the JSON schema of the answer, `most_tokens` its longest."""
        fields: dict[str, Any] = {self._limit: most_tokens, **self._format(self._at, schema)}
        return fields if self._temperature is None else {**fields, "temperature": self._temperature}

    def after_refusal(
        self, sent: Mapping[str, Any], schema: Mapping[str, Any], reason: str
    ) -> dict[str, Any] | None:
        """Fields to try after a request with the fields `sent` was refused; None: there are none left.

        `reason` is the server's text.
        """
        at, fields = self._place_of(sent), dict(sent)
        is_last = at == len(self._forms) - 1
        if LIMIT in fields and NEWER_LIMIT in reason:
            fields[NEWER_LIMIT] = fields.pop(LIMIT)
        elif "temperature" in fields and ("temperature" in reason.casefold() or is_last):
            del fields["temperature"]
        elif is_last:
            return None
        else:
            fields.pop("response_format", None)
            fields |= self._format(at + 1, schema)
        return fields

    def accepted(self, sent: Mapping[str, Any]) -> None:
        """An answer to a request with the fields `sent` arrived: what was changed stays so."""
        self._at = max(self._at, self._place_of(sent))
        self._temperature = self._temperature if "temperature" in sent else None
        self._limit = NEWER_LIMIT if NEWER_LIMIT in sent else LIMIT
        self.is_known = True

    def _place_of(self, sent: Mapping[str, Any]) -> int:
        return self._forms.index(sent.get("response_format", {}).get("type", "text"))

    def _format(self, at: int, schema: Mapping[str, Any]) -> dict[str, Any]:
        form = self._forms[at]
        if form == "json_schema":
            named = {"name": SCHEMA_NAME, "strict": True, "schema": schema}
            return {"response_format": {"type": form, form: named}}
        return {"response_format": {"type": form}} if form == "json_object" else {}
