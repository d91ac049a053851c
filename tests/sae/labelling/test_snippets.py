"""Held-out snippets are where a feature is active and where it is not, in truth."""

import torch

from sonde.sae.autoencoder import Autoencoder
from sonde.sae.corpus import from_text
from sonde.sae.labelling.snippets import SIDE, held_out_trials
from tests.sae.reading import mirror, random_contexts, tiny_reader

TEXTS = [
    ("The Eiffel Tower is in the city of Paris. " if n % 3 else "Mary gave a drink to John. ") * 2
    for n in range(60)
]


def rare() -> Autoencoder:
    """Features that are active on some contexts and not on others."""
    held = mirror(1)
    return held.with_tensors({**held.tensors(), "b_enc": torch.full((held.d_sae,), -2.0)})


def test_half_of_the_trials_are_active_and_they_are_the_same_again() -> None:
    reader, contexts = tiny_reader(), from_text(tiny_reader(), TEXTS, 24)
    found = held_out_trials(reader, rare(), 1, contexts, [0, 5], without=[set()] * 2)
    for trials in found:
        assert [sum(trial.active for trial in trials), len(trials)] == [SIDE, 2 * SIDE]
    assert found == held_out_trials(reader, rare(), 1, contexts, [0, 5], without=[set()] * 2)
    other = held_out_trials(reader, rare(), 1, contexts, [0, 5], without=[set()] * 2, seed=1)
    assert found != other


def test_what_was_shown_to_the_explainer_is_not_asked_about() -> None:
    reader, contexts = tiny_reader(), random_contexts(20)
    (all_of_them,) = held_out_trials(reader, mirror(1), 1, contexts, [3], without=[set()])
    shown = {all_of_them[0].text}
    (rest,) = held_out_trials(reader, mirror(1), 1, contexts, [3], without=[shown])
    assert set(rest) == {trial for trial in all_of_them if trial.text not in shown}


def test_a_feature_is_active_in_some_snippets_and_in_the_others_nowhere() -> None:
    reader, held = tiny_reader(), rare()
    contexts = from_text(reader, TEXTS, 24)
    read = reader.activations(contexts.ids, "post_block", [1])[1]
    inside = torch.arange(read.shape[1])[None] < contexts.lengths[:, None]
    inside[:, 0] = False
    values = held.encode(read.flatten(0, 1)).dense(held.d_sae).view(*read.shape[:2], -1)
    activity = values[:, :, 0].where(inside, 0.0)
    rows = zip(contexts.ids.tolist(), contexts.lengths.tolist(), strict=True)
    texts = ["".join(reader.pieces(ids[:length])) for ids, length in rows]
    (trials,) = held_out_trials(reader, held, 1, contexts, [0], without=[set()])
    for trial in trials:
        homes = [n for n, text in enumerate(texts) if trial.text in text]
        assert any(bool((activity[n] > 0).any()) is trial.active for n in homes)
