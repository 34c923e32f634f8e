"""BERTScore without torch: greedy matching over the token embeddings of an encoder (Zhang et al., ICLR 2020).

The encoder (BERT, DistilBERT or one of their kind, such as MiniLM) runs in numpy from a folder with ``config.json``,
``tokenizer.json`` and ``model.safetensors``. Texts are scored pair by pair, without padding, so that a value depends on
its two texts alone. No inverse document frequencies, no rescaling against a baseline. An empty text scores 0.

Values of two backbones, or of two layers of one, are on different scales: backbone and layer are part of the name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.errors import InputError, UsageError
from pipeline.evaluation.judge import JUDGED
from pipeline.evaluation.outcomes import Status
from pipeline.store import digest_file, read_json

__all__ = ["PUBLISHED", "BertScorer", "greedy_f1", "score_name", "texts_of"]

Matrix: TypeAlias = npt.NDArray[np.float32]

PUBLISHED = "bertscore_f1[distilbert-base-uncased/L5]"
"""The name of the score that the published table holds."""
_LONGEST = 512
_KNOWN = {
    "all-MiniLM-L12-v2": ("bert", 384, 12),
    "all-MiniLM-L6-v2": ("bert", 384, 6),
    "bert-base-uncased": ("bert", 768, 12),
    "bert-large-uncased": ("bert", 1024, 24),
    "distilbert-base-uncased": ("distilbert", 768, 6),
}
"""Type, width and layers of backbones by name: figures of another model must not stand under a known name."""


def score_name(backbone: str, layer: int) -> str:
    """The name of a score.

    Example:
        >>> score_name("all-MiniLM-L6-v2", 3)
        'bertscore_f1[all-MiniLM-L6-v2/L3]'
    """
    return f"bertscore_f1[{backbone}/L{layer}]"


def texts_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Gold and answer of a row of ER or VP as two texts; viewpoints are joined in the order of source and target."""
    if row["task"] == "er":
        return row["gold_label"] or "", row["answer_emotion"] or ""
    return _joined(row["gold_viewpoints"] or ()), _joined(row["answer_viewpoints"] or ())


def _joined(views: Sequence[Mapping[str, str | None]]) -> str:
    ordered = sorted(views, key=lambda view: tuple(view[name] or "" for name in ("source", "target", "viewpoint")))
    return " ".join((view["viewpoint"] or "").strip() for view in ordered).strip()


