"""Write a report: gather what is known about a policy, put it on one page, and save that.

subject → costs → importance → worst case → single decisions → sentences → page
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date as calendar
from pathlib import Path
from typing import Any

from hedgerow import explain
from hedgerow._checks import instance
from hedgerow._files import check_target, whole_file
from hedgerow._version import __version__
from hedgerow.describe.numbers import counted, listed, percent
from hedgerow.describe.parts import SETTINGS, settings_of
from hedgerow.report import html, sentences
from hedgerow.report.compared_costs import FORESIGHT, Cost, costs_of, interval
from hedgerow.report.live import form_of, live_part, packed
from hedgerow.report.subject import Subject, evenly
from hedgerow.report.today import Today, today_of
from hedgerow.report.worst_world import Scenario, scenario_of

_AGAINST = "a dict of name → policy or column"
MOST_EXPLAINED = 500
"""Rows that importance and the rules in words are computed from."""


def write_report(
    policy: Any,
    X: Any,
    Y: Any,
    path: str | os.PathLike[str],
    *,
    against: Mapping[str, Any] | None = None,
    row: int | None = None,
    time: str | None = None,
    title: str | None = None,
    unit: str = "",
    loss_unit: str = "",
    date: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Path:
    """Write one self-contained HTML page about a policy, for the person who decides.

    The page says what the policy costs on the rows given, how bad it can get, what it looks at and
    why it decides as it does, and computes decisions and their reasons live for any input. It loads
    nothing from anywhere.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy. A rule that brings no page form (``FittedRule.page_form``) is reported
        on without the live panel.
    X : (rows, features) array or table
        Contexts as for ``predict`` or, for a policy made by the command, the table itself.
    Y : (rows,) or (rows, outcomes)
        What then happened; names of columns are used.
    path : path
        File to write, ending in .html; written whole or not at all.
    against : dict of name → RobustPolicy or column, optional
        What to compare costs with, on the same rows and with this policy's loss: other policies,
        or columns of the table X with what was ordered (one for each decision; empty where nobody
        knows). The first such column is what the page measures savings against.
    row : int, optional
        Row, counted from 1, that the what-if panel begins with; the first by default.
    time : str, optional
        Column of the table X with the rows' dates; by default the first column of dates.
    title : str, optional
        Heading of the page.
    unit, loss_unit : str
        What decisions and losses are counted in, such as "portions" and "€".
    date : str, optional
        Date on the page; today's by default.
    progress : callable, optional
        Called with (steps done, steps in all, what is being done).

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load_restaurant("steak", as_frame=True)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(1, 3), random_state=0)
    >>> policy.fit(data.data[:500], data.target[:500])  # doctest: +SKIP
    >>> hr.report.write_report(
    ...     policy, data.data[500:], data.target[500:], "steak.html", unit="portions"
    ... )  # doctest: +SKIP
    """
    path = check_page_target(path)
    say = progress or (lambda done, total, note: None)
    say(0, 5, "costs")
    subject = Subject.read(policy, X, Y, unit, loss_unit, time)
    policy = subject.policy
    policy.tell_typos(subject.contexts, subject.outcomes)
    if row is not None and not 1 <= row <= subject.rows:
        raise ValueError(
            f"row must lie between 1 and {subject.rows}, the number of rows; got {row}."
        )
    costs = costs_of(subject, X, instance("against", against or {}, Mapping, _AGAINST))
    say(1, 5, "what it looks at")
    some = subject.contexts[evenly(subject.rows, MOST_EXPLAINED)]
    importance = explain.importance(policy, some)
    rules = explain.words(
        policy,
        some,
        phrases=policy.encoder_.phrases() if policy.encoder_ else None,
        decision_unit=unit,
        decision_names=subject.decision_names,
    )
    say(2, 5, "worst case")
    scenario = scenario_of(subject, importance.values)
    say(3, 5, "how bad single decisions can turn out")
    today = today_of(subject, row)
    say(4, 5, "page")
    text = _page(subject, row, costs, importance, rules, scenario, today, title, date)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(5, 5, "done")
    return path


def check_page_target(path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
    """Return ``path`` if a page can be put there, or say why not; worth asking before the work.

    Parameters
    ----------
    path : str or path
        Where a page is to be written.
    overwrite : bool
        Whether a file that is there may be replaced.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.report.check_page_target("report.html").name
    'report.html'
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{target} must end in .html, so that browsers know it for a page.")
    return check_target(target, overwrite=overwrite)


