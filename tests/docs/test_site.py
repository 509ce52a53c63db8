"""The site: it builds, every link in it leads somewhere, and it loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
NOT_LOADED = {"canonical", "next", "prev", "alternate"}
"""Relations of <link> that a browser does not fetch."""


class Page(HTMLParser):
    """What a page points at, what it loads, and which anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        found = attributes.get(LOADING.get(tag, ""))
        if found and not set((attributes.get("rel") or "").split()) & NOT_LOADED:
            self.loads.append(found)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="the site needs hedgerow[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    told = {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | told)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def resolved(site, path, link):
    """The file and the anchor that a link of a page leads to, or None: it leads elsewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    assert target.is_relative_to(site), f"{path.name} links to {link}, out of the site"
    return (target / "index.html" if target.is_dir() else target), unquote(parts.fragment)


@pytest.mark.slow
def test_every_link_and_anchor_is_there(site):
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 70
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            place = resolved(site, path, link)
            if place is None:
                continue
            target, anchor = place
            there = target.is_file() and (
                not anchor or target not in pages or anchor in pages[target].anchors
            )
            if not there:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, "\n".join(broken)


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        elsewhere = [load for load in Page(path).loads if urlsplit(load).netloc]
        assert not elsewhere, (path.relative_to(site), elsewhere)
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", path.read_text(), re.DOTALL)
        assert not any("unpkg.com" in script for script in scripts), path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", path.read_text()), path.name


@pytest.mark.slow
def test_no_page_is_left_out_of_the_navigation(site):
    home = Page(site / "index.html")
    reached, ahead = set(), [site / "index.html"]
    while ahead:
        path = ahead.pop()
        if path in reached or path.suffix != ".html" or not path.exists():
            continue
        reached.add(path)
        places = (resolved(site, path, link) for link in Page(path).links)
        ahead += [place[0] for place in places if place]
    made = {path for path in site.rglob("*.html") if path.name != "404.html"}
    assert home.links
    assert made <= reached, [str(path.relative_to(site)) for path in made - reached]


@pytest.mark.slow
def test_a_browser_finds_nothing_to_complain_about(site):
    """From disk, without a server: no errors, no requests, no overflow on a phone, search works."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = next(
        (p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(p)), None
    )
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 360, "height": 800})
        trouble = []
        page.on("console", lambda told: trouble.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                trouble.append(asked.url)
                if "://" in asked.url and not asked.url.startswith(("file:", "data:", "blob:"))
                else None
            ),
        )
        for name in (
            "index",
            "planner",
            "compare",
            "api/ambiguity",
            "gallery/index",
            "results/index",
        ):
            page.goto(f"file://{site}/{name}.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(f"file://{site}/index.html")
        page.keyboard.press("/")
        page.keyboard.type("typo")
        page.wait_for_selector(".md-search-result__link", timeout=20_000)
        assert page.locator(".md-search-result__link").count() > 0
        browser.close()
    assert not trouble, trouble
