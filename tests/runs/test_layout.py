"""Names and order of the files of a run."""

from pathlib import Path

from sonde.runs.layout import RunLayout, abandoned_at, checkpoint_step, segment_key, segment_name


def test_a_layout_names_every_file_of_the_contract() -> None:
    layout = RunLayout(Path("/r"))
    assert layout.live == Path("/r/sae_features.live.jsonl")
    assert layout.snapshot(50) == Path("/r/checkpoint-50/sae_features.jsonl")
    assert layout.metadata(50) == Path("/r/checkpoint-50/aegir_metadata.json")
    assert layout.segment(50) == Path("/r/segments/50.jsonl")
    assert layout.segment(50, 2) == Path("/r/segments/50-2.jsonl")
    assert layout.abandoned(50, 1) == Path("/r/segments/abandoned-50-1.jsonl")
    names = [layout.metrics, layout.generations, layout.health, layout.run_info]
    assert [path.name for path in names] == [
        "grpo_metrics.jsonl",
        "generations.jsonl",
        "sae_health.jsonl",
        "run.json",
    ]


def test_segments_and_checkpoints_are_ordered_by_number_not_by_name() -> None:
    names = ["100.jsonl", "50.jsonl", "50-1.jsonl", "9.jsonl", "50-10.jsonl"]
    keys = sorted(key for name in names if (key := segment_key(name)))
    assert [segment_name(key) for key in keys] == [
        "9.jsonl",
        "50.jsonl",
        "50-1.jsonl",
        "50-10.jsonl",
        "100.jsonl",
    ]
    assert [checkpoint_step(f"checkpoint-{step}") for step in (0, 50, 100)] == [0, 50, 100]


def test_other_names_are_none_of_them() -> None:
    for name in (
        "abandoned-50-0.jsonl",
        "50.json",
        "-1.jsonl",
        "x.jsonl",
        "050.jsonl",
        "50-0.jsonl",
    ):
        assert segment_key(name) is None
    for name in (
        "checkpoint-",
        "checkpoint-last",
        "checkpoint--1",
        "checkpoint-1\n",
        "checkpoint-٣",
    ):
        assert checkpoint_step(name) is None
    assert abandoned_at("abandoned-50-3.jsonl") == 50
    assert abandoned_at("abandoned-50.jsonl") is None
