"""The generation of a data folder in which nothing was ever stored."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from helix_shared.artifacts.generation.folders import current_number
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model

from .conftest import DIMENSIONS, Stack, row

pytestmark = pytest.mark.integration


async def test_a_new_folder_gets_an_empty_generation(stack: Stack, models_dir: Path) -> None:
    """It has the default model; the next writer continues from it, and publishes no second one."""
    first = stack.start(models_dir=str(models_dir))
    manifest = await stack.until(lambda m: m.generation == 1)
    card = read_card(default_model(models_dir))
    assert (manifest.model.checksum, manifest.model.dimensions) == (card.checksum, card.dimensions)
    assert (manifest.counts.signals, manifest.applied_sequence, manifest.origin) == (0, 0, 0)
    first.terminate()
    await asyncio.to_thread(first.wait, 30)
    second = stack.start(models_dir=str(models_dir))
    await stack.until_logged(second, "loaded")
    await asyncio.sleep(2)
    assert current_number(stack.data) == 1
    assert second.poll() is None


async def test_the_first_memories_may_have_another_model(stack: Stack, models_dir: Path) -> None:
    """Their stores replace the empty ones, under an origin of their own; a later model is refused."""
    stack.start(models_dir=str(models_dir))
    await stack.until(lambda m: m.generation == 1)
    await stack.log_events(3)
    await stack.derive("e0", 1, [])
    await stack.derive("e1", 2, [row("e1", 2, "one")])
    manifest = await stack.until(lambda m: m.applied_sequence == 2)
    assert (manifest.model.dimensions, manifest.origin) == (DIMENSIONS, manifest.generation)
    await stack.derive("e2", 3, [row("e2", 3, "two")])
    later = await stack.until(lambda m: m.applied_sequence == 3)
    assert (later.origin, later.counts.memories) == (manifest.origin, 2)
    assert sorted(found["text"] for found in stack.rows()) == ["one", "two"]
    for process in stack.processes:
        process.terminate()
        await asyncio.to_thread(process.wait, 30)
    again = stack.start(models_dir=str(models_dir))
    await stack.until_logged(again, "loaded")
    assert len(stack.rows()) == 2


async def test_a_log_with_events_gets_no_empty_generation(stack: Stack, models_dir: Path) -> None:
    """There an empty answer would be wrong: its events are not applied yet."""
    await stack.log_events(1)
    process = stack.start(models_dir=str(models_dir))
    await stack.until_logged(process, "loaded")
    await asyncio.sleep(2)
    assert current_number(stack.data) is None
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    manifest = await stack.until(lambda m: m.applied_sequence == 1)
    assert (manifest.generation, manifest.counts.memories) == (1, 1)


async def test_without_a_model_the_first_memories_begin(stack: Stack) -> None:
    """As where no model is installed beside the writer; the log says so."""
    process = stack.start()
    await stack.until_logged(process, "no_empty_generation")
    assert "helix models build" in stack.log(process)
    await asyncio.sleep(1)
    assert current_number(stack.data) is None
    await stack.log_events(1)
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    manifest = await stack.until(lambda m: m.applied_sequence == 1)
    assert (manifest.generation, manifest.model.dimensions) == (1, DIMENSIONS)


async def test_a_prefix_that_the_model_does_not_declare_is_refused(stack: Stack, models_dir: Path) -> None:
    """Before anything is stored; the process ends with the reason."""
    process = stack.start(models_dir=str(models_dir), scan_dimensions="128")
    await stack.until_logged(process, "must be 0 with the model all-MiniLM-L6-v2, is 128")
    await asyncio.to_thread(process.wait, 30)
    assert process.returncode
    assert current_number(stack.data) is None


async def test_a_writer_that_still_waits_for_its_server_ends_without_a_failure(stack: Stack) -> None:
    """As every worker does: it ended with a traceback, and its supervisor counted a failure."""
    process = stack.start(nats_url="nats://127.0.0.1:1")
    await stack.until_logged(process, "waiting")
    await stack.stopped()
    assert "Traceback" not in stack.log(process)
