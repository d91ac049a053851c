import msgspec

from sonde.runs.analytics.steplines import HealthLine, MetricsLine
from sonde.schema.records import GRPOMetrics, LayerHealth, SidecarHealth


def test_a_line_with_a_field_less_or_more_is_still_read() -> None:
    line = msgspec.json.decode(b'{"iteration":3,"new":[1],"rewards_mean":0.5}', type=MetricsLine)
    assert (line.iteration, line.rewards_mean, line.rewards_std) == (3, 0.5, None)


def test_every_field_that_is_read_is_one_that_trainers_write() -> None:
    assert set(MetricsLine.__struct_fields__) == set(GRPOMetrics.model_fields)
    assert set(HealthLine.__struct_fields__) <= set(SidecarHealth.model_fields)
    layer = msgspec.inspect.type_info(HealthLine).fields[1].type.item_type.cls  # type: ignore[attr-defined]
    assert set(layer.__struct_fields__) <= set(LayerHealth.model_fields)
