"""Findings as objects: what a finding of the JSON report has, by name."""

_LEVELS = ("note", "warning", "error")


def at_least(severity, level):
    """True for "error" at level "warning"; never for level "never"."""
    return level in _LEVELS and _LEVELS.index(severity) >= _LEVELS.index(level)


class Finding:
    """rule, severity, message, why, fix, count, op, operands, cures, location, …: docs/report-schema.json has them all."""

    def __init__(self, entry, run=None):
        self.json = entry
        self._run = run  # so that the run's folder stays as long as its findings

    def __getattr__(self, name):
        if name.startswith("_") or name == "json":
            raise AttributeError(name)
        try:
            return self.json[name]
        except KeyError:
            raise AttributeError(f"a finding has no {name}; it has {', '.join(sorted(self.json))}") from None

    @property
    def file(self):
        return (self.json.get("location") or {}).get("file")

    @property
    def line(self):
        return (self.json.get("location") or {}).get("line")

    @property
    def place(self):
        """train.py:91; "" where it is not known."""
        return f"{self.file}:{self.line}" if self.file else ""

    def __str__(self):
        return f"{self.place or 'dtypecheck'}: {self.severity}: {self.message} [{self.rule}]"

    def __repr__(self):
        return f"<{self}>"
