"""Settings: the later wins, and a bad value says where it came from."""

from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadSetting
from sonde.settings import SETTINGS, CheckpointConfig, P5Cfg, Settings, load_settings

CONFIG = """
# what an existing configuration looks like
aegir {
  gateway { host = "127.0.0.2", port = 9001 }
  p5 {
    output_dir = /data/p5
    sae_live_log_filename = live.jsonl
    sae_live_spill_every_n_steps = 3
    reward { weights = [0.5, 0.05, 0.45] }   // not ours
  }
  gateway.port = 9002
}
"""


def loaded(tmp_path: Path, text: str | None = None, **options: Any) -> Settings:
    path = None
    if text is not None:
        path = tmp_path / "some.conf"
        path.write_text(text)
    return load_settings(path, **{"environ": {}, "directory": tmp_path, **options})


def test_without_anything_runs_are_here_and_the_rest_is_the_contracts(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert (found.gateway.host, found.gateway.port) == ("127.0.0.1", 8091)
    assert found.p5.output_dir == Path("runs")
    assert found.p5.sae_log_filename == "sae_features.jsonl"
    assert found.p5.sae_live_log_filename == "sae_features.live.jsonl"
    assert found.p5.metadata_filename == "aegir_metadata.json"
    assert found.checkpoint.sae_live_spill_every_n_steps == 1
    assert (found.checkpoint.save_steps, found.checkpoint.save_total_limit) == (50, 3)
    assert found.origins == {}


def test_an_existing_file_works_as_it_is_and_foreign_keys_are_left_alone(tmp_path: Path) -> None:
    found = loaded(tmp_path, CONFIG)
    assert (found.gateway.host, found.gateway.port) == ("127.0.0.2", 9002)
    assert found.p5.layout().live == Path("/data/p5/live.jsonl")
    assert found.checkpoint.sae_live_spill_every_n_steps == 3


def test_the_environment_wins_over_the_file_and_flags_over_both(tmp_path: Path) -> None:
    environ = {"AEGIR_P5_OUTPUT_DIR": "/env", "AEGIR_GATEWAY_PORT": "7000"}
    found = loaded(tmp_path, CONFIG, environ=environ)
    assert (str(found.p5.output_dir), found.gateway.port) == ("/env", 7000)
    flags = {"aegir.p5.output_dir": tmp_path, "aegir.gateway.port": None}
    found = loaded(tmp_path, CONFIG, environ=environ, flags=flags)
    assert (found.p5.output_dir, found.gateway.port) == (tmp_path, 7000)
    assert "AEGIR_GATEWAY_PORT" in found.origins["aegir.gateway.port"]


def test_trainer_and_gateway_agree_by_construction(tmp_path: Path) -> None:
    found = loaded(tmp_path, CONFIG, environ={"AEGIR_P5_OUTPUT_DIR": "/env"})
    assert isinstance(found.checkpoint, CheckpointConfig)
    for name in P5Cfg.__dataclass_fields__:
        assert getattr(found.checkpoint, name) == getattr(found.p5, name)


def test_the_file_is_named_by_flag_or_variable_or_is_here(tmp_path: Path) -> None:
    (tmp_path / "aegir.conf").write_text("aegir.gateway.port = 1")
    (tmp_path / "other.conf").write_text("aegir.gateway.port = 2")
    variable = {"AEGIR_CONFIG": str(tmp_path / "other.conf")}
    assert loaded(tmp_path).gateway.port == 1
    assert loaded(tmp_path, environ=variable).gateway.port == 2
    assert loaded(tmp_path, "aegir.gateway.port = 3", environ=variable).gateway.port == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("aegir.gateway.port", 65536),
        ("aegir.gateway.port", "http"),
        ("aegir.gateway.port", True),
        ("aegir.gateway.port", 80.5),
        ("aegir.gateway.host", "a b"),
        ("aegir.p5.output_dir", ""),
        ("aegir.p5.output_dir", 7),
        ("aegir.p5.sae_log_filename", "../x.jsonl"),
        ("aegir.p5.sae_live_log_filename", ".."),
        ("aegir.p5.metadata_filename", "/etc/passwd"),
        ("aegir.p5.sae_live_spill_every_n_steps", 0),
    ],
)
def test_a_bad_value_names_the_key_the_value_and_the_flag(
    tmp_path: Path, key: str, value: object
) -> None:
    with pytest.raises(BadSetting) as raised:
        loaded(tmp_path, flags={key: value})
    text = str(raised.value)
    assert key in text
    assert repr(str(value)) in text
    assert f"--{key.rpartition('.')[2].replace('_', '-')}" in text


def test_a_bad_value_names_the_file_or_the_variable_it_came_from(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="some.conf"):
        loaded(tmp_path, "aegir.gateway.port = many")
    with pytest.raises(BadSetting, match="AEGIR_GATEWAY_PORT"):
        loaded(tmp_path, environ={"AEGIR_GATEWAY_PORT": "many"})
    with pytest.raises(BadSetting, match="section"):
        loaded(tmp_path, "aegir.p5 = here")


@pytest.mark.parametrize("text", ["aegir { gateway {", "aegir = ${nowhere}", "\x00"])
def test_a_file_that_is_no_hocon_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match=r"some\.conf"):
        loaded(tmp_path, text)


def test_a_file_that_was_asked_for_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"gone\.conf.*--config"):
        load_settings(tmp_path / "gone.conf", environ={})
    with pytest.raises(BadSetting, match=r"gone\.conf.*AEGIR_CONFIG"):
        load_settings(environ={"AEGIR_CONFIG": str(tmp_path / "gone.conf")})


def test_the_variables_of_the_contract_are_other_names_of_ours() -> None:
    variables = {setting.key: setting.variables for setting in SETTINGS if setting.variables}
    assert variables == {
        "aegir.gateway.host": ("SONDE_GATEWAY_HOST", "AEGIR_GATEWAY_HOST"),
        "aegir.gateway.port": ("SONDE_GATEWAY_PORT", "AEGIR_GATEWAY_PORT"),
        "aegir.p5.output_dir": ("SONDE_OUTPUT_DIR", "AEGIR_P5_OUTPUT_DIR"),
    }


@pytest.mark.parametrize("name", ["SONDE_OUTPUT_DIR", "AEGIR_P5_OUTPUT_DIR"])
def test_either_name_of_a_variable_is_read_and_named(tmp_path: Path, name: str) -> None:
    found = loaded(tmp_path, environ={name: "/env"})
    assert found.p5.output_dir == Path("/env")
    assert found.origins["aegir.p5.output_dir"] == f"the variable {name}"


def test_two_names_of_a_variable_may_agree_and_may_not_disagree(tmp_path: Path) -> None:
    both = {"SONDE_GATEWAY_PORT": "7000", "AEGIR_GATEWAY_PORT": "7000"}
    assert loaded(tmp_path, environ=both).gateway.port == 7000
    with pytest.raises(BadSetting, match=r"AEGIR_GATEWAY_PORT.*'7001'.*SONDE_GATEWAY_PORT.*unset"):
        loaded(tmp_path, environ={**both, "AEGIR_GATEWAY_PORT": "7001"})


def test_our_own_file_comes_before_the_inherited_one(tmp_path: Path) -> None:
    (tmp_path / "aegir.conf").write_text("aegir.gateway.port = 1")
    (tmp_path / "sonde.conf").write_text("aegir.gateway.port = 2")
    assert loaded(tmp_path).gateway.port == 2
