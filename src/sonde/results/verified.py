"""What exact runs said of first-order scores, in words."""

from collections.abc import Sequence

from sonde.results.numbers import count, number
from sonde.schema.table import Table
from sonde.schema.verification import AtK, Verification, VerifiedCell

Fact = tuple[str, str]


def verified(found: Verification | None, tables: Sequence[Table] = ()) -> list[Fact]:
    """Lines for the foot of a page: how scores were made, how good they are, what they missed.

    Cells are named by the axes of their `tables`, where those are given.
    """
    if found is None:
        return []
    where = "at the prompt" if found.gradient == "atp" else f"at {found.steps} points on the way"
    first = found.verified - found.sampled
    of = count(found.cells, "cell")
    ran = f"{first:,} of them and {found.sampled:,} at random were run"
    lines = [("scores", f"to first order ({found.gradient}: gradient {where}) of {of}; {ran}")]
    agreement = []
    if found.spearman is not None:
        agreement.append(f"rank correlation {number(found.spearman)}")
    if found.spearman_in_sample is not None:
        agreement.append(f"{number(found.spearman_in_sample)} in the sample")
    if found.sign_agreement is not None:
        agreement.append(f"signs agree in {found.sign_agreement:.0%}")
    lines += [("verified", ", ".join(agreement))] if agreement else []
    for each in found.at:
        share = f"{each.precision:.0%} by score are among the {each.k} strongest by run too"
        told = f"{share} (from {number(each.threshold)} on)"
        lines.append((f"first {each.k}", f"{told}; {_missed(each, found)}"))
    for name, cell in (("worst miss", found.largest_miss), ("worst error", found.largest_error)):
        lines += [] if cell is None else [(name, _told(cell, tables))]
    return lines


def _missed(each: AtK, found: Verification) -> str:
    """What a random sample says of the cells that were not run."""
    if found.verified == found.cells:
        return "no cell was left out"
    if each.missed_at_most is None:
        return "nothing is known of the others"
    return f"at most {each.missed_at_most:.2%} of the others are as strong (95 %)"


def _told(cell: VerifiedCell, tables: Sequence[Table]) -> str:
    values = f"{number(cell.exact)} by run, {number(cell.attributed)} by score"
    axes = tables[cell.table].axes if tables else []
    if len(axes) != len(cell.at):
        at = ", ".join(map(str, cell.at))
        return f"table {cell.table}, [{at}]: {values}"
    named = [f"{axis.name} {axis.values[n]}" for axis, n in zip(axes, cell.at, strict=True)]
    edge = axes[0].name == "sender"
    return f"{'' if edge else tables[cell.table].hook + ', '}{', '.join(named)}: {values}"
