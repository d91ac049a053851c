from sonde.cli.curve import HEIGHT, WIDTH, curve, grouped


def test_a_bar_is_as_high_as_its_value() -> None:
    title, *rows = curve([0.0, 0.5, 1.0], title="reward")
    assert title == "reward"
    bars = [row.split("│")[1] for row in rows[:HEIGHT]]
    heights = [sum(bar[3 * place] == "█" for bar in bars) for place in range(3)]
    assert heights == [0, HEIGHT // 2, HEIGHT]
    assert bars[-1][0] == "▁"  # a zero is seen, a missing value is not


def test_a_missing_value_is_a_gap() -> None:
    rows = curve([None, 1.0], title="reward")
    assert all(row.split("│")[1].startswith("   ") for row in rows[1 : HEIGHT + 1])


def test_the_axis_says_how_far_it_goes() -> None:
    rows = curve([0.1] * 20, title="reward")
    assert rows[1].startswith("    1 │")
    assert rows[HEIGHT].startswith("    0 │")
    assert rows[-1].split() == ["1", "20", "step"]


def test_a_long_run_is_grouped_to_fit() -> None:
    values = [float(step) for step in range(500)]
    bars = grouped(values, WIDTH)
    assert len(bars) == WIDTH
    assert bars == sorted(bars)  # type: ignore[type-var]
    assert all(len(row) <= WIDTH + 8 for row in curve(values, title="", top=500)[1:-1])
    assert curve([], title="nothing")[0] == "nothing"
