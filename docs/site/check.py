# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check.py SITE [FOLDER]: the site, seen in a browser.

Each page loads without an error, shows its pictures and has a heading; no section is empty; each link
inside of the site leads to something; search finds pages. Pictures of the pages are left in FOLDER.
"""

import functools
import http.server
import pathlib
import shutil
import sys
import threading
import urllib.parse

from playwright.sync_api import Error, sync_playwright

SEARCHES = {
    "workspace": "docs/call.html",  # a word of a page
    "inclusive_scan": "docs/site/api.html",  # a name of C++
    "cumulative_sum": "docs/site/api-python.html",  # a name of Python
}
READ = """() => ({
  heading: document.querySelector("h1")?.innerText,
  empty: [...document.querySelectorAll("article section")].filter(
    section => !section.querySelector(":scope > :not(h1, h2, h3, h4, h5, h6, span)")).map(section => section.id),
  ids: [...document.querySelectorAll("[id]")].map(element => element.id),
  links: [...document.querySelectorAll("a[href]")].map(link => link.href),
  pictures: [...document.images].filter(image => !image.naturalWidth).map(image => image.src),
})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    server.handle_error = lambda *_: None  # a page that is left does not read to the end
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = f"http://127.0.0.1:{server.server_port}/"
    complaints, ids, links = [], {}, {}

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        # Nothing of a page comes from elsewhere.
        page.route(lambda url: not url.startswith(start), lambda route: route.abort())
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
        page.on("console", lambda message: message.type == "error"
                and complaints.append(f"{page.url}: {message.text}"))
        # What a page no longer wants as the next one is opened is no failure.
        page.on("requestfailed", lambda request: request.failure == "net::ERR_ABORTED"
                or complaints.append(f"{page.url}: no {request.url}: {request.failure}"))

        names = sorted(path.relative_to(site).as_posix() for path in site.glob("**/*.html")
                       if path.relative_to(site).parts[0] != "_static")
        for name in names:
            page.goto(start + name, wait_until="load")
            if name == "index.html":
                page.wait_for_url("**/README.html")
            seen = page.evaluate(READ)
            ids[name] = set(seen["ids"])
            links[name] = seen["links"]
            if not seen["heading"] and name != "search.html":
                complaints.append(f"{name}: no heading")
            complaints += [f"{name}: nothing stands below {section}" for section in seen["empty"]]
            complaints += [f"{name}: the picture {picture} is not shown" for picture in seen["pictures"]]
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=pictures / f"{name.replace('/', '_')[:-5]}.png")

        for words, expected in SEARCHES.items():
            page.goto(start + "README.html")
            page.locator("input[name=q]").first.fill(words)
            page.keyboard.press("Enter")
            try:
                result = page.locator(f"#search-results a[href*='{expected}']").first
                result.wait_for(timeout=20000)
                result.click()
                page.wait_for_url(f"**/{expected}*")
            except Error:
                complaints.append(f"searching for {words} does not lead to {expected}")
        # A function is found by its name, and not by each of its parameters.
        page.goto(start + "search.html?q=exclusive_scan")
        page.locator("#search-results li").first.wait_for()
        page.wait_for_function("document.querySelector('#search-results').innerText.includes('finished')")
        found = page.locator("#search-results li a[href*='site/api.html']").all_inner_texts()
        named = {f"KokkosScan::{space}exclusive_scan" for space in ("", "mpi::", "nccl::", "team::")}
        if not named <= set(found) or len(found) > 10:
            complaints.append(f"searching for exclusive_scan finds {found}")
        if pictures:
            page.goto(start + "search.html?q=workspace")
            page.locator("#search-results li").first.wait_for()
            page.screenshot(path=pictures / "search-results.png")
        browser.close()

    count = 0
    for name, targets in links.items():
        for target in targets:
            url = urllib.parse.urlparse(target)
            if not target.startswith(start):
                continue
            count += 1
            path = urllib.parse.unquote(url.path).lstrip("/")
            if not (site / path).is_file():
                complaints.append(f"{name}: the link to {path} is dead")
            elif url.fragment and path in ids and urllib.parse.unquote(url.fragment) not in ids[path]:
                complaints.append(f"{name}: {path} has no #{url.fragment}")
    print(f"{len(names)} pages, {count} links, {len(SEARCHES)} searches, {len(complaints)} complaints")
    for complaint in dict.fromkeys(complaints):
        print(complaint)
    sys.exit(bool(complaints))


main()
