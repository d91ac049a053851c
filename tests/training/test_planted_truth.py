"""A reward that depends on one direction, known beforehand: both tests have to name it first.

The reward of a completion is how far its tokens' rows of the unembedding point along a direction
d, so a policy gains by moving its last residual along d and along nothing else. The dictionary has
d as one of its features, and the other directions of an orthonormal basis as the rest.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM
from trl import GRPOTrainer

import sonde
from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.feature_file import FEATURES
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.load import load_autoencoder
from sonde.schema.changed import Changed
from sonde.schema.story import Story
from sonde.training import SidecarCallback
from tests.cli import shell
from tests.tiny_model import SENTENCES, tiny_llama, tiny_tokenizer
from tests.training import tiny_run
from tests.training.short_run import LORA
from tests.training.tiny_run import WIDTH

tiny_run.quiet()

LAYER, PLANTED, STEPS = 2, 11, 24
ALWAYS = 50.0
"""Added to every feature and taken off again: so all are active, and none is ever cut off."""


def basis() -> torch.Tensor:
    """Orthonormal directions; row `PLANTED` is the one."""
    drawn = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(3))
    return torch.linalg.qr(drawn)[0]


def dictionary(folder: Path) -> Autoencoder:
    rows = basis()
    made = Autoencoder(
        W_enc=rows.T.contiguous(),
        b_enc=torch.full((WIDTH,), ALWAYS),
        W_dec=rows,
        b_dec=-ALWAYS * rows.sum(0),
        activation=TopK(WIDTH),
        subtract_b_dec=False,
        hook="post_block",
        layer=LAYER,
    )
    save_autoencoder(made, folder, dtype=torch.float32)
    (folder / FEATURES).touch()
    return load_autoencoder(folder)


def not_words() -> list[int]:
    """Tokens that are no whole words: what is said then comes out at the same tokens again."""
    words = tiny_tokenizer().get_vocab()
    return [token for text, token in words.items() if len(text) < 3 or text[0] != "Ġ"]


def along(model: LlamaForCausalLM) -> list[float]:
    """How far each token's row of the unembedding points along the direction."""
    found: list[float] = (model.lm_head.weight.detach() @ basis()[PLANTED]).tolist()
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that was rewarded for the direction, with its run beside it."""
    return trained(tmp_path_factory.mktemp("planted"))


def trained(directory: Path) -> Path:
    base, run = directory / "base", directory / "run"
    tiny_llama(layers=3, width=WIDTH).save_pretrained(base)
    tiny_tokenizer().save_pretrained(base)
    model = LlamaForCausalLM.from_pretrained(base)
    worth = along(model)

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [float(np.mean([worth[token] for token in ids])) for ids in completion_ids]

    trainer = GRPOTrainer(
        model,
        reward_funcs=reward,
        args=tiny_run.config(
            run,
            max_steps=STEPS,
            save_strategy="steps",
            save_steps=STEPS,
            per_device_train_batch_size=32,
            num_generations=8,
            generation_kwargs={"suppress_tokens": not_words()},
        ),
        train_dataset=tiny_run.prompts(),
        processing_class=tiny_tokenizer(),
        peft_config=LORA,
    )
    saes = {LAYER: dictionary(directory / "dictionary")}
    SidecarCallback(saes, record_every_n_tokens=1, record_last_prompt_token=True).attach(trainer)
    trainer.train()
    return run


@pytest.mark.slow
def test_the_direction_that_the_reward_hangs_on_comes_first(run: Path) -> None:
    said = shell.sonde("runs", "changed", run, "--json", "--features", WIDTH)
    assert said.exit_code == 0, said.output
    changed = Changed.model_validate(json.loads(said.stdout))
    first, second, *_ = changed.features
    assert (first.layer, first.feature) == (LAYER, PLANTED)
    assert first.undone is not None
    assert second.undone is not None
    assert first.undone > 2 * abs(second.undone), "most of the gain hangs on it"
    assert first.moved > 0, "towards what was rewarded"
    assert changed.gain > 0
    assert [len(each.random) for each in changed.features] == [19] * WIDTH
    again = shell.sonde("runs", "changed", run, "--json", "--features", 1)
    assert Changed.model_validate(json.loads(again.stdout)).features[0].undone == first.undone


@pytest.mark.slow
def test_the_reward_itself_hangs_on_that_direction_and_on_no_other_as_much(run: Path) -> None:
    """Each direction is taken out of the last residual, on prompts that the run has not had."""
    worth = along(LlamaForCausalLM.from_pretrained(run.parent / "base"))
    tokenizer = tiny_tokenizer()

    def verify(prompt: str, completion: str, **_: object) -> float:
        said = tokenizer(completion, add_special_tokens=False)["input_ids"]
        return float(np.mean([worth[token] for token in said])) if said else 0.0

    rows = [{"prompt": text[: 5 + 2 * n]} for n in range(12) for text in SENTENCES]
    features = sonde.Features(
        layer=LAYER, numbers=list(range(WIDTH)), how="clamp", value=ALWAYS, draws=1,
        dictionary=str(run.parent / "dictionary"),
    )  # fmt: skip
    found = sonde.checkpoints(run).reward(
        features, prompts=24, max_tokens=6, verify=verify, rows=rows
    )
    first, second, *_ = found.effects
    assert first.feature == PLANTED
    assert first.effect < 0
    assert abs(first.effect) > 1.5 * abs(second.effect), "most of the reward hangs on it"
    for p in (first.p, first.p_random):
        assert p is not None
        assert p < 0.05
    assert found.verdict.startswith(f"The reward hangs on {LAYER}:{PLANTED}")


@pytest.mark.slow
def test_the_story_follows_that_direction_and_says_what_it_could_not_ask(run: Path) -> None:
    page = run.parent / "story.html"
    said = shell.sonde(
        "runs", "story", run, "--features", 4, "--follow", 1, "--save", page, "--json"
    )
    assert said.exit_code == 0, said.output
    told = Story.model_validate(json.loads(said.stdout))
    (followed,) = told.followed
    assert (followed.layer, followed.feature) == (LAYER, PLANTED)
    # in sixteen dimensions one random direction of nineteen points nearly the same way
    at = followed.course[-1]
    assert at.undone is not None
    assert max(map(abs, at.random)) > at.undone == told.changed.features[0].undone
    whole = [each for each in told.changed.layers if each.what == "all + error"]
    assert whole[-1].undone == pytest.approx(told.changed.gain, abs=1e-3), "behind the last, all"
    assert told.chosen == "most"
    assert followed.moved_since is None
    assert "as far as is known: of 4 features" in page.read_text()
    assert len(followed.activity) == len(told.steps) == len(told.rewards) == STEPS
    assert told.reward is None, "a run with a reward of somebody's own is not graded unasked"
    assert any("the reward was not tested" in reason for reason in told.reasons)
    assert any("what features mean is not known" in reason for reason in told.reasons), (
        "the file is empty"
    )
