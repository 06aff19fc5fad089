"""Streams and consumers on a real server, compared with what provisioning wants."""

import asyncio
from dataclasses import replace

import pytest
from nats.aio.client import Client
from nats.js import api
from prometheus_client import REGISTRY

from helix_memory import subjects
from helix_shared import object_bucket
from helix_shared.broker import streams
from helix_shared.broker.provisioning import drift
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.worker.watch import watch_settings


async def test_what_was_provisioned_has_no_difference(nats_client: Client) -> None:
    """With and without what a language model needs and the bucket, and after provisioning again."""
    jetstream = nats_client.jetstream()
    assert await drift.differences(jetstream) == []
    await provision(jetstream, endpoint=True, objects=True)
    assert await drift.differences(jetstream) == []
    await provision(jetstream)
    assert await drift.differences(jetstream) == []


async def test_a_bucket_whose_metas_are_not_replaced_is_told(nats_client: Client) -> None:
    """Every upload to it would fail."""
    jetstream = nats_client.jetstream()
    await provision(jetstream, objects=True)
    config = (await jetstream.stream_info(object_bucket.STREAM)).config
    await jetstream.update_stream(replace(config, allow_rollup_hdrs=False))
    assert [str(one) for one in await drift.differences(jetstream)] == [
        "OBJ_HELIX_GENERATIONS: allow_rollup_hdrs is unset, wanted True"
    ]
    await provision(jetstream)
    assert await drift.differences(jetstream) == []


async def test_each_changed_setting_is_named_and_provisioning_repairs_it(nats_client: Client) -> None:
    """Stream, field, wanted and found value; what is missing is a difference too."""
    jetstream = nats_client.jetstream()
    config = (await jetstream.stream_info(subjects.EVENTS_STREAM)).config
    await jetstream.update_stream(
        replace(config, max_msg_size=1_000, discard=api.DiscardPolicy.OLD, duplicate_window=60.0, max_msgs=10)
    )
    kg = (await jetstream.consumer_info(subjects.DERIVED_STREAM, streams.KG)).config
    await jetstream.add_consumer(subjects.DERIVED_STREAM, replace(kg, max_ack_pending=7, ack_wait=5.0))
    await jetstream.delete_consumer(subjects.EVENTS_STREAM, streams.INGEST)
    await jetstream.delete_stream(subjects.ACCESS_STREAM)
    found = {str(one) for one in await drift.differences(jetstream)}
    assert found == {
        "HELIX_EVENTS: max_msg_size is 1000, wanted 262144",
        "HELIX_EVENTS: discard is old, wanted new",
        "HELIX_EVENTS: duplicate_window is 60, wanted 3600",
        "HELIX_EVENTS: max_msgs is 10, wanted unset",
        "HELIX_DERIVED/kg: max_ack_pending is 7, wanted 1024",
        "HELIX_DERIVED/kg: ack_wait is 5, wanted 60",
        "HELIX_EVENTS/ingest: exists is false, wanted true",
        "HELIX_ACCESS: exists is false, wanted true",
        "HELIX_ACCESS/consolidation-access: exists is false, wanted true",
    }
    await provision(jetstream)
    assert await drift.differences(jetstream) == []


async def test_a_difference_is_counted_while_it_is_there_and_nothing_is_changed(nats_client: Client) -> None:
    """The watch of a worker compares again and again; only provisioning changes a stream."""

    def shown() -> float | None:
        labels = {"stream": subjects.EVENTS_STREAM, "field": "max_msg_size"}
        return REGISTRY.get_sample_value("helix_stream_settings_differ", labels)

    async def until(wanted: float | None) -> None:
        async with asyncio.timeout(10):
            while shown() != wanted:  # noqa: ASYNC110  the metric has no event
                await asyncio.sleep(0.02)

    jetstream = nats_client.jetstream()
    config = (await jetstream.stream_info(subjects.EVENTS_STREAM)).config
    watching = asyncio.create_task(watch_settings(nats_client, every_seconds=0.05))
    try:
        await jetstream.update_stream(replace(config, max_msg_size=1_000))
        await until(1.0)
        assert (await jetstream.stream_info(subjects.EVENTS_STREAM)).config.max_msg_size == 1_000
        await provision(jetstream)
        await until(None)
    finally:
        watching.cancel()


@pytest.mark.parametrize("seconds", [3.0, 40.0])
async def test_a_lease_with_another_time_to_live_is_named(nats_client: Client, seconds: float) -> None:
    """A writer that dies is replaced after it."""
    jetstream = nats_client.jetstream()
    config = (await jetstream.stream_info(streams.LEASE_STREAM)).config
    await jetstream.update_stream(replace(config, max_age=seconds, duplicate_window=1.0))
    found = [str(one) for one in await drift.differences(jetstream)]
    assert found == [f"{streams.LEASE_STREAM}: max_age is {seconds:g}, wanted 10"]
