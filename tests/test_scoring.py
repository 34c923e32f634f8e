"""Error rates, against figures that others published for the same files."""

from __future__ import annotations

import pytest

from pipeline.scoring import Score, Transcript, plain_words, read_reference, score
from pipeline.speech.nist import SpeakerTurn, Utterance, read_rttm
from pipeline.times import Interval

pytest.importorskip("meeteval")
pytest.importorskip("pyannote.metrics")


def test_der_is_that_of_md_eval(media):
    folder = media / "annotations"
    reference = Transcript(tuple(read_rttm(folder / "ES2016a_ref.rttm")))
    hypothesis = Transcript(tuple(read_rttm(folder / "ES2016a_aalto.rttm")))
    # Without a UEM file md-eval takes the extent of the reference.
    extent = Interval(min(turn.start for turn in reference.speech), max(turn.end for turn in reference.speech))
    found = score(hypothesis, reference, uem=[extent], collar=0.25).der
    assert found.total == pytest.approx(922.74, abs=0.01)
    assert found.missed == pytest.approx(89.35, abs=0.01)
    assert found.false_alarm == pytest.approx(74.01, abs=0.01)
    assert found.confusion == pytest.approx(183.07, abs=0.01)
    assert found.rate == pytest.approx(0.3754, abs=0.0001)


def test_cpwer_is_that_of_meeteval_itself(media):
    folder = media / "annotations"
    for recording, errors in (("recordingA", 2), ("recordingB", 23)):
        reference = read_reference(None, folder / "meeteval_ref.stm", file_id=recording)
        hypothesis = read_reference(None, folder / "meeteval_hyp.stm", file_id=recording)
        assert score(hypothesis, reference).cpwer.errors == errors


SPEECH = (SpeakerTurn(0, 2, "A"), SpeakerTurn(2, 4, "B"))
TEXT = (Utterance(0, 2, "A", "How are you?"), Utterance(2, 4, "B", "I am fine."))


def test_the_truth_scores_no_error():
    truth = Transcript(SPEECH, TEXT)
    found = score(truth, truth)
    assert (found.der.rate, found.der_single.rate, found.wer.rate, found.cpwer.rate) == (0, 0, 0, 0)
    assert (found.der.total, found.wer.length) == (4, 6)


def test_a_word_of_the_wrong_person_counts_in_cpwer_only():
    said = (
        Utterance(0.0, 0.5, "x", "how"),
        Utterance(0.5, 1.0, "x", "are"),
        Utterance(1.5, 2.0, "y", "you"),
        Utterance(2.0, 2.5, "y", "I am fine"),
    )
    found = score(Transcript((), said), Transcript(SPEECH, TEXT))
    assert found.wer.errors == 0
    assert (found.cpwer.errors, found.cpwer.deletions, found.cpwer.insertions) == (2, 1, 1)
    assert found.der.missed == 4


def test_only_the_evaluated_part_counts():
    found = score(Transcript(SPEECH[:1], TEXT[:1]), Transcript(SPEECH, TEXT), uem=[Interval(0, 2)])
    assert (found.der.total, found.der.rate) == (2, 0)
    assert (found.wer.length, found.wer.errors, found.cpwer.errors) == (3, 0, 0)


def test_overlap_is_left_out_of_the_second_rate():
    reference = Transcript((SpeakerTurn(0, 4, "A"), SpeakerTurn(2, 3, "B")))
    found = score(Transcript((SpeakerTurn(0, 4, "x"),)), reference)
    assert (found.der.total, found.der.missed) == (5, 1)
    assert (found.der_single.total, found.der_single.rate) == (3, 0)


def test_counts_add_and_rates_do_not():
    truth = Transcript(SPEECH, TEXT)
    nothing = score(Transcript(()), Transcript((SpeakerTurn(0, 1, "A"),), (Utterance(0, 1, "A", "no"),)))
    both = score(truth, truth) + nothing
    assert (both.wer.length, both.wer.rate, both.der.rate) == (7, 1 / 7, 1 / 5)
    assert Score() + both == both
    assert both.to_json()["cpwer"] == {"rate": 1 / 7, "length": 7, "substitutions": 0, "deletions": 1, "insertions": 0}


def test_a_silent_reference_has_no_rate():
    found = score(Transcript(SPEECH[:1], TEXT[:1]), Transcript(()))
    assert (found.der.rate, found.der.false_alarm, found.wer.rate, found.wer.insertions) == (None, 2, None, 3)
    assert score(Transcript(()), Transcript(())).to_json()["der"]["rate"] is None


def test_words_are_compared_in_a_plain_form():
    assert plain_words("Um, I DON\u2019T know [laughs] -- well… £5.") == ["i", "don't", "know", "well", "5"]
    assert plain_words("(inaudible) mm-hmm") == []