class BertScorer:
    """A backbone up to one of its layers.

    Args:
        folder: With ``config.json``, ``tokenizer.json`` and ``model.safetensors``.
        layer: The layer whose output is compared, from 1; 0 is the output of the embeddings.
        name: What the backbone is called; by default the folder's name.

    Raises:
        InputError: If a file is missing, or the model is of another kind.
        UsageError: If the model has no such layer, or is not the one that its name says.
    """

    def __init__(self, folder: Path, layer: int, name: str | None = None) -> None:
        from safetensors.numpy import load_file  # noqa: PLC0415 - an extra
        from tokenizers import Tokenizer  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

        for needed in ("config.json", "tokenizer.json", "model.safetensors"):
            if not (folder / needed).is_file():
                msg = f"the folder of the backbone holds no {needed}"
                raise InputError(msg, file=folder, hint="give a folder as transformers' save_pretrained writes it")
        config = read_json(folder / "config.json")
        kind = config.get("model_type")
        if kind not in _KINDS:
            msg = f"a model of type {kind!r} cannot be used here"
            raise InputError(msg, file=folder / "config.json", hint=f"use one of: {', '.join(_KINDS)}")
        if (config.get("hidden_act") or config.get("activation")) != "gelu":
            msg = "the backbone's activation is not gelu"
            raise InputError(msg, file=folder / "config.json", hint="use a BERT or DistilBERT with gelu")
        layers = int(config.get("num_hidden_layers") or config["n_layers"])
        if not 0 <= layer <= layers:
            msg = f"the backbone has no layer {layer}"
            raise UsageError(msg, hint=f"choose 0 to {layers}")
        called = name or folder.name
        width = int(config.get("hidden_size") or config["dim"])
        if called in _KNOWN and _KNOWN[called] != (kind, width, layers):
            msg = f"the backbone is no {called}: it is of type {kind}, {width} wide, with {layers} layers"
            raise UsageError(msg, hint="name it as what it is, with --bertscore-name")
        self.name = score_name(called, layer)
        self.weights_sha256 = digest_file(folder / "model.safetensors")
        """Of the weights; belongs to the record of the score."""
        self._heads = int(config.get("num_attention_heads") or config["n_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._names = _KINDS[kind]
        self._weights = {
            _plain(key): value.astype(np.float32) for key, value in load_file(str(folder / "model.safetensors")).items()
        }
        self._layer = layer
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(_LONGEST, int(config["max_position_embeddings"])))
        self._embedded = lru_cache(maxsize=4096)(self._embed)

    def f1(self, gold: str, answer: str) -> float:
        """BERTScore F1 of two texts; 0 where one of them is empty."""
        return greedy_f1(*self._embedded(gold.strip()), *self._embedded(answer.strip()))

    def outcomes(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Instance id to F1, for the valid answers of ER and VP."""
        return {
            row["instance_id"]: self.f1(*texts_of(row))
            for row in rows
            if row["task"] in JUDGED and row["status"] == Status.SCORED
        }

    def _embed(self, text: str) -> tuple[Matrix, npt.NDArray[np.bool_]]:
        encoded = self._tokenizer.encode(text)
        words = np.array([not special for special in encoded.special_tokens_mask], dtype=bool)
        return self.hidden(encoded.ids), words

    def hidden(self, ids: Sequence[int]) -> Matrix:
        """The output of the layer, shape (tokens, width)."""
        names, weights = self._names, self._weights
        state = weights["embeddings.word_embeddings.weight"][list(ids)]
        state = state + weights["embeddings.position_embeddings.weight"][: len(ids)]
        if "embeddings.token_type_embeddings.weight" in weights:
            state = state + weights["embeddings.token_type_embeddings.weight"][0]
        state = self._normed(state, "embeddings.LayerNorm")
        for number in range(self._layer):
            place = f"{names['layers']}.{number}."
            query, key, value = (self._linear(state, place + names[part]) for part in ("query", "key", "value"))
            attended = self._linear(self._attend(query, key, value), place + names["attended"])
            state = self._normed(state + attended, place + names["attended_norm"])
            inner = self._linear(state, place + names["inner"])
            outer = self._linear(_gelu(inner), place + names["outer"])
            state = self._normed(state + outer, place + names["outer_norm"])
        return state

    def _attend(self, query: Matrix, key: Matrix, value: Matrix) -> Matrix:
        tokens, width = query.shape
        size = width // self._heads
        heads = [part.reshape(tokens, self._heads, size).transpose(1, 0, 2) for part in (query, key, value)]
        scores = heads[0] @ heads[1].transpose(0, 2, 1) / np.float32(math.sqrt(size))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed: Matrix = (shares @ heads[2]).transpose(1, 0, 2).reshape(tokens, width)
        return mixed

    def _linear(self, state: Matrix, place: str) -> Matrix:
        found: Matrix = state @ self._weights[f"{place}.weight"].T + self._weights[f"{place}.bias"]
        return found

    def _normed(self, state: Matrix, place: str) -> Matrix:
        centred = state - state.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        found: Matrix = centred / spread * self._weights[f"{place}.weight"] + self._weights[f"{place}.bias"]
        return found


def greedy_f1(
    gold: Matrix, gold_words: npt.NDArray[np.bool_], answer: Matrix, answer_words: npt.NDArray[np.bool_]
) -> float:
    """F1 of greedy matching: every word token takes its most similar partner.

    Special tokens are not counted, but may be partners, as in the reference implementation.

    Args:
        gold: Token embeddings, shape (tokens, width).
        gold_words: Which tokens are no special ones.
        answer: As ``gold``.
        answer_words: As ``gold_words``.
    """
    if not gold_words.any() or not answer_words.any():
        return 0.0
    similar = _unit(answer) @ _unit(gold).T
    precision = float(similar.max(axis=1)[answer_words].mean())
    recall = float(similar.max(axis=0)[gold_words].mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _unit(state: Matrix) -> Matrix:
    found: Matrix = state / np.linalg.norm(state, axis=-1, keepdims=True)
    return found


def _gelu(state: Matrix) -> Matrix:
    from scipy.special import erf  # noqa: PLC0415 - takes a moment to load

    found: Matrix = state * np.float32(0.5) * (np.float32(1) + erf(state / np.float32(math.sqrt(2))))
    return found


def _plain(key: str) -> str:
    """A weight's name without the model's prefix, and with today's names of the norm's two weights."""
    key = key.removeprefix("bert.").removeprefix("distilbert.")
    return key.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


_KINDS: Mapping[str, Mapping[str, str]] = {
    "bert": {
        "layers": "encoder.layer",
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "attended": "attention.output.dense",
        "attended_norm": "attention.output.LayerNorm",
        "inner": "intermediate.dense",
        "outer": "output.dense",
        "outer_norm": "output.LayerNorm",
    },
    "distilbert": {
        "layers": "transformer.layer",
        "query": "attention.q_lin",
        "key": "attention.k_lin",
        "value": "attention.v_lin",
        "attended": "attention.out_lin",
        "attended_norm": "sa_layer_norm",
        "inner": "ffn.lin1",
        "outer": "ffn.lin2",
        "outer_norm": "output_layer_norm",
    },
}
