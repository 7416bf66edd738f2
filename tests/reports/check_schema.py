"""Validates the JSON of each case against docs/report-schema.json, and that the schema refuses what is wrong.

usage: check_schema.py REPORT_CASE SCHEMA CASE…
"""
import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: this Python has no jsonschema; scripts/setup makes an environment that has")
    sys.exit(77)


def report_of(program, case):
    written = subprocess.run([program, case, "json"], check=True, capture_output=True).stdout
    written.decode("ascii")
    return json.loads(written)


def with_extra_field(report):
    report["findings"][0]["colour"] = "red"


def with_unknown_severity(report):
    report["findings"][0]["severity"] = "fatal"


def with_line_as_text(report):
    report["findings"][0]["location"]["line"] = "1065"


def with_negative_count(report):
    report["findings"][0]["count"] = -1


def without_findings(report):
    del report["findings"]


def of_another_schema(report):
    report["schema"] = 2


def with_bare_operand(report):
    report["findings"][0]["operands"][0] = {"name": "mat1", "dtype": "Half"}


MUTATIONS = [with_extra_field, with_unknown_severity, with_line_as_text, with_negative_count,
             without_findings, of_another_schema, with_bare_operand]


def undescribed(schema, path="#"):
    """Properties with no word on what they are; a reference may leave it to its target."""
    for name, field in schema.get("properties", {}).items():
        if "description" not in field and "$ref" not in field and field is not True:
            yield f"{path}/{name}"
        yield from undescribed(field, f"{path}/{name}")
    for name, definition in schema.get("$defs", {}).items():
        yield from undescribed(definition, f"{path}/$defs/{name}")


def main(program, schema_path, cases):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    faults = [f"{path} has no description" for path in undescribed(schema)
              if not path.endswith(("/from", "/to"))]
    check = validator(schema)
    for case in cases:
        errors = check.iter_errors(report_of(program, case))
        faults += [f"{case}: {error.json_path}: {error.message[:200]}" for error in errors]
    whole = report_of(program, "half_float_addmm")
    for mutate in MUTATIONS:
        mutant = copy.deepcopy(whole)
        mutate(mutant)
        if check.is_valid(mutant):
            faults.append(f"the schema accepts a report {mutate.__name__.replace('_', ' ')}")
    print("\n".join(faults) or f"{len(cases)} reports are valid, {len(MUTATIONS)} mutants are not")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
