"""Panics of Rust engines, which pyo3 raises as a `BaseException`: no `except Exception` would catch them.

LanceDB, tantivy, tokenizers and obstore are such engines. Where work runs in a thread for somebody else, a
panic becomes an `EnginePanicError` there, so that its caller handles it as any failure.
"""

from __future__ import annotations


class EnginePanicError(RuntimeError):
    """An engine panicked; the message says which exception, and what it said."""


def as_exception(error: BaseException) -> Exception:
    """The error, or an `EnginePanicError` in place of one that is no `Exception`, or that no future takes."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    panic = EnginePanicError(f"{type(error).__name__}: {error}")
    panic.__cause__ = error
    return panic
