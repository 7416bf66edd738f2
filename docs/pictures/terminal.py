"""A picture of what a terminal of 80 x 24 shows: terminal.py DTYPECHECK NAME WORD…, as page.py, makes terminal-NAME.png.

It is a rendering of what `dtypecheck WORD…` wrote to a pseudo-terminal, run in the folder that one is in.
"""

import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import sys
import tempfile
import termios

import page

ROWS, COLUMNS = 24, 80
STYLE = "body { margin: 0; padding: 14px; background: #16181d; color: #d6d9de; width: max-content; } " \
    "pre { margin: 0; font: 15px/1.35 'DejaVu Sans Mono', monospace; } " \
    ".s1 { font-weight: bold; } .s2 { color: #8b919b; } .s31 { color: #ff7d74; } .s33 { color: #eaa94f; } .s35 { color: #d6a5ee; } .s36 { color: #7fbcf3; }"
OVERWRITTEN = re.compile(r"[^\n]*\r\x1b\[K")  # a line that tells how far it is
ESCAPES = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[0-9;]*[A-Za-ln-z]|\r")


def written_on_a_terminal(command, folder):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            os.environ.pop(name, None)
        os.execvpe(command[0], command, os.environ | {"TERM": "xterm-256color"})
    text = b""
    while True:
        try:
            text += os.read(terminal, 1 << 16)
        except OSError:  # its end
            break
    os.waitpid(pid, 0)
    return ESCAPES.sub("", OVERWRITTEN.sub("", text.decode("utf-8", "replace")))


def row_as_html(row):
    shown = ""
    for code, text in re.findall(r"(\x1b\[[0-9;]*m)?([^\x1b]*)", row):
        classes = " ".join(f"s{number}" for number in re.findall(r"\d+", code) if number != "0")
        shown += f'<span class="{classes}">{html.escape(text)}</span>'
    return shown


def screen(text):
    rows = text.rstrip("\n").split("\n")[-(ROWS - 1):]
    return "\n".join([*map(row_as_html, rows), "$ <span style='background: #d6d9de'> </span>"])


def save(text, name):
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{screen(text)}</pre>")
        file.flush()
        browser = page.browser()
        try:
            browser.get(pathlib.Path(file.name).as_uri())
            page.save(browser.find_element("css selector", "body").screenshot_as_png, "terminal")
        finally:
            browser.quit()
    (page.HERE / "page-terminal.png").rename(page.HERE / name)


def main(tool, name, *words):
    save(written_on_a_terminal([tool, *words], "."), f"terminal-{name}.png")


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), *sys.argv[2:])
