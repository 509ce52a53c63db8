"""The pictures of reports in docs/images.

    python -m benchmarks.report_pictures [--out docs/images]

A restaurant's steaks (trained on the first 573 days, shown on the 192 after them, beside what the
same weekday of the week before would have ordered) and the bakery of ``hedgerow demo``, in
Chromium: the first window, the dark what-if panel, a phone, and the page of a panel.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rich.console import Console

import hedgerow as hr
from hedgerow import demo
from hedgerow.baselines import seasonal_naive
from hedgerow.data.encoder import TableEncoder

TRAINING = 573
TITLE = "How many steaks to prepare"
LAST_WEEK = "Last week’s sales"


def restaurant_page(folder: Path) -> Path:
    """Write the report of a hedged policy for steaks."""
    data = hr.datasets.load_restaurant("steak", as_frame=True)
    months = data.data.columns.str.startswith("month_")
    table: Any = data.data.loc[:, ~months].reset_index()
    groups = np.zeros(len(table), int)
    days = np.asarray(data.dates)
    orders = seasonal_naive((groups, days, data.target.to_numpy()), (groups, days))
    encoder = TableEncoder().fit(table[:TRAINING])
    X, y = encoder.transform(table), data.target.reset_index(drop=True)
    policy = hr.RobustPolicy(hr.Newsvendor(holding=1, stockout=3), random_state=0)
    policy.fit(X[:TRAINING], y[:TRAINING]).remember_columns(encoder, ["steak"])
    rows = slice(TRAINING, None)
    return hr.report.write_report(
        policy,
        table.assign(ordered=orders)[rows].reset_index(drop=True),
        y[rows].to_frame("steak").reset_index(drop=True),
        folder / "steak.html",
        against={LAST_WEEK: "ordered"},
        row=9,
        title=TITLE,
        unit="portions",
        loss_unit="€",
    )


def take(browser: Any, page: Path, out: Path, name: str, **settings: Any) -> None:
    """One picture of a page: a window of some size, scrolled to where it is interesting."""
    scroll_to, size, full = (settings.pop(k, None) for k in ("scroll_to", "size", "full"))
    context = browser.new_context(
        viewport=dict(zip(("width", "height"), size, strict=True)), **settings
    )
    window = context.new_page()
    window.goto(page.as_uri())
    if scroll_to:
        window.locator(scroll_to).scroll_into_view_if_needed()
        window.evaluate("(where) => document.querySelector(where).scrollIntoView()", scroll_to)
    window.wait_for_timeout(600)  # reasons are computed when the reader rests
    window.screenshot(path=out / f"{name}.png", full_page=bool(full))
    context.close()


def side_by_side(out: Path, names: list[str], name: str) -> None:
    """Put pictures of one height beside each other."""
    pictures = [Image.open(out / f"{one}.png") for one in names]
    gap, height = 24, max(one.height for one in pictures)
    width = sum(one.width for one in pictures) + gap * (len(pictures) - 1)
    sheet, left = Image.new("RGB", (width, height), "white"), 0
    for one in pictures:
        sheet.paste(one, (left, 0))
        left += one.width + gap
    sheet.save(out / f"{name}.png", optimize=True)
    for one in names:
        (out / f"{one}.png").unlink()


def main() -> None:
    """Write the pages, look at them, keep the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = Path(name)
        steak = restaurant_page(folder)
        demo.run(folder / "demo", console=Console(file=io.StringIO()), open_page=False)
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        take(browser, steak, out, "report", size=(1100, 870))
        dark = {"color_scheme": "dark", "size": (1100, 1250)}
        take(browser, steak, out, "report_dark", scroll_to="#whatif", **dark)
        phone = {"size": (360, 780), "device_scale_factor": 1.25}
        parts = (
            (None, "_one"),
            ("#worst", "_two"),
            ("#importance", "_three"),
            ("#whatif", "_four"),
        )
        for where, part in parts:
            take(browser, steak, out, part, scroll_to=where, **phone)
        side_by_side(out, [part for _, part in parts], "report_phone")
        panel = folder / "demo" / "report.html"
        take(browser, panel, out, "report_panel", size=(1100, 1900))
        browser.close()


if __name__ == "__main__":
    main()
