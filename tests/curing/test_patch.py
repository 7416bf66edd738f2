"""curing/patch.py: where a change goes, and where there is no sure place for it."""

import ast
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "curing"))
import patch


class PatchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "train.py"

    def patched(self, text, line, kind, code, dtype="float32", op="", replaces="", extent=(0, 0, 0)):
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        cure = {"path": str(self.path), "line": line, "kind": kind, "code": code, "dtype": dtype, "op": op,
                "replaces": replaces, "extent": extent}
        changed, = patch.patch({"cures": [cure]})["files"]
        ast.parse(changed["text"])
        return changed["text"]

    def check(self, text, line, kind, code, expected, **more):
        self.assertEqual(self.patched(text, line, kind, code, **more), expected)

    def refuse(self, reason, text, line, kind, code, **more):
        with self.assertRaisesRegex(patch.Unplaced, reason):
            self.patched(text, line, kind, code, **more)

    # ---- casts

    def test_an_argument(self):
        self.check("import torch\nloss = F.mse_loss(pred, target)\n", 2, "cast operand", "pred.float()",
                   "import torch\nloss = F.mse_loss(pred.float(), target)\n")

    def test_an_operand_of_an_operator(self):
        self.check("import torch\ny = x @ w\n", 2, "cast operand", "w.to(torch.float32)",
                   "import torch\ny = x @ w.to(torch.float32)\n")

    def test_the_receiver_of_a_method(self):
        self.check("import torch\ny = x.matmul(w)\n", 2, "cast operand", "x.to(torch.float32)",
                   "import torch\ny = x.to(torch.float32).matmul(w)\n")

    def test_an_attribute_over_several_lines(self):
        self.check("import torch\ny = f(\n    a,\n    self.w[0])\n", 3, "cast operand", "self.w[0].half()",
                   "import torch\ny = f(\n    a,\n    self.w[0].half())\n")

    def test_an_assignment_below_the_line_that_draws(self):
        code = "x, y = x.to(torch.float32), y.to(torch.float32)"
        self.check("import torch\nfor x, y in loader:\n    f(x, y)\n", 2, "cast result", code,
                   f"import torch\nfor x, y in loader:\n    {code}\n    f(x, y)\n")
        self.check("import torch\nx, y = next(it)\nf(x, y)\n", 2, "cast result", code,
                   f"import torch\nx, y = next(it)\n{code}\nf(x, y)\n")
        self.refuse("shares its line", "import torch\nfor x, y in loader: f(x, y)\n", 2, "cast result", code)

    def test_the_argument_of_the_op_where_the_name_stands_twice(self):
        self.check("import torch\ny = torch.mm(x, w) + g(x)\n", 2, "cast operand", "x.half()",
                   "import torch\ny = torch.mm(x.half(), w) + g(x)\n", op="mm")

    def test_the_call_that_ran_of_two(self):
        text = "import torch\ny = f(x, a) + f(x, b)\n"
        self.check(text, 2, "cast operand", "x.half()", "import torch\ny = f(x, a) + f(x.half(), b)\n", extent=(15, 2, 22))
        self.check(text, 2, "cast operand", "x.half()", "import torch\ny = f(x.half(), a) + f(x, b)\n", replaces="x",
                   extent=(5, 2, 12))
        self.refuse("`x` is 2 times", text, 2, "cast operand", "x.half()", extent=(5, 2, 22))
        self.refuse("`x` is 2 times", text, 2, "cast operand", "x.half()", extent=(90, 2, 99))

    def test_a_chain_over_several_lines_is_told_from_the_name_of_its_method(self):
        self.check("import torch\ny = (x\n     .mm(w)) + w\n", 3, "cast operand", "w.half()",
                   "import torch\ny = (x\n     .mm(w.half())) + w\n", replaces="w", extent=(7, 3, 12))

    def test_no_place(self):
        self.refuse("`x` is 2 times", "y = f(x, x)\n", 1, "cast operand", "x.half()")
        self.refuse("is not in the statement", "y = f(z)\n", 1, "cast operand", "x.half()")
        self.refuse("is not in the statement", "x += z\n", 1, "cast operand", "x.half()")
        self.refuse("is no cast", "y = f(x)\n", 1, "cast operand", "f(x)")
        self.refuse("not an expression", "y = f(x)\n", 1, "cast operand", "cast x")
        self.refuse("has no statement", "y = f(x)\n", 9, "cast operand", "x.half()")

    def test_the_value_of_a_statement(self):
        self.check("import torch\nmask = torch.ones(3)\n", 2, "cast result", ".to(torch.float16)",
                   "import torch\nmask = torch.ones(3).to(torch.float16)\n")
        self.check("import torch\nmask = a + b\n", 2, "cast result", ".half()", "import torch\nmask = (a + b).half()\n")
        self.refuse("gives no value", "self.register_buffer('a', b)\n", 1, "cast result", ".half()")

    def test_torch_under_another_name_or_none(self):
        self.check("import torch as T\ny = x @ w\n", 2, "cast operand", "w.to(torch.float32)",
                   "import torch as T\ny = x @ w.to(T.float32)\n")
        self.check('"""Doc."""\nfrom __future__ import annotations\ny = x @ w\n', 3, "cast operand", "w.to(torch.float32)",
                   '"""Doc."""\nfrom __future__ import annotations\nimport torch\ny = x @ w.to(torch.float32)\n')
        self.check("from torch import nn\ny = x @ w\n", 2, "cast operand", "w.float()",
                   "from torch import nn\ny = x @ w.float()\n")

    # ---- what stands there

    def test_a_text_that_is_there_once(self):
        def check(before, replaces, code, after):
            self.check(f"import torch\n{before}\n", 2, "cast operand", code, f"import torch\n{after}\n", replaces=replaces)

        check("y = fx(x)", "x", "x.half()", "y = fx(x.half())")
        check("y = f(a).half()", ".half()", ".float()", "y = f(a).float()")
        check("y = f(x, x)", "f(x, x)", "f(x.half(), x)", "y = f(x.half(), x)")
        check("if f(x):\n    x = 1", "x", "x.half()", "if f(x.half()):\n    x = 1")
        for before in ("y = f(x, x)", "y = f(z)", "y = f(x1)"):
            self.refuse("`x` is (2 times|not) in", before + "\n", 1, "cast operand", "x.half()", replaces="x")

    # ---- parameters

    def test_the_dtype_that_a_model_is_loaded_in(self):
        cast = "unet.to(dtype=torch.float32)"
        for before, after in (("U.load(a, torch_dtype=dt)", "U.load(a, torch_dtype=torch.float32)"),
                              ("U.load(a, dtype='float16')", "U.load(a, dtype=\"float32\")"),
                              ("U(a).half()", "U(a).float()"),
                              ("U(a).to(dev, torch.float16)", "U(a).to(dev, torch.float32)")):
            self.check(f"import torch\nunet = {before}\n", 2, "cast parameters", cast, f"import torch\nunet = {after}\n")

    def test_a_layer_of_what_is_loaded(self):
        self.check("import torch\nunet = U.load(a, dtype=dt)\n", 2, "cast parameters", "unet.out.to(dtype=torch.float32)",
                   "import torch\nunet = U.load(a, dtype=dt)\nunet.out.to(dtype=torch.float32)\n")

    def test_a_cast_behind_or_before(self):
        cast = "unet.to(dtype=torch.float32)"
        self.check("import torch\nif a:\n\tunet = U(\n\t\ta)\n", 4, "cast parameters", cast,
                   f"import torch\nif a:\n\tunet = U(\n\t\ta)\n\t{cast}\n")
        self.check("import torch\nif a:\n  y = unet(x)", 3, "cast parameters", cast,
                   f"import torch\nif a:\n  {cast}\n  y = unet(x)")
        self.refuse("neither makes nor uses unet", "import torch\ny = vae(x)\n", 2, "cast parameters", cast)
        self.refuse("shares its line", "import torch\na = 1; unet = U(a)\n", 2, "cast parameters", cast)

    # ---- autocast

    def test_a_region_that_takes_in_more(self):
        region = "with torch.autocast('cpu'):"
        text = (f"import torch\nfor i in r:\n    {region}\n        y = f(x)\n    # why\n\n    if y:\n"
                "        z = '''\nz'''\n        w = g(y)\n    h(w)\n")
        self.check(text, 10, "move autocast", region, text.replace("    # why", "        # why").replace(
            "    if y", "        if y").replace("        z", "            z").replace("        w", "            w"))
        self.refuse("no block above", text, 4, "move autocast", region)
        self.refuse("no block above", text, 10, "move autocast", "with other:")
        self.refuse("in one line", "with a: x\ny\n", 2, "move autocast", "with a: x")
        self.refuse("shares its line", "with a:\n  x\ny; z\n", 3, "move autocast", "with a:")

    def test_a_region_around_a_statement(self):
        region = 'with torch.autocast("cpu", dtype=torch.bfloat16):'
        self.check("import torch\nfor i in r:\n    y = unet(a,\n             '''x\ny''')\n", 3, "open autocast", region,
                   f"import torch\nfor i in r:\n    {region}\n        y = unet(a,\n                 '''x\ny''')\n")
        self.check(b"import torch\r\nif a:\r\n\ty = f(a)\r\n", 3, "open autocast", region,
                   f"import torch\r\nif a:\r\n\t{region}\r\n\t\ty = f(a)\r\n")
        self.check("import torch\ny = f(a)\n", 2, "open autocast", region, f"import torch\n{region}\n    y = f(a)\n")
        self.refuse("head of a block", "import torch\nfor y in f(a):\n    pass\n", 2, "open autocast", region)
        self.refuse("shares its line", "import torch\na = 1; y = f(a)\n", 2, "open autocast", region)

    # ---- settings

    def test_a_keyword(self):
        self.check("a = Accelerator(mixed_precision='fp16')\n", 1, "setting", 'mixed_precision="bf16"',
                   'a = Accelerator(mixed_precision="bf16")\n')
        self.check("a = Accelerator()\n", 1, "setting", 'mixed_precision="bf16"',
                   'a = Accelerator(mixed_precision="bf16")\n')
        self.check("a = Accelerator(\n    x,\n)\n", 1, "setting", 'mixed_precision="bf16"',
                   'a = Accelerator(\n    x, mixed_precision="bf16",\n)\n')
        self.refuse("a call is 2 times", "a = Accelerator(f())\n", 1, "setting", 'mixed_precision="bf16"')
        self.refuse("not one keyword", "a = Accelerator()\n", 1, "setting", "--mixed_precision bf16")

    # ---- sources

    def test_bad_sources(self):
        self.refuse("is not UTF-8", b"x = '\xe4'\n", 1, "cast operand", "x.half()")
        self.refuse("cannot parse", b"x = (\n", 1, "cast operand", "x.half()")
        self.refuse("cannot parse", b"x = 1\0\n", 1, "cast operand", "x.half()")
        self.refuse("in words alone", "y = f(x)\n", 1, "master weights", "")
        self.refuse("says so already", "a = A(m='b')\n", 1, "setting", "m='b'")

    def test_a_form_feed_and_columns_in_bytes(self):
        self.check("\f\nä = f('ä', x)\n", 2, "cast operand", "x.half()", "\f\nä = f('ä', x.half())\n")

    # ---- several cures

    def of_several(self, text, *cures):
        self.path.write_text(text)
        other = self.path.with_name("other.py")
        other.write_text(text)
        cures = [{"path": str(path), "line": line, "kind": kind, "code": code, "dtype": "float16", "extent": extent}
                 for path, (line, kind, code, extent) in zip([self.path] * (len(cures) - 1) + [other], cures)]
        return patch.patch({"cures": cures})

    def test_two_files(self):
        text = "import torch\ny = f(x)\nz = g(x)\n"
        cast = (2, "cast operand", "x.half()", (0, 0, 0))
        answer = self.of_several(text, cast, (3, *cast[1:]), cast, cast)
        self.assertEqual([changed["text"] for changed in answer["files"]],
                         ["import torch\ny = f(x.half())\nz = g(x.half())\n", "import torch\ny = f(x.half())\nz = g(x)\n"])
        self.assertEqual(answer["diff"].count("\n+++ "), 2)

    def test_edits_that_overlap(self):
        casts = [(2, "cast operand", code, (0, 0, 0)) for code in ("x.half()", "(x + 1).half()", "x.half()")]
        with self.assertRaisesRegex(patch.Unplaced, "two changes of the same code"):
            self.of_several("import torch\ny = f(x + 1)\n", *casts)

    # ---- notebooks

    CELL = "%time fit()\ny = f(x)\n"
    RAN = "get_ipython().run_line_magic('time', 'fit()')\ny = f(x)\n"

    def notebook(self, *cells, **layout):
        kinds = [{"cell_type": "code", "source": cell} for cell in cells]
        title = {"cell_type": "markdown", "source": ["y = f(x)\n"]}
        return json.dumps({"cells": [title, *kinds], "nbformat": 4}, **layout) + "\n"

    def patched_cell(self, text, ran, code="x.half()"):
        self.path.write_text(text)
        cure = {"path": str(self.path), "shown": "In [3]", "line": 2, "kind": "cast operand", "code": code,
                "dtype": "float16", "op": "", "replaces": "", "extent": (0, 0, 0), "cell": ran}
        answer = patch.patch({"cures": [cure]})
        return answer["files"][0]["text"], answer["diff"]

    def test_the_cell_that_ran(self):
        changed = "%time fit()\ny = f(x.to(th.half))\n"
        for layout in ({"indent": 1, "ensure_ascii": False}, {"indent": 4}, {}):
            cells = ["%env A=ä\nimport torch as th\n", "z = 1\n"]
            text, diff = self.patched_cell(self.notebook(*cells, self.CELL, **layout), self.RAN, "x.to(torch.half)")
            self.assertEqual(text, self.notebook(*cells, changed, **layout))
            self.assertIn("--- In [3]\n", diff)
        lines = self.CELL.splitlines(keepends=True)
        text, _ = self.patched_cell(self.notebook(lines), self.RAN)
        self.assertEqual(json.loads(text)["cells"][1]["source"], ["%time fit()\n", "y = f(x.half())\n"])

    def test_no_such_cell(self):
        for reason, text in (("no cell with what ran", self.notebook("y = f(x)\n", "a = 1\ny = f(x)\n")),
                             ("2 cells with what ran", self.notebook(self.CELL, self.CELL)),
                             ("is no notebook", "[1]"), ("is no notebook", "{")):
            with self.assertRaisesRegex(patch.Unplaced, reason):
                self.patched_cell(text, self.RAN)


if __name__ == "__main__":
    unittest.main()