def _page(
    subject: Subject,
    row: int | None,
    costs: list[Cost],
    importance: Any,
    rules: Any,
    scenario: Scenario,
    today: Today,
    title: str | None,
    date: str | None,
) -> str:
    """Everything that was found, as one text."""
    policy, rule = subject.policy, sentences.rule_words(subject)
    value = getattr(policy, "robust_value_", None)  # a policy read from a file may have none
    form, trouble = form_of(policy.rule_)
    live = live_part(subject, form, row)
    date = date or calendar.today().isoformat()
    rows, own = counted(subject.rows, "row"), costs[0]
    groups = {one["name"]: [subject.features[j] for j in one["features"]] for one in live["inputs"]}
    grouped = importance.grouped(groups)
    texts = {
        "kind": "policy report",
        "title": title or f"Policy for {listed(subject.outcome_names, 3)}",
        "lead": sentences.lead(subject),
        "noun": subject.noun,
        "verdict": sentences.verdict(subject, costs),
        "per_unit": f" in {subject.loss_unit}" if subject.loss_unit else "",
        "bad": sentences.bad_words(subject, value, own, scenario),
        "reacts": "decisions react" if len(subject.decision_names) > 1 else "decision reacts",
        "date": date,
        "version": __version__,
        "limits": sentences.limits(subject, len(live["rows"]["numbers"])),
        "source": sentences.SOURCES[rules.kind],
        "within": percent(rules.tolerance),
        "alike": percent(rules.fidelity),
        "off": percent(rules.mean_difference),
    }
    fragments = {
        "tiles": html.tiles(sentences.tiles(subject, costs, value, _most(grouped))),
        "facts": html.facts(
            [
                ("Decides", sentences.decides(subject)),
                ("From", sentences.sources(subject, live["inputs"])),
                ("Costs", policy.loss.description(subject.loss_unit).costs),
                ("Hedges with", sentences.hedges_with(subject)),
                ("Rule", rule),
                ("Report", f"{date}, {rows}, hedgerow {__version__}"),
            ],
            "About this policy",
        ),
        "cost_rows": html.cost_rows(costs),
        "settings": html.settings([(name, SETTINGS[name]) for name in settings_of(policy.given_)]),
        "scenarios": html.scenarios(sentences.scenario_words(subject, scenario)),
        "robust": html.paragraphs(sentences.robust_words(subject, value)),
        "importance": html.importance_bars(grouped),
        "words": html.indented(rules.text),
        "trees": html.tree_browser(form is not None and form.trees, rule),
        "whatif": html.what_if(trouble),
    }
    data = live | {
        "costs": [
            html.dot(one.name, one.kind, one.mean, interval(one.known))
            for one in costs
            if one.name != FORESIGHT  # known to be out of reach, and far from all others
        ],
        "values": _values(value, own, scenario, subject.noun),
        "panels": list(scenario.panels),
        "today": packed(today.packed()),
    }
    return html.page(texts, fragments, data, form)


def _most(importance: Any) -> tuple[str, float] | None:
    """The column that counts most, and its share; None of a rule that looks at nothing."""
    first = int(importance.ranked()[0])
    share = float(importance.values[first])
    return (importance.names[first], share) if share > 0 else None


def _values(value: Any, own: Cost, scenario: Scenario, noun: str) -> list[dict[str, Any]]:
    """Points of the chart in "How bad can it get?"."""
    if value is None or (scenario.trouble and value.penalty is None):
        return []
    within = value.stderr + value.bias
    ends = (value.value - within, value.value + within)
    points = [
        html.dot("Average in training", "reference", value.nominal),
        html.dot(f"Average on these {noun}s", "policy", own.mean, interval(own.losses)),
        html.dot("Robust value", "bad", value.value, ends),
    ]
    if value.radius is None:  # else the two are the same
        points.append(html.dot("Worst world near training", "bad", value.expected_loss))
    return points
