"""A result of a SARIF file as code scanning shows it beside the line, for a picture: annotation.py SARIF ROOT > annotation.html

It is a rendering by this script, of what the file holds: the line and its neighbours, the message with why and fix, the related
places and the way of the dtype. ROOT is the folder that the file's paths are below.
"""

import html
import json
import pathlib
import sys

STYLE = """
body { margin: 0; padding: 20px; width: 940px; overflow: hidden; font: 14px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; }
.file { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }
.head { padding: 8px 14px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; font: 12px ui-monospace, monospace; }
.code { font: 12px/20px ui-monospace, monospace; white-space: pre; }
.code span { display: inline-block; width: 40px; padding-right: 12px; text-align: right; color: #818b98; }
mark { background: #ffe1b8; } .hit { background: #fff8c5; }
.note { margin: 10px 14px 10px 64px; border: 1px solid #d1d9e0; border-left: 4px solid #cf222e; border-radius: 6px; padding: 10px 14px; }
.level-warning { border-left-color: #bf8700; } .level-note { border-left-color: #0969da; }
.note b { font-size: 15px; } .quiet { color: #59636e; font-size: 12.5px; }
.tag { border: 1px solid #d1d9e0; border-radius: 10px; padding: 0 8px; font-size: 12px; color: #59636e; margin-left: 6px; }
p { margin: 6px 0; overflow-wrap: anywhere; } ol { margin: 4px 0; padding-left: 22px; } code { font: 12px ui-monospace, monospace; }
"""
AROUND = 2


def place_of(location):
    physical = location["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical.get("region", {})


def code_lines(path, region):
    lines = path.read_text(encoding="utf-8").splitlines()
    first, last = region["startLine"], region.get("endLine", region["startLine"])
    for number in range(max(1, first - AROUND), min(len(lines), last + AROUND) + 1):
        text, is_hit = lines[number - 1], first <= number <= last
        shown = html.escape(text)
        if is_hit:
            begin = region["startColumn"] - 1 if number == first else len(text) - len(text.lstrip())
            end = region["endColumn"] - 1 if number == last else len(text)
            shown = f"{html.escape(text[:begin])}<mark>{html.escape(text[begin:end])}</mark>{html.escape(text[end:])}"
        yield number, is_hit, shown


def steps_of(result):
    for flow in result.get("codeFlows", [])[:1]:
        for step in flow["threadFlows"][0]["locations"]:
            path, region = place_of(step["location"])
            yield step["location"]["message"]["text"], path, region
    if not result.get("codeFlows"):
        for location in result.get("relatedLocations", [])[:4]:
            if "physicalLocation" in location:
                path, region = place_of(location)
                yield location["message"]["text"], path, region


def note_of(result):
    title, *rest = result["message"]["text"].split("\n\n")
    made = [f'<div class="note level-{result["level"]}"><b>{html.escape(title)}</b>',
            f'<span class="tag">{result["level"]}</span><span class="tag">{html.escape(result["ruleId"])}</span>']
    made += [f"<p>{html.escape(part)}</p>" for part in rest]
    steps = [f'<li>{html.escape(text)} <code>{html.escape(path)}:{region.get("startLine", "")}</code></li>'
             for text, path, region in steps_of(result)]
    if steps:
        made.append(f'<p class="quiet">where it came from</p><ol>{"".join(steps)}</ol>')
    return "\n".join([*made, "</div>"])


def main():
    run = json.loads(pathlib.Path(sys.argv[1]).read_text())["runs"][0]
    result = run["results"][0]
    path, region = place_of(result["locations"][0])
    print(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>")
    print(f'<div class="file"><div class="head">{html.escape(path)}</div><div class="code">', end="")
    note = note_of(result)
    lines = list(code_lines(pathlib.Path(sys.argv[2]) / path, region))
    last_hit = max(number for number, is_hit, _ in lines if is_hit)
    for number, is_hit, shown in lines:
        print(f'<div class="{"hit" if is_hit else ""}"><span>{number}</span>{shown}</div>', end="")
        if number == last_hit:
            print(f'</div>{note}<div class="code">', end="")
    print("</div></div>")


if __name__ == "__main__":
    main()
