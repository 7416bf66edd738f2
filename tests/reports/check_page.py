"""The page in a real Chromium: what it shows and does, that it asks the network for nothing, that
hostile names stay text, that all can use it.

usage: check_page.py REPORT_CASE [--time]     --time: how long pages with many op calls take to open

Exits with 77, and says why, where there is no Chromium or no selenium.
"""
import base64
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
MISSING += [name for name in ("selenium", "axe_core_python") if not importlib.util.find_spec(name)]
if MISSING:
    print(f"skipped: no {', '.join(MISSING)}; scripts/setup installs them")
    sys.exit(77)

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

REPORT_CASE = sys.argv[1]
DTYPECHECK = pathlib.Path(REPORT_CASE).with_name("dtypecheck")
AXE = pathlib.Path(importlib.util.find_spec("axe_core_python").origin).parent / "axe.min.js"
PATIENCE_S = 20  # on a busy machine
SIGNATURES = 100_000

# Of what a page must not let through, none may become markup, run, or hide what stands behind it.
MARKUP = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">]]>"


def open_browser(width=1300, height=900):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={width},{height}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def page_of(case):
    return subprocess.run([REPORT_CASE, case, "html"], check=True, capture_output=True).stdout


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = open_browser()
        cls.written = {}

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def open(self, case, fragment=""):
        if case not in self.written:
            path = pathlib.Path(self.folder.name) / f"{case.replace(':', '-')}.html"
            path.write_bytes(page_of(case))
            self.written[case] = path
        self.browser.get("about:blank")  # a change of the fragment alone would load nothing
        self.browser.get(self.written[case].as_uri() + fragment)

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def shown(self, selector):
        return [element for element in self.all(selector) if element.is_displayed()]

    def type(self, selector, text):
        self.one(selector).send_keys(Keys.CONTROL, "a")
        self.one(selector).send_keys(Keys.DELETE, text)

    def until(self, what):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if value := what():
                    return value
            except StaleElementReferenceException:
                pass  # the page drew its rows anew between two questions
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.05)

    # What it shows.

    def test_first_screen(self):
        self.open("half_float_addmm")
        self.assertIn("1 error", self.one("h1").text)
        self.assertIn("python train.py --mixed_precision fp16", self.one(".facts").text)
        self.assertIn("Half input meets a Float weight", self.one(".causes li").text)

    def test_map_and_panel(self):
        self.open("half_float_addmm")
        labels = [node.get_attribute("aria-label") for node in self.all(".icicle .node")]
        self.assertTrue(any("linear_1" in label and "weights Float" in label for label in labels), labels)
        self.js("location.hash = '#module:unet.time_embedding.linear_1'")
        panel = self.until(lambda: "Linear" in self.one(".module-panel").text and self.one(".module-panel").text)
        self.assertIn("load (aten::_to_copy) at train.py:702", panel)
        self.assertIn("Half input meets a Float weight", panel)
        for part in ["unet", "unet.time_embedding"]:  # drawn as one
            self.js("location.hash = arguments[0]", f"#module:{part}")
            self.until(lambda: self.one(".module-panel h3").text == "unet.time_embedding")
        views = self.all(".segments button")
        views[1].click()
        self.assertEqual(views[1].get_attribute("aria-pressed"), "true")
        labels = [node.get_attribute("aria-label") for node in self.all(".icicle .node")]
        self.assertTrue(all("activations" in label for label in labels), labels)
        self.assertEqual([view.text for view in views], ["weights", "activations", "gradients", "bytes"])  # nothing was timed
        views[3].click()
        labels = [node.get_attribute("aria-label") for node in self.all(".icicle .node")]
        self.assertTrue(any(re.search(r"; \d[\d.]* \w+ · (100|\d\d?|< 1) %", label) for label in labels), labels)

    def test_a_clean_run(self):
        self.open("clean")
        self.assertIn("no findings", self.one("h1").text)
        self.assertFalse(self.all("article"))
        self.assertTrue(self.all("#steps td"))

    # What it does.

    def test_filters(self):
        self.open("many")
        everything = len(self.shown("article"))
        Select(self.one("select[aria-label='Findings of which rule']")).select_by_value("silent-promotion")
        rules = {card.get_attribute("data-rule") for card in self.shown("article")}
        self.assertEqual(rules, {"silent-promotion"})
        place = self.shown("article > .where:not(.inner) > .place")[3].text
        self.type("#findings input[type=search]", place)
        self.assertEqual([one.text for one in self.shown("article > .where:not(.inner) > .place")], [place])
        self.type("#findings input[type=search]", "nothing says this")
        self.assertFalse(self.shown("article"))
        self.open("many")
        self.assertEqual(len(self.shown("article")), everything)

    def test_filters_stand_in_the_address(self):
        self.open("many")
        Select(self.one("select[aria-label='Findings of which rule']")).select_by_value("silent-promotion")
        place = self.shown("article > .where:not(.inner) > .place")[3].text
        self.type("#findings input[type=search]", place)
        link = self.browser.current_url
        self.assertIn("#filter:rule=silent-promotion&search=", link)
        self.browser.get("about:blank")
        self.browser.get(link)
        self.assertEqual([one.text for one in self.shown("article > .where:not(.inner) > .place")], [place])
        self.type("#findings input[type=search]", "")
        Select(self.one("select[aria-label='Findings of which rule']")).select_by_value("")
        self.assertNotIn("filter", self.browser.current_url)

    def test_a_consequence_keeps_its_cause(self):
        self.open("concat_promotion")
        Select(self.one("select[aria-label='Findings of which rule']")).select_by_value("mixed-operands")
        self.assertEqual(len(self.shown("article")), 2)

    def test_op_calls(self):
        self.open("half_float_addmm")
        rows = "#ops tbody tr:not(.group)"
        self.assertEqual(len(self.all(rows)), 4)
        self.type("#ops input[type=search]", "addmm half")
        self.until(lambda: len(self.all(rows)) == 1)
        self.type("#ops input[type=search]", "")
        Select(self.one("select[aria-label='Op calls of which outcome']")).select_by_value("threw")
        self.until(lambda: len(self.all(rows)) == 1 and "addmm" in self.one(rows).text)
        Select(self.one("select[aria-label='Op calls of which outcome']")).select_by_value("")
        Select(self.one("select[aria-label='Op calls of which dtype']")).select_by_value("Half")
        self.until(lambda: len(self.all(rows)) == 2)

    def test_links_and_the_way_back(self):
        self.open("concat_promotion")
        consequence = self.all("article article")[0].get_attribute("id")
        self.js("document.querySelector('.then').open = false")
        self.js("location.hash = arguments[0]", "#" + consequence)
        self.until(lambda: self.all("article article")[0].is_displayed())
        self.js("location.hash = '#op:2'")
        self.until(lambda: "Op call 2 alone" in self.one("#ops").text)
        self.js("location.hash = '#op:3'")
        self.until(lambda: "Op call 3 alone" in self.one("#ops").text)
        self.browser.back()
        self.until(lambda: "Op call 2 alone" in self.one("#ops").text)
        self.open("concat_promotion", "#op:1")
        self.until(lambda: "Op call 1 alone" in self.one("#ops").text)
        for nonsense in ["#op:99999", "#op:x", "#module:no.such", "#%ff", "#f-none"]:
            self.js("location.hash = arguments[0]", nonsense)
        self.assertFalse(self.complaints())

    def test_every_link_leads_somewhere(self):
        for case in ["concat_promotion", "many", "hostile"]:
            self.open(case)
            dead = self.js("""return [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute('href'))
                .filter((href) => !/^#(module|op|ops):/.test(href) && !document.getElementById(href.slice(1)))""")
            self.assertFalse(dead, case)

    def test_keys(self):
        self.open("half_float_addmm")
        self.js("document.querySelector('.icicle [tabindex=\"0\"]').focus()")
        before = self.one(".module-panel h3").text
        for key in [Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER]:
            self.browser.switch_to.active_element.send_keys(key)
        self.assertNotEqual(self.one(".module-panel h3").text, before)
        self.assertEqual(self.js("return document.activeElement.getAttribute('role')"), "treeitem")

    def test_theme(self):
        self.open("clean")
        seen = set()
        for _ in range(3):
            self.one("button.theme").click()
            seen.add(self.js("return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(seen), 2)

    def test_copy(self):
        run = pathlib.Path(self.folder.name, "proven")
        run.mkdir()
        lines = ["process pid=1 libtorch=2.11.0 steps=1",
                 "op aten::addmm bias=Float[320]%net.b mat1=Half[2,320] mat2=Float[320,1280]%net.w raised "
                 '"mat1 and mat2 must have the same dtype, but got Half and Float" at train.py:3 main in net phase forward']
        (run / "all.trace").write_text("\n".join(lines) + "\n")
        told = subprocess.run([DTYPECHECK, "report", "--format", "json", run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        part = {"text": "cast it", "cures": "the mix", "finding": json.loads(told.stdout)["findings"][0]["id"]}
        (run / "train.py").write_text("net(x)\n")
        edit = {"path": str(run / "train.py"), "line": 1, "column": 6, "old": "", "new": ".float()"}
        (run / "cure.json").write_text(json.dumps({"verdict": "proven", "words": "to its end", "prompt": "", "parts": [part],
                                                   "files": [], "edits": [edit]}))
        page = run / "report.html"
        subprocess.run([DTYPECHECK, "report", "--format", "html", "-o", page, run], stderr=subprocess.DEVNULL)
        self.browser.get(page.as_uri())
        diff = self.one(".copied").get_property("textContent")
        self.assertRegex(diff, r"^--- (.*/)?train.py\n(.*\n)*-net\(x\)\n\+net\(x.float\(\)\)\n$")
        button = self.one("button.copy")
        self.assertLess(button.rect["height"], self.one(".copied").rect["height"] / 2)
        button.click()
        self.until(lambda: button.text == "copied")
        self.type("#ops input[type=search]", "")
        self.one("#ops input[type=search]").send_keys(Keys.CONTROL, "v")
        self.assertEqual(self.one("#ops input[type=search]").get_attribute("value"), diff.replace("\n", " ").strip())

    # Without a script, on paper, on a telephone.

    def test_without_javascript(self):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.open("large:2000")
            self.assertEqual(len(self.all("#ops tbody tr")), 100)
            self.assertIn("the first 100 of 2,000 signatures", self.one("#ops").text)
            self.assertTrue(self.shown("article"))
            self.assertTrue(self.all(".map-table tbody tr"))
        finally:
            self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_paper(self):
        self.open("half_float_addmm")
        printed = self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        pages = base64.b64decode(printed["data"]).count(b"/Type /Page\n")
        self.assertEqual(pages, 2)

    def test_narrow(self):
        try:
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                         {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
            for case in ["half_float_addmm", "many", "hostile"]:
                self.open(case)
                self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 390, case)
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    # What must not happen.

    def complaints(self):
        return [entry for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        urls = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(message["params"]["request"]["url"])
        return [url for url in urls if not url.startswith(("file:", "about:", "data:"))]

    def test_nothing_is_asked_for_and_nothing_complains(self):
        self.requests()
        for case in ["clean", "half_float_addmm", "concat_promotion", "hostile", "keep_going", "many", "partial"]:
            self.open(case)
            self.assertFalse(self.complaints(), case)
            self.assertFalse(self.requests(), case)

    def report_of(self, name, lines):
        trace = pathlib.Path(self.folder.name) / f"{name}.trace"
        trace.write_text("\n".join(lines) + "\n")
        page = trace.with_suffix(".html")
        subprocess.run([DTYPECHECK, "report", "--format", "html", "-o", page, trace], stderr=subprocess.DEVNULL)
        return page

    def hostile_page(self):
        """Of a trace whose every name is hostile, as the program itself would report it."""
        megabyte = "x" * (1 << 20)
        names = [MARKUP, '"><svg onload=alert(1)>', "\u202egnp.exe", "a\\x00b", "{{content}}", megabyte]
        quoted = [name.replace('"', '\\"') for name in names]
        lines = ["process pid=1 libtorch=2.11.0 steps=1"]
        for name in quoted:
            lines.append(f'op aten::addmm bias=Float[3]%"{name}.b" mat1=Half[2,3] mat2=Float[3,4]%"{name}.w" raised "{name}" '
                         f'c10::Error at "{name}":3 "{name}" in "{name}" phase forward step 1')
        return self.report_of("hostile", lines)

    def test_hostile_names_stay_text(self):
        page = self.hostile_page()
        self.browser.get(page.as_uri())
        self.assertNotEqual(self.browser.title, "owned")
        self.assertFalse(self.all("img, svg[onload], main script:not([type='application/json'])"))
        text = self.js("return document.body.textContent")
        for name in ["<script>document.title='owned'</script>", "onerror=", "]]>", "\\u202egnp.exe", "\\x00", "{{content}}"]:
            self.assertIn(name, text)
        self.assertNotIn("\u202e", text)
        for link in self.all(".module")[:6]:
            self.js("arguments[0].click()", link)
        self.assertTrue(self.all(".module-panel h3"))
        self.assertNotEqual(self.browser.title, "owned")
        self.assertFalse(self.complaints())

    def violations(self):
        self.js(AXE.read_text())
        found = self.browser.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations))")
        return [f"{one['id']}: {node['html'][:160]}: {node['failureSummary']}" for one in found for node in one["nodes"][:3]]

    def test_the_check_of_use_sees_what_is_wrong(self):
        self.open("clean")
        self.js("document.querySelector('main').append(document.createElement('select'))")
        self.assertIn("select-name", " ".join(self.violations()))

    def test_all_can_use_it(self):
        for case in ["half_float_addmm", "clean", "many", "hostile", "keep_going"]:
            for scheme in ["light", "dark"]:
                self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                             {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
                self.open(case)
                self.js("for (const part of document.querySelectorAll('details')) part.open = true")
                told = self.violations()
                self.assertFalse(told, f"{case}, {scheme}:\n" + "\n".join(told))

    def ready_after_s(self, signatures):
        """From the begin of loading to the end of the page's own scripts."""
        self.open(f"large:{signatures}")
        self.open(f"large:{signatures}")  # the first one wrote it
        self.until(lambda: self.all("#ops .controls"))
        return self.js("const t = performance.timing; return t.loadEventEnd - t.navigationStart") / 1000

    def test_many_op_calls(self):
        self.assertLess(self.ready_after_s(SIGNATURES), PATIENCE_S)
        self.assertIn(f"{SIGNATURES:,}", self.one("#ops").text)
        self.type("#ops input[type=search]", "to_copy")
        self.until(lambda: "that match" in self.one("#ops").text)


def tell_times():
    Page.setUpClass()
    page = Page("ready_after_s")
    for count in (SIGNATURES, 6 * SIGNATURES):
        ready = page.ready_after_s(count)
        megabytes = page.written[f"large:{count}"].stat().st_size / 1e6
        print(f"{count:,} op calls, {megabytes:.1f} MB: ready after {ready} s")
    Page.tearDownClass()


if __name__ == "__main__":
    if "--time" in sys.argv:
        tell_times()
    else:
        unittest.main(argv=sys.argv[:1] + sys.argv[2:])
