"""Helix as the memory of agent frameworks: one module for each, which needs the extra of its name.

    from helix_memory.adapters.langchain import HelixRetriever, HelixVectorStore  # helix-memory[langchain]
    from helix_memory.adapters.langgraph import HelixStore                        # helix-memory[langgraph]
    from helix_memory.adapters.google_adk import HelixMemoryService               # helix-memory[google-adk]
    from helix_memory.adapters.llama_index import HelixMemoryBlock                # helix-memory[llama-index]

`records`, `reading` and `record_store` keep the items of a framework as documents; `conditions` are filters
on their fields; `turns` makes turns of a conversation from messages. These import no framework.
"""

from __future__ import annotations


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """The error of a module whose framework is not installed."""
    reason = f"{error.name or error} is not installed; pip install 'helix-memory[{extra}]'"
    return ImportError(reason, name=error.name)
