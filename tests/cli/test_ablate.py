"""`sonde ablate`, on a tiny model, and on a run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from sonde.cli.ablate import Experiment, Question, remove
from sonde.cli.loading import load_model
from sonde.cli.progress import Lines
from sonde.cli.reward import OWN
from sonde.results import RewardSweep, Sweep
from sonde.results.feature_table import feature_effects
from sonde.results.tables import StoredTable, from_json
from sonde.runs.kept_rewards import kept_rewards
from sonde.runs.layout import RunLayout
from sonde.schema.table import FeatureAxis, SweepTable
from tests.cli.shell import refusal, sonde
from tests.runs.analytics.made import made_run

TEXT = "When Mary and John went to the store, John gave a drink to Mary. " * 200
PROMPT = "When Mary and John went to the store"


@pytest.fixture(scope="module")
def dictionary(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ablate")
    (folder / "text.txt").write_text(TEXT)
    made = sonde(
        "sae", "train", "--model", tiny, "--layers", "1", "--text", folder / "text.txt",
        "--context", 24, "--features", 48, "--k", 4, "--tokens", 1000, "--batch", 128,
        "--buffer", 1000, "--device", "cpu", "--out", folder / "saes",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return folder / "saes" / "layer_1"


def test_features_of_a_prompt_are_removed_and_the_answer_is_shown_and_saved(
    tiny: Path, dictionary: Path, tmp_path: Path
) -> None:
    page = tmp_path / "why.html"
    asked = ["ablate", "--model", tiny, "--sae", dictionary, "--layer", "1", "--prompt", PROMPT]
    said = sonde(*asked, "--answer", " Mary", "--save", page)
    assert said.exit_code == 0, said.output
    assert "features of layer 1, removed" in said.stdout
    first = said.stdout.splitlines()[0]
    assert "matters" in first or "None of the" in first, "a verdict comes first"
    assert ", corrected " in " ".join(said.stdout.split())
    assert "random directions" in said.stdout
    assert "promotes" in said.stdout
    assert page.read_text().startswith("<!doctype html>")
    assert f"<h1>{first[:30]}" in page.read_text()
    found = told(sonde(*asked, "--answer", " Mary", "--json").stdout)
    assert found.notes["layer"] == "1"
    assert found.notes["answer"] == " Mary"
    assert found.notes["dictionary"] == "layer_1"
    assert len(found.notes["dictionary_sha256"]) == 64
    strongest = feature_effects(found)[0]
    assert len(strongest.random) == 19
    kept = tmp_path / "why.json"
    only = ["--features", strongest.feature, "--save", kept]
    again = told(sonde(*asked, "--answer", " Mary", *only, "--json").stdout)
    assert feature_effects(again) == [strongest]
    assert feature_effects(told(kept.read_text())) == [strongest]


def told(text: str) -> SweepTable:
    stored = from_json(text)
    assert isinstance(stored, StoredTable)
    assert stored.provenance.weights == stored.table.notes["weights"]
    return stored.table


def test_it_says_how_far_it_is(tiny: Path, dictionary: Path) -> None:
    """A pipe has lines for what takes long; a bar in a terminal takes the same events."""
    model = load_model(str(tiny), Lines())
    tokens = model.backend.tokenize(PROMPT)
    [answer] = model.backend.tokenize(" Mary", special=False)
    heard: list[str] = []

    class Listening(Lines):
        def event(self, event: Any) -> None:
            heard.append(event.type)
            super().event(event)

    question = Question(tuple(tokens), answer)
    experiment = Experiment(model, dictionary, (question,), FeatureAxis(layer=1), "why")
    found, cards = remove(experiment, Listening())
    assert heard[0] == "start"
    assert heard[-1] == "summary"
    assert heard.count("cell") == found.timing.cells
    assert {each.feature for each in feature_effects(found.table)} == set(cards)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--prompt", "a"], "--prompt and --answer go together"),
        (["some", "--prompt", "a", "--answer", "b"], "not both"),
        (["--prompt", "a", "--answer", "b"], "which layer?"),
        (["--prompt", "a", "--answer", "b", "--layer", "3"], "no autoencoder for layer 3"),
        (["--prompt", "a", "--answer", "b", "--features", "x"], "numbers with commas"),
        (["--prompt", "a", "--answer", "b", "--save", "x.png"], ".html, .json"),
        (["--prompt", "a", "--answer", "b", "--engine-option", "a=1"], "is for --backend vllm"),
        (["--prompt", "a", "--answer", "b", "--how", "patch"], "write remove or clamp=4.5"),
        (["--prompt", "a", "--answer", "b", "--how", "clamp"], "the activation it sets"),
        (["--prompt", "a", "--answer", "b", "--reward"], "not both"),
        (["some", "--generation", "1-0", "--generations", "4"], "leave one out"),
        (["some", "--completions", "4"], "give --reward too"),
        (["some", "--reward", "--token", "3"], "--token does not go with --reward"),
        (["some", "--reward", "--model", "x"], "--model does not go with --reward"),
        (["some", "--reward", "--save", "x.pdf"], ".html, .json, .png, .svg, .csv"),
    ],
)
def test_what_cannot_be_asked_is_one_line(options: list[str], says: str) -> None:
    assert says in refusal(sonde("ablate", *options))


def test_a_run_without_a_checkpoint_says_so(tmp_path: Path) -> None:
    made_run(tmp_path / "run", steps=2, save_every=9)
    assert "no checkpoint" in refusal(sonde("ablate", tmp_path / "run"))


def a_run(tiny: Path, run: Path, prompts: list[str]) -> Path:
    """A run of one generation a prompt, learned from at step 13, with three checkpoints."""
    for step in (4, 10, 20):
        shutil.copytree(tiny, run / f"checkpoint-{step}")
    completion = " Mary gave a drink"
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    said = len(tokenizer(completion)["input_ids"])
    generations, records = [], []
    for n, prompt in enumerate(prompts):
        generations.append({
            "step": 13, "generation_id": f"13-{n}", "group_id": f"13-{n}",
            "token_start": n * said, "token_end": (n + 1) * said,
            "prompt_tokens": len(tokenizer(prompt)["input_ids"]), "completion_tokens": said,
            "gate": True, "R": 1.0, "prompt": prompt, "completion": completion,
        })  # fmt: skip
        records.append({
            "step": 13, "token_index": n * said, "layer_index": 1, "top_feature_indices": [3, 5],
            "top_feature_activations": [2.0, 1.0], "reconstruction_loss": 1.0,
        })  # fmt: skip
    (run / "generations.jsonl").write_text("".join(json.dumps(g) + "\n" for g in generations))
    (run / "sae_features.live.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return run


def test_a_run_is_asked_on_the_nearest_checkpoint_and_it_is_said_which_and_why(
    tiny: Path, dictionary: Path, tmp_path: Path
) -> None:
    run = a_run(tiny, tmp_path / "run", [PROMPT])
    found = sonde("ablate", run, "--sae", dictionary, "--draws", 3)
    assert found.exit_code == 0, found.output
    assert "Nothing is sure with 3 random directions" in " ".join(found.stdout.split())
    assert "removed on checkpoint-10" in found.stdout
    assert "on checkpoint-10: step 13 learns from what the weights of step 12 said" in found.stderr
    assert "this is the nearest there is (the others are of 4, 20)" in found.stderr


def test_several_generations_are_tested_at_once_each_of_another_prompt(
    tiny: Path, dictionary: Path, tmp_path: Path
) -> None:
    texts = ["When Mary and John went", "John gave a drink", "the store and Mary", PROMPT, PROMPT]
    run = a_run(tiny, tmp_path / "run", texts)
    asked = ["ablate", run, "--sae", dictionary, "--generations", 8, "--draws", 19]
    found = sonde(*asked, "--save", tmp_path / "several.html")
    assert found.exit_code == 0, found.output
    assert "4 generations, one token of each: features of layer 1, removed on checkpoint-20" in (
        found.stdout
    )
    assert "over 4 prompts" in found.stdout
    assert "random directions" in found.stdout
    first = found.stdout.splitlines()[0]
    assert "matters" in first or first.startswith("None of the")
    assert (tmp_path / "several.html").read_text().startswith("<!doctype html>")
    kept = from_json(sonde(*asked, "--json").stdout)
    assert isinstance(kept, StoredTable)
    assert kept.table.pairs is not None
    assert len(kept.table.pairs) == 4
    assert {each.prompts.foil == each.prompts.answer for each in kept.table.pairs} == {False}


def test_a_feature_is_clamped_as_it_is_removed(tiny: Path, dictionary: Path) -> None:
    asked = ["ablate", "--model", tiny, "--sae", dictionary, "--layer", "1", "--prompt", PROMPT]
    asked += ["--answer", " Mary", "--features", "3", "--draws", 0, "--how", "clamp=9", "--json"]
    found = told(sonde(*asked).stdout)
    assert found.notes["how"] == "clamp to 9"
    assert [table.kind for table in found.tables] == ["cells"]


def test_the_reward_is_tested_with_a_verifier_and_prompts_of_ones_own(
    tiny: Path, dictionary: Path, tmp_path: Path
) -> None:
    run = a_run(tiny, tmp_path / "run", [PROMPT])
    code = tmp_path / "mine.py"
    code.write_text("def verify(prompt, completion, **_):\n    return float('a' in completion)\n")
    rows = [{"prompt": text} for text in (PROMPT, "Mary went", "John gave", "a drink to", "to the")]
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["ablate", run, "--reward", f"{code}:verify", "--prompts", prompts, "--layer", "1"]
    asked += ["--sae", dictionary, "--features", "3,5", "--draws", "1"]
    found = sonde(*asked, "--save", tmp_path / "reward.html")
    assert found.exit_code == 0, found.output
    assert "4 prompts" in found.stdout
    assert "1 prompts were left out" in found.stdout
    assert "4 completions, 1:3 removed" in found.stderr
    assert (tmp_path / "reward.html").read_text().startswith("<!doctype html>")
    assert sorted(kept_rewards(RunLayout(run), 20).effects) == ["1:3", "1:5"]
    again = sonde(*asked, "--json", "--step", "4")
    kept = Sweep.from_json(again.stdout)
    assert isinstance(kept, RewardSweep)
    assert {each.feature for each in kept.effects} == {3, 5}
    assert "no checkpoint of step 5; it has [4, 10, 20]" in refusal(sonde(*asked, "--step", "5"))
    for own in (["--reward"], ["--reward", OWN]):
        said = refusal(sonde("ablate", run, *own, "--layer", "1", "--sae", dictionary))
        assert "give it with --reward FILE:NAME" in said
