"""Measures the exponents of all-MiniLM-L6-v2 on the texts of this package, and writes their file.

python -m helix_cli.model_build.smoothing.measuring
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from helix_cli.model_build.bert_graph import BertShape, bert_graph
from helix_cli.model_build.minilm import weights_folder
from helix_cli.model_build.projection_texts import PROJECTION_TEXTS
from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_cli.model_build.smoothing.factors import MINILM_FILE, Exponents, measure
from helix_shared.encoders.model import TOKENIZER_FILE
from helix_shared.encoders.tokens import TextTokens

MAX_TOKENS = 256


def measured() -> Exponents:
    """Those that follow from the weights of the package and the texts."""
    folder, _ = weights_folder()
    tokens = TextTokens.load(folder / TOKENIZER_FILE, max_tokens=MAX_TOKENS)
    graph = bert_graph(folder / "model.safetensors", BertShape.read(folder / "config.json"))
    return measure(graph, (tokens.ids(text) for text in (*SAMPLE_TEXTS, *PROJECTION_TEXTS)))


if __name__ == "__main__":
    with Path(__file__).with_name(MINILM_FILE).open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **measured())
