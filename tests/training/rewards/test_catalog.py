import json
from pathlib import Path

import pytest

from sonde.errors import BadReward
from sonde.training.rewards.catalog import CATALOG_FILE, catalog_task, load_catalog
from sonde.training.rewards.grammar import parse


def test_the_catalog_knows_its_own_compositions_and_no_others() -> None:
    catalog = load_catalog()
    known = ["made_of(spoon, wood)", "lives_in(bear, cave)", "not(eats(bee, honey))"]
    known.append("both(made_of(spoon, wood), not(part_of(wheel, car)))")
    unknown = [
        "made_from(spoon, wood)",
        "made_of(spoon)",
        "made_of(spoon, wood, glass)",
        "made_of(spoon, car)",
        "made_of(unicorn, wood)",
        "made_of(made_of(spoon, wood), wood)",
        "not(spoon)",
    ]
    assert all(catalog.knows(parse(text)) for text in known)
    assert not any(catalog.knows(parse(text)) for text in unknown)


def test_a_run_says_which_catalog_it_used() -> None:
    catalog = load_catalog()
    task = catalog_task(catalog)
    assert task.catalog_version == catalog.version
    assert (task.n_templates, task.n_verbalized, task.n_complex) == (8, 3, 2)
    assert all(value != "missing" for value in task.files.values())


def test_a_catalog_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    content = json.loads(CATALOG_FILE.read_text())
    content["templates"][0]["slots"][0]["takes"] = ["spirits"]
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(BadReward, match=r"made_of.*spirits.*material"):
        load_catalog(tmp_path / "c.json")
    (tmp_path / "d.json").write_text("{}")
    for path in (tmp_path / "d.json", tmp_path / "absent.json"):
        with pytest.raises(BadReward, match="cannot read the catalog"):
            load_catalog(path)
