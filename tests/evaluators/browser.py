"""A report in a real browser: headless Chromium, offline, and what of its layout can be measured."""

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypedDict, cast

import pytest
from playwright.sync_api import Page, sync_playwright

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LAYOUT: Final = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")

SIZES: Final = {"desktop": (1280, 900), "phone": (360, 740)}


@contextmanager
def offline_page() -> Iterator[tuple[Page, list[str]]]:
    """Give a page that reaches nothing but files, and the list of what it asked for; skip where there is no browser."""
    with sync_playwright() as playwright:
        found = _chromium(playwright.chromium.executable_path)
        if found is None:
            pytest.skip(
                "no Chromium: install the system's package chromium, or 'python -m playwright install chromium'"
            )
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"] if _is_root() else [])
        try:
            context = browser.new_context(offline=True)
            page = context.new_page()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            yield page, asked
        finally:
            browser.close()


def look(page: Page, size: str, scheme: str) -> list[str]:
    """Return what is wrong with the layout at that size and in those colors; one line a fault."""
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    return cast("list[str]", page.evaluate(_LAYOUT))


class Painted(TypedDict):
    """What a screenshot shows."""

    width: int
    colors: int
    ground: str
    """The color of most of it."""

    share: float
    pictures: int
    lost: int
    """Pictures of intervals without a mark where the layout has it."""


def painted(page: Page) -> Painted:
    """Return what a screenshot of the whole page shows. The browser reads its own PNG, so that no library is asked."""
    shot = base64.b64encode(page.screenshot(full_page=True, animations="disabled")).decode()
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('svg')].map(svg => {
            const box = svg.querySelector('circle').getBoundingClientRect();
            return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
                    mark: getComputedStyle(svg.querySelector('circle')).fill};
        })"""
    )
    reader = page.context.new_page()
    try:
        return cast("Painted", reader.evaluate(_READ, {"shot": shot, "boxes": boxes}))
    finally:
        reader.close()


_READ: Final = """async ({shot, boxes}) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + shot;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const data = context.getImageData(0, 0, image.width, image.height).data;
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) {
        const color = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
        counts.set(color, (counts.get(color) || 0) + 1);
    }
    const [color, count] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most));
    const lost = boxes.filter(box => {
        const at = 4 * (Math.round(box.y + box.height / 2) * image.width + Math.round(box.x + box.width / 2));
        return `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})` !== box.mark;
    }).length;
    const ground = `rgb(${color >> 16}, ${(color >> 8) & 255}, ${color & 255})`;
    const share = count / (image.width * image.height);
    return {width: image.width, colors: counts.size, ground, share, pictures: boxes.length, lost};
}"""


def _chromium(own: str) -> str | None:
    """Return the path of a browser: of the system, else the one that Playwright fetched, else, in CI, a new one."""
    found = _there(own)
    if found is None and os.environ.get("CI"):
        _install()
        found = _there(own)
    return found


def _there(own: str) -> str | None:
    system = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return system or (own if Path(own).is_file() else None)


def _install() -> None:
    """Get a browser, by Playwright or by the system's packages; where neither can, the test says that there is none."""
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if _is_root() and shutil.which("apt-get"):
        quiet = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        commands += [[*quiet, "update"], [*quiet, "install", "-y", "chromium", "fonts-dejavu-core"]]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in commands:
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=240, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0 and "chromium" in command:
            return


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
