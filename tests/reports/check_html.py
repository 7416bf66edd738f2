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

TAGS = set("""html head meta title style body main header section article script p h1 h2 h3 ul ol li span
    b code pre div table thead tbody tr th td details summary""".split())
ATTRIBUTES = {"html": {"lang"}, "meta": {"charset", "http-equiv", "content", "name"},
              "script": {"type", "id"}}
OPEN_ENDED = {"meta"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.faults, self.stack, self.scripts, self.styles = [], [], [], []
        self.policy, self.text = "", ""

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.faults.append(f"element <{tag}>")
        for name, value in attrs:
            if name != "class" and name not in ATTRIBUTES.get(tag, set()):
                self.faults.append(f"attribute {name} of <{tag}>")
            if name == "class" and not re.fullmatch(r"[a-z -]+", value or ""):
                self.faults.append(f"class {value!r} of <{tag}>")
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
    if len(code) != 1 or len(page.styles) != 1 or len(data) > 1:
        faults.append(f"{len(code)} scripts, {len(page.styles)} styles, {len(data)} data blocks")
    for part in [f"script-src {policy_hash(code[0])};", f"style-src {policy_hash(page.styles[0])};",
                 "default-src 'none';"]:
        if part not in page.policy:
            faults.append(f"the policy lacks {part}")
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
