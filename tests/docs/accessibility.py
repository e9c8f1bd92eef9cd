"""axe over pages in headless Chromium, light and dark: accessibility.py FOLDER or PAGE.html ...

Prints what axe finds, and ends with 1 where something is serious or critical. Needs the Python packages playwright and axe-playwright-python, whose axe.min.js
it runs, and Chromium (INLAY_CHROMIUM, else /usr/bin/chromium). Folders are served on this machine, as a site is: its 404 page has paths from the root.
"""
import functools
import http.server
import importlib.util
import os
import pathlib
import sys
import threading

if not all(map(importlib.util.find_spec, ("playwright", "axe_playwright_python"))):
    print("skipped: playwright and axe-playwright-python are needed")
    sys.exit(77)
from playwright.sync_api import sync_playwright

RUN = """async () => (await axe.run(document, {resultTypes: ['violations'], preload: false})).violations.map(
  v => ({rule: v.id, impact: v.impact, nodes: v.nodes.length, first: v.nodes[0].html.slice(0, 160)}))"""
MILLISECONDS = 600_000  # a page of the site takes 2 s, 40 on a machine that has much other work


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def addresses(arguments):
    """The name and the address of each page."""
    for argument in map(pathlib.Path, arguments):
        if argument.is_file():
            yield str(argument), argument.resolve().as_uri()
            continue
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(argument)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page in sorted(argument.rglob("*.html")):
            yield str(page), f"http://127.0.0.1:{server.server_port}/{page.relative_to(argument)}"


def main():
    with open(os.path.join(os.path.dirname(importlib.util.find_spec("axe_playwright_python").origin), "axe.min.js")) as file:
        axe = file.read()
    count, worst, found = 0, 0, {}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=os.environ.get("INLAY_CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"])
        for name, address in addresses(sys.argv[1:]):
            count += 1
            for scheme in ("light", "dark"):
                context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900}, bypass_csp=True)
                context.set_default_timeout(MILLISECONDS)
                page = context.new_page()
                page.on("pageerror", lambda error: found.setdefault(("critical", "script", str(error)), []).append(f"{name} {scheme}"))
                page.goto(address, wait_until="load")
                page.wait_for_timeout(300)  # what the page's scripts change when it is there
                page.evaluate(axe)
                for v in page.evaluate(RUN):
                    found.setdefault((v["impact"], v["rule"], v["first"]), []).append(f"{name} {scheme}")
                context.close()
        browser.close()
    rules = {}
    for (impact, rule, first), pages in found.items():
        rules.setdefault((impact, rule), []).append((pages, first))
    for (impact, rule), places in sorted(rules.items()):
        pages = [page for of, _ in places for page in of]
        worst += impact in ("serious", "critical")
        print(f"{impact:9} {rule}: {len(pages)} times, {pages[0]}: {places[0][1]}")
    print(f"{count} pages, light and dark: {'nothing' if not worst else worst} serious or critical")
    return 1 if worst or not count else 0


if __name__ == "__main__":
    sys.exit(main())
