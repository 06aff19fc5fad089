"""The lines that `helix status --deep` adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helix_cli.clients.deep_check import DeepCheck, ShardCheck


def deep_lines(measured: DeepCheck) -> str:
    """Vector search against exact search, then what the graph does for the caller."""
    several = len(measured.shards) > 1
    lines = [f"shard {one.shard}\n{_dense(one)}" if several else _dense(one) for one in measured.shards]
    return "\n".join([*lines, _graph(measured)])


def _dense(measured: ShardCheck) -> str:
    dense, channel = measured.dense, measured.dense_channel
    if dense is None:
        return f"dense  not measured: {measured.problem}"
    by_channel = (
        "nothing to search"
        if channel is None
        else f"recall@{channel.depth} {channel.recall:.3f} (worst {channel.worst:.2f}) against exact search, "
        f"{channel.queries} vectors of the largest tenant's {channel.memories} visible memories"
    )
    by_index = "nothing to search" if dense.recall is None else f"recall@{dense.depth} {dense.recall:.3f}"
    index = (
        f"{dense.scan} index, {dense.nprobes} of {dense.partitions} partitions"
        if dense.partitions
        else "exact scan, no index"
    )
    return (
        f"dense  {by_channel}\n"
        f"index  {by_index} against exact search, mean of {dense.queries} stored vectors\n"
        f"       {index}, {dense.candidates} candidates\n"
        f"       {dense.unindexed_rows} of {dense.rows} rows outside the index\n"
        f"       {dense.scanned_dimensions} of {dense.dimensions} dimensions scanned, kept as {dense.storage}"
    )


def _graph(measured: DeepCheck) -> str:
    found = measured.graph
    if found is None:
        return f"graph  {measured.graph_problem}"
    coverage, own = found.coverage, found.own
    return (
        f"graph  {found.sentence}\n"
        f"       {coverage.with_entity:.0%} of {coverage.memories} memories read are linked to an entity, "
        f"{coverage.with_link:.0%} to another memory\n"
        f"       {own.several_hops} of {own.questions} questions that its memories ask take several hops; "
        f"the graph changes the first ten of {own.changed}"
    )
