"""The demonstration's words: six short paragraphs, whichever way the numbers came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.demo.findings import Facts, Month, Saving
from hedgerow.describe.numbers import number, percent
from hedgerow.panels.pooled import MANY

if TYPE_CHECKING:
    from rich.console import Console

RIVALS = {
    "Same-weekday quantile": "the quantile of the same weekday",
    "Seasonal naive": "what sold on that weekday last week",
}
MOST_REASONS = 4


def tell(console: Console, facts: Facts) -> None:
    """Print what was found."""
    _orders(console, facts)
    _money(console, facts)
    _months(console, facts)
    _promise(console, facts)
    _why(console, facts)


def _heading(console: Console, text: str) -> None:
    console.print(f"[bold green]{text}[/]")


def _say(console: Console, text: str) -> None:
    """A paragraph under a heading."""
    from rich.padding import Padding
    from rich.text import Text

    # a percent sign stays with its number only without a space: rich breaks lines at any
    console.print(Padding(Text.from_markup(text.replace("\u00a0%", "%")), (0, 0, 0, 3)))


def _orders(console: Console, facts: Facts) -> None:
    from rich.table import Table

    _heading(console, f"1. Tomorrow, {facts.day}")
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column("the largest orders")
    table.add_column("pieces", justify="right")
    table.add_column("then sold", justify="right", style="dim")
    for one in facts.orders:
        table.add_row(one.series, number(round(one.order)), number(one.demand))
    console.print(table)
    console.print()


def _money(console: Console, facts: Facts) -> None:
    _heading(console, f"2. Money, over {facts.days} days that it had never seen")
    for saving in facts.savings:
        _say(console, money_words(saving))
    served, spare = percent(facts.served), percent(facts.left_over)
    _say(console, f"It served {served} of demand; {spare} of what was baked was left over.")
    _say(console, hedge_words(facts))
    console.print()


def hedge_words(facts: Facts) -> str:
    """Whether the rule was hedged, and what that is about."""
    rows = f"{facts.rows:,} rows"
    if facts.rows > MANY:
        return (
            f"With {rows} to learn from hedgerow does not hedge unless asked to: there it costs a "
            "little and protects from little. With fewer it does."
        )
    return f"With {rows} to learn from the rule is hedged, as hedgerow does with so few."


def money_words(saving: Saving) -> str:
    """What was saved against a rival, or lost, or that it cannot be told."""
    rival = RIVALS.get(saving.name, saving.name)
    costs = f"{number(saving.own)} € a day instead of {number(saving.other)} €"
    gap, error = abs(saving.saved), saving.error
    amount = f"{number(gap, 3)} € ± {number(error, 2)}"
    if gap <= 2 * error:
        return f"{costs} with {rival}: a difference of {amount}, which may be chance."
    word = "less" if saving.saved > 0 else "more"
    share = percent(gap / saving.other)
    return f"{costs} with {rival}: [bold]{share} {word}[/] ({amount})."


def _months(console: Console, facts: Facts) -> None:
    from rich.table import Table

    _heading(console, "3. When the world changed")
    _say(console, "The months whose sales differ most from the year before:")
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column("month")
    for heading in ("sales", "€ a day", "weekday quantile", "saved"):
        table.add_column(heading, justify="right")
    for month in facts.months:
        table.add_row(
            month.name,
            percent(month.change, signed=True),
            number(month.own),
            number(month.other),
            f"{number(month.other - month.own, 3, signed=True)} ± {number(month.error, 2)}",
        )
    console.print(table)
    _say(console, months_words(facts.months))
    console.print()


def months_words(months: list[Month]) -> str:
    """Whether the policy held in them."""
    clear = [month for month in months if abs(month.other - month.own) > 2 * month.error]
    won = sum(month.other > month.own for month in clear)
    lost = len(clear) - won
    if not clear:
        return "In none of them is the difference beyond chance."
    said = f"It cost clearly less in {won} of {len(months)}"
    return f"{said}, clearly more in {lost}." if lost else f"{said}, clearly more in none."


def _promise(console: Console, facts: Facts) -> None:
    found, value = facts.promise.calibration, facts.promise.value
    _heading(console, "4. How bad can it get?")
    _say(
        console,
        f"The promise, made from {found.blocks} weeks that it had not seen: in "
        f"{percent(found.level)} of weeks, at most [bold]{cents(found.promise, 1)}[/] per piece "
        f"usually sold; {cents(found.nominal, 1)} if nothing changes. The year kept it in "
        f"{facts.kept} of {facts.weeks} weeks. {kept_words(facts)}",
    )
    _say(
        console,
        "What that covers: worlds in which the costliest tenth of all orders becomes "
        f"{percent(facts.promise.tenth)} of them. {proved_words(value.lower, value.upper)}",
    )
    console.print()


def proved_words(lower: float, upper: float) -> str:
    """What is proved of the worst average within the radius."""
    low, high = cents(lower, 1), cents(upper, 1)
    if low == high:
        return f"The worst average in any such world is {low}: proved from both sides."
    return f"The worst average in any such world is proved to lie between {low} and {high}."


def kept_words(facts: Facts) -> str:
    """Whether so many weeks kept are what was promised, as far as chance allows."""
    level, weeks = facts.promise.calibration.level, facts.weeks
    error = (level * (1 - level) / weeks) ** 0.5
    share = facts.kept / weeks
    if share < level - 2 * error:
        return "That is fewer than promised: the year was unlike the half-year before it."
    if share < level:
        return "That is what was promised, as far as so few weeks can tell."
    return "The promise held."


def cents(euros: float, digits: int = 0) -> str:
    """Money per piece."""
    return f"{100 * euros:.{digits}f} cents"


def _why(console: Console, facts: Facts) -> None:
    reason = facts.reason
    _heading(console, "5. Why this order?")
    _say(
        console,
        f"{facts.explained}: {number(reason.order)} pieces, where {number(reason.usual)} are usual "
        "in this series. What makes the difference:",
    )
    named, rest = reason.parts[:MOST_REASONS], reason.parts[MOST_REASONS:]
    for name, part in named:
        console.print(f"     {number(part, 3, signed=True):>8}  {name}")
    if rest:
        others = sum(part for _, part in rest)
        console.print(f"     {number(others, 3, signed=True):>8}  {len(rest)} others together")
