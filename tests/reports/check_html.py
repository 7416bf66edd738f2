"""Reads each case's page as a browser's parser does: nothing recorded may have become markup.

usage: check_html.py REPORT_CASE CASE…
"""
import base64
import hashlib
import html.parser
import json
import re
import subprocess
import sys

TAGS = set("""html head meta title style body nav main header section article script p h1 h2 h3 h4 ul ol li
    dl dt dd span a b code pre del ins div table caption thead tbody tr th td details summary svg rect line
    polyline circle""".split())
ATTRIBUTES = {"html": {"lang"}, "meta": {"charset", "http-equiv", "content", "name"},
              "script": {"type", "id"}, "nav": {"aria-label"}, "header": {"id"}, "section": {"id"},
              "a": {"href", "aria-label"}, "details": {"open"}, "th": {"scope"},
              "div": {"tabindex", "role", "aria-label"}, "svg": {"width", "height", "aria-hidden"},
              "rect": {"width", "height", "rx"}, "line": {"x1", "x2", "y1", "y2"}, "polyline": {"points"}, "circle": {"cx", "cy", "r"},
              "article": {"id", "data-rule", "data-severity", "data-phase", "data-module", "data-dtypes"}}
OPEN_ENDED = {"meta"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.faults, self.stack, self.scripts, self.styles = [], [], [], []
        self.policy, self.text, self.ids = "", "", set()

    def handle_starttag(self, tag, attrs):
        self.ids.discard(None)
        if tag not in TAGS:
            self.faults.append(f"element <{tag}>")
        for name, value in attrs:
            if name != "class" and name not in ATTRIBUTES.get(tag, set()):
                self.faults.append(f"attribute {name} of <{tag}>")
            if name == "id" and not re.fullmatch(r"[a-z0-9-]+", value or ""):
                self.faults.append(f"id {value!r} of <{tag}>")
            if name == "class" and not re.fullmatch(r"[a-z -]+", value or ""):
                self.faults.append(f"class {value!r} of <{tag}>")
        if not dict(attrs).get("href", "#").startswith("#"):
            self.faults.append(f"a link out of the page: {dict(attrs)['href']!r}")
        name = dict(attrs).get("id")
        if name in self.ids:
            self.faults.append(f"the id {name!r} twice")
        self.ids.add(name)
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]
        if tag == "script":
            self.scripts.append([dict(attrs).get("type", ""), ""])
        if tag not in OPEN_ENDED:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(f"</{tag}> does not close what is open")

    def handle_data(self, data):
        inside = self.stack[-1] if self.stack else ""
        if inside == "script":
            self.scripts[-1][1] += data
        elif inside == "style":
            self.styles.append(data)
        else:
            self.text += data

    def handle_comment(self, data):
        self.faults.append(f"comment {data[:40]!r}")


def policy_hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "'sha256-" + base64.b64encode(digest).decode() + "'"


def faults_of(written):
    text = written.decode("utf-8")  # raises on what is no UTF-8
    page = Page()
    page.feed(text)
    page.close()
    faults = page.faults + [f"<{tag}> is never closed" for tag in page.stack]
    code = [script for kind, script in page.scripts if kind == ""]
    data = [script for kind, script in page.scripts if kind == "application/json"]
    if not code or not page.styles or len(data) > 2:
        faults.append(f"{len(code)} scripts, {len(page.styles)} styles, {len(data)} data blocks")
    for source, texts in ("script-src", code), ("style-src", page.styles):
        wanted = " ".join([source, *map(policy_hash, texts)]) + ";"
        if wanted not in page.policy:
            faults.append(f"the policy lacks {wanted}")
    if "default-src 'none';" not in page.policy:
        faults.append("the policy allows more than the page's own")
    for block in data:
        json.loads(block)
    hidden = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]", text)
    if hidden:
        faults.append(f"control or invisible characters: {sorted(set(hidden))!r}")
    if re.search(r"(https?:)?//[a-z]", page.text + "".join(page.styles)):
        faults.append("an address of the network")
    return faults


def main(program, cases):
    faults = []
    for case in cases:
        written = subprocess.run([program, case, "html"], check=True, capture_output=True).stdout
        faults += [f"{case}: {fault}" for fault in faults_of(written)]
    injected = b"<article class=\"card\"><img src=x onerror=alert(1)></article></main>"
    if not faults_of(written.replace(b"</main>", injected)):
        faults.append("this check does not see an injected element")
    print("\n".join(faults) or f"{len(cases)} pages hold nothing but their own markup")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
