"""cures/write_cure.py: where a change goes, how it is written there, and where there is no sure place for it."""

import ast
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cures"))
import demerits
import write_cure
from lists import cast_methods, cpp_types, dtypes, factories, precisions
from source import Unplaced

TABLES = {"names": [["grid_sampler", "grid_sample"], ["native_layer_norm", "layer_norm"]], "signs": [["@", "mm"], ["*", "mul"], ["-", "sub"], ["/", "div"], ["+", "add"],
                                                                 ["-", "numpy.subtract"], ["*", "numpy.multiply"], ["+", "numpy.add"], ["**", "numpy.square"]],
          "dimension_first": ["index_"], "first_only": ["embedding", "layer_norm"], "precisions": precisions(), "dtypes": dtypes(), "cast_methods": cast_methods(),
          "factories": factories(), "cpp_types": cpp_types()}


def applied(text, edits):
    """As core/edit.cpp does."""
    lines = text.encode().splitlines(keepends=True)
    splices = []
    for edit in edits:
        begin = sum(map(len, lines[:edit["line"] - 1])) + edit["column"] - 1
        splices.append((begin, begin + len(edit["old"].encode()), edit))
    data = text.encode()
    for begin, end, edit in sorted(splices, key=lambda splice: splice[:2])[::-1]:
        assert data[begin:end] == edit["old"].encode(), edit
        data = data[:begin] + edit["new"].encode() + data[end:]
    return data.decode()


class WriteCureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "train.py"

    def cure(self, line, kind, op="mse_loss", operand="target", arguments=("self", "target"), dtype="float32", before="float16",
             others=(), **more):
        more["others"] = [[{"op": op, "operand": name, "arguments": list(arguments)}] for name in others]
        return {"path": str(self.path), "file": "train.py", "line": line, "kind": kind, "dtype": dtype, "from": before, "operand": operand,
                "module": "", "module_class": "", "device": "cpu",
                "calls": [{"op": op, "operand": operand, "arguments": list(arguments)}], **more}

    def ways(self, text, /, *cure, results=(), parameters=None, **more):
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        answer = write_cure.write({"cures": [self.cure(*cure, **more)], "results": {"train.py": results},
                                   "parameters": {"net": parameters or {}}, **TABLES})
        self.demerits = [way["demerits"] for way in answer["ways"]]
        texts = [applied(self.path.read_bytes().decode(), way["edits"]) for way in answer["ways"]]
        for text in texts:
            ast.parse(text)
        return texts

    def check(self, before, after, /, *cure, **more):
        """The line behind `import torch`, and what the first way makes of it."""
        head = "import torch\n"
        self.assertEqual(self.ways(head + before + "\n", *(cure or (2, "cast operand")), **more)[0], head + after + "\n")

    def refuse(self, reason, text, /, *cure, **more):
        with self.assertRaisesRegex(Unplaced, reason):
            self.ways(text, *(cure or (2, "cast operand")), **more)

    # ---- which expression is the operand

    def test_an_argument_by_place_or_name(self):
        self.check("loss = F.mse_loss(f(x), batch['y'])", "loss = F.mse_loss(f(x), batch['y'].to(torch.float32))")
        self.check("loss = F.mse_loss(target=a + b, input=x)", "loss = F.mse_loss(target=(a + b).to(x.dtype), input=x)",
                   others=["self"])
        self.check("y = torch.nn.functional.grid_sample(x, g)", "y = torch.nn.functional.grid_sample(x, g.to(torch.float32))",
                   op="grid_sampler_2d", operand="grid", arguments=["input", "grid"])
        self.check("q.index_add_(0, i, k)", "q.index_add_(0, i, k.to(torch.float32))", op="index_add_", operand="source",
                   arguments=["self", "index", "source"])

    def test_an_optimizer_gets_an_epsilon_that_half_holds(self):
        how = dict(op="_foreach_add_", operand="optimizer epsilon", dtype="float16", optimizers="AdamW,Lion8")
        for before, after in (("AdamW(net.parameters(), lr=args.lr)", "AdamW(net.parameters(), lr=args.lr, eps=1e-4)"),
                              ("AdamW(groups, eps=1e-08, lr=1)", "AdamW(groups, eps=1e-4, lr=1)"),
                              ("Lion8(groups, eps=args.eps)", "Lion8(groups, eps=max(args.eps, 1e-4))")):
            text = f"import torch\ndef made(groups):\n    return torch.optim.{before}\nopt = made(net)\nopt.step()\n"
            self.assertEqual(self.ways(text, 5, "rewrite", **how), [text.replace(before, after)])
        self.refuse("what makes the optimizer", "import torch\nopt = torch.optim.Adam(groups)\nopt.step()\n", 3, "rewrite", **how)
        self.refuse("what makes the optimizer", "import torch\nopt = made[0](groups)\nopt.step()\n", 3, "rewrite", **{**how, "optimizers": ""})

    def test_a_default_dtype(self):
        text = "import math\nimport torch\n\nX = torch.rand(3).to(**kwargs)\n"
        how = dict(op="_to_copy", operand="default dtype", dtype="float64")
        self.assertEqual(self.ways(text, 4, "rewrite", **how), [text.replace("torch\n\n", "torch\n\ntorch.set_default_dtype(torch.float64)\n\n")])
        self.refuse("does not import torch", "import math\nX = f(3)\n", 2, "rewrite", **how)
        self.refuse("at its top", "def f():\n    import torch\n    return torch.rand(3).double()\n", 3, "rewrite", **how)

    def test_a_number_on_the_left(self):
        text = "import torch\ndef index(all, guess, classes, keep):\n    truth = all[keep]\n    return {}\n"
        def written(line, meets_number=True):
            calls = [{"op": "mul", "operand": "self", "arguments": ["self", "other"], "meets_number": meets_number}]
            return self.ways(text.format(line), 4, "cast operand", op="mul", operand="self", dtype="int64", before="uint8", calls=calls)[0]
        self.assertEqual(written("classes * truth + guess"), text.format("classes * truth.to(torch.int64) + guess"))
        self.assertEqual(written("truth * classes + guess"), text.format("truth.to(torch.int64) * classes + guess"))
        self.assertEqual(written("guess * 21"), text.format("guess.to(torch.int64) * 21"))
        self.assertEqual(written("classes * truth + guess", meets_number=False), text.format("classes.to(torch.int64) * truth + guess"))

    def test_a_sum_held_at_the_lowest_number(self):
        how = dict(op="add", operand="held at lowest", arguments=["self", "other"], dtype="float16")
        held = "(w + masks[0]).clamp(min=torch.finfo(w.dtype).min)"
        self.check("w = w + masks[0]", f"w = {held}", 2, "rewrite", **how)
        self.check("w += masks[0]", f"w = {held}", 2, "rewrite", **how)
        self.check("p = F.softmax(w + masks[0], -1)", f"p = F.softmax({held}, -1)", 2, "rewrite", **how)
        self.refuse("no name has the dtype", "import torch\nw = f(x) + masks[0]\n", 2, "rewrite", **how)

    def test_a_parameter_that_may_be_none(self):
        def text(body, mask="mask=None"):
            return f"import torch\ndef attend(q, k, {mask}):\n{body}"
        how = dict(op="scaled_dot_product_attention", operand="attn_mask", arguments=["query", "key", "value", "attn_mask"], dtype="bool", before="int64")
        use = "    return F.scaled_dot_product_attention(q, k, k, attn_mask=mask)\n"
        guarded = use.replace("=mask", "=mask.to(torch.bool) if mask is not None else None")
        plain = use.replace("=mask", "=mask.to(torch.bool)")
        self.assertIn(text(guarded), self.ways(text(use), 3, "cast operand", **how))
        self.assertIn(text(plain, mask="mask"), self.ways(text(use, mask="mask"), 3, "cast operand", **how))
        self.assertIn(text(plain, mask="mask=0"), self.ways(text(use, mask="mask=0"), 3, "cast operand", **how))
        for asked in "    if mask is None:\n        return k\n", "    mask = k if mask is None else mask\n":
            self.assertIn(text(asked + plain), self.ways(text(asked + use), 3 + asked.count("\n"), "cast operand", **how))
        self.assertIn(text("    if mask is not None:\n    " + plain), self.ways(text("    if mask is not None:\n    " + use), 4, "cast operand", **how))

    def test_names_of_16_bits_that_the_file_reads(self):
        made = dict(op="ones_like", operand="", arguments=["self"], dtype="bfloat16", before="float32")
        text = ("import torch\ndef create(module):\n    return Linear(dtype=module.weight.dtype)\n"
                "def make(module, scale):\n    return torch.ones_like(scale)\n")
        self.assertIn("ones_like(scale, dtype=module.weight.dtype)", self.ways(text, 5, "cast result", **made)[0])
        self.assertNotIn("module.weight.dtype)\n    return torch", self.ways(text, 5, "cast result", **dict(made, dtype="float32"))[0])
        other = self.ways(text.replace("make(module,", "make(layer,"), 5, "cast result", **made)[0]
        self.assertIn("ones_like(scale, dtype=torch.bfloat16)", other)

    def test_what_a_cast_to_16_bits_is_computed_of(self):
        half = dict(op="_to_copy", operand="", arguments=["self"], dtype="bfloat16", before="float16")
        self.assertEqual(self.ways("import torch\ny = f(k).half()\n", 2, "cast result", **half)[0], "import torch\ny = f(k).to(k.dtype)\n")
        self.assertEqual(self.ways("import torch\ny = f(k, q).half()\n", 2, "cast result", **half)[0],
                         "import torch\ny = f(k, q).bfloat16()\n")

    def test_what_a_loss_is_given(self):
        loss = dict(op="cross_entropy_loss", operand="self", arguments=["self", "target"], module="criterion", module_class="CrossEntropyLoss")
        self.check("loss = criterion(f(x), y.view(-1))", "loss = criterion(f(x).to(torch.float32), y.view(-1))", 2, "cast module input", **loss)
        self.refuse("", "import torch\nloss = net(f(x), y.view(-1))\n", 2, "cast module input",
                    **dict(loss, module="net", module_class="Net"))

    def test_what_lines_of_a_forward_refuse(self):
        model = self.path.parent / "model.py"
        model.write_text("import torch\nclass Net:\n    def forward(self, x, t, context, pooled=None):\n        emb = embed(t).to(pooled.dtype)\n"
                         "        h = self.time(torch.cat([emb, pooled], -1)) + x.half()\n        return self.out(context[:, 0] * 2, h)\n")
        how = dict(module="net", dtype="bfloat16", before="float32", operand="net.time")
        inner = {5: [13, 5, 51], 6: [16, 6, 46]}

        def written(call, *lines):
            given = [{"file": str(model), "line": line, "extent": inner[line]} for line in lines]
            return self.ways(f"import torch\ny = net({call})\n", 2, "cast module input", **how, inner=given)[0].split("net(")[1][:-2]
        self.assertEqual(written("x, t, c, pooled=p", 5), "x, t, c, pooled=p.to(torch.bfloat16)")
        self.assertEqual(written("x, t, c, p", 5, 6), "x, t, c.to(torch.bfloat16), p.to(torch.bfloat16)")
        self.refuse("which arguments", "import torch\ny = net(x, t, c, p)\n", 2, "cast module input", **how, inner=[])
        gone = [{"file": str(model) + ".gone", "line": 5, "extent": inner[5]}]
        self.refuse("which arguments", "import torch\ny = net(x, t, c, p)\n", 2, "cast module input", **how, inner=gone)

    def test_a_cast_of_several(self):
        made = dict(op="python::torch.from_numpy", operand="", arguments=["ndarray"], dtype="int64", before="int32")
        for text, count in (("b = tuple(torch.from_numpy(a) for a in (x, ids))", 1), ("b = tuple(torch.from_numpy(a) for a in batch)", 0)):
            self.ways("import torch\n" + text + "\n", 2, "cast result", **made)
            self.assertEqual(self.demerits[0]["integers"], count)

    def test_the_array_that_is_written_to(self):
        text = ("import numpy as np\nclass Store:\n    def __init__(self, size, half):\n        if half:\n            self.ids = np.memmap(p, dtype=np.int16)\n"
                "        else:\n            self.ids = np.memmap(p, dtype=np.int32)\nstore.{}[i] = x.astype(d)\n")
        how = dict(op="python::numpy.astype", operand="astype", arguments=["ndarray"], dtype="int64", before="int64", narrow="int16")
        self.assertEqual(self.ways(text.format("ids"), 8, "rewrite", **how), [text.format("ids").replace("np.int16", "np.int64")])
        self.refuse("what makes the array", text.format("keys"), 8, "rewrite", **how)
        self.refuse("a variable gives", "import numpy as np\ny = x.astype(d)\n", 2, "rewrite", **how)

    def test_what_a_module_keeps(self):
        how = dict(op="index_copy_", operand="kept", arguments=["self", "index", "source"], dtype="bfloat16", before="float32")
        how["others"] = ["source"]
        self.check("def f(self, i, k):\n    k = self.k.index_copy_(2, i, k)",
                   "def f(self, i, k):\n    self.k = self.k.to(k.dtype)\n    k = self.k.index_copy_(2, i, k)", 3, "rewrite", **how)
        self.check("self.k[i] = k", "self.k = self.k.to(torch.bfloat16)\nself.k[i] = k", 2, "rewrite", **{**how, "op": "index_put_", "others": []})
        self.refuse("what the module keeps", "import torch\nk = cache.index_copy_(2, i, k)\n", 2, "rewrite", **how)

    def test_a_cast_that_only_rounds_is_left_out(self):
        how = dict(op="_to_copy", operand="", arguments=["self"], dtype="float32", before="bfloat16")
        self.check("x, y = x.bfloat16().float(), y.bfloat16().float()", "x, y = x.float(), y.float()", 2, "cast result",
                   **how, extent=[8, 2, 20])
        self.check("x = x.bfloat16().cuda()", "x = x.float().cuda()", 2, "cast result", **how)

    def test_what_gives_a_factory_its_shape(self):
        made = dict(op="zeros", operand="", arguments=[], dtype="bfloat16", before="float32")
        for shape in ("g.t().size()", "n, *g.shape"):
            self.check(f"m = torch.zeros({shape})", f"m = torch.zeros({shape}, dtype=g.dtype)", 2, "cast result", **made)
        self.check("m = torch.zeros(3, **more)", "m = torch.zeros(3, **more).to(torch.bfloat16)", 2, "cast result", **made)
        self.ways("import torch\nm = {k: torch.zeros(*v.shape) for k, v in o.items()}\n", 2, "cast result", **made)
        self.assertEqual(self.demerits[0]["integers"], 0)

    def test_a_shape_of_ones_own(self):
        made = dict(op="zeros", operand="", arguments=[])
        self.check("y = torch.zeros(3, device=self.device)", "y = torch.zeros(3, device=self.device, dtype=torch.float32)", 2,
                   "cast result", **made)
        own = "import torch\nz = self.dtype\ny = torch.zeros(3, device=self.device%s)\n"
        self.assertEqual(self.ways(own % "", 3, "cast result", **made)[0], own % ", dtype=self.dtype")

    def test_a_cast_of_a_module_is_left_out(self):
        cast = dict(op="linear", operand="model", arguments=["self"], module="model", was="float32")
        text = "import torch\nif a:\n    log('x')\n    self.model.half()  # cast\n"
        self.assertEqual(self.ways(text, 4, "cast parameters", **cast)[0], "import torch\nif a:\n    log('x')\n")
        alone = text.replace("    log('x')\n", "")  # nothing would be left of the block
        self.assertIn("self.model.float()", self.ways(alone, 3, "cast parameters", **cast)[0])
        self.assertIn("self.model.float()", self.ways(text, 4, "cast parameters", **dict(cast, was="bfloat16"))[0])
        moved = text.replace("half()", "to(device, torch.half)")
        self.assertIn("to(device, torch.float32)", self.ways(moved, 4, "cast parameters", **cast)[0])

    def test_the_indices_of_both_embeddings(self):
        ids = dict(op="embedding", operand="indices", arguments=["weight", "indices"], dtype="int64")
        self.check("y = F.embedding(i, w)", "y = F.embedding(i.to(torch.int64), w)", **ids)
        self.check("y = torch.embedding(w, i)", "y = torch.embedding(w, i.to(torch.int64))", **ids)

    def test_a_dtype_is_no_input(self):
        for given in ("torch.int16", "torch.short", "torch.float8_e4m3fn"):
            self.check(f"y = net({given}, x)", f"y = net({given}, x.to(torch.float32))", 2, "cast module input", module="net")
        self.refuse("", "import torch\ny = net(torch.pi, x)\n", 2, "cast module input", module="net")

    def test_the_receiver_and_sides_of_an_operator(self):
        self.check("y = x.mm(w)", "y = x.to(torch.float32).mm(w)", op="mm", operand="self", arguments=["self", "mat2"])
        self.check("y = x @ w", "y = x @ w.to(x.dtype)", op="mm", operand="mat2", arguments=["self", "mat2"], others=["self"])
        self.check("y = x\\\n  @ w[0]", "y = x\\\n  @ w[0].to(torch.float32)", op="mm", operand="mat2")
        self.check("x -= z", "x -= z.to(torch.float32)", op="sub_", operand="other")

    def test_the_operation_that_ran_and_those_that_read_the_same(self):
        way, = self.ways("import torch\nt = (t * cos * scale) + (f(t) * sin * scale)\n", 2, "cast operand", op="mul", operand="other",
                         arguments=("self", "other"), dtype="bfloat16", extent=[6, 2, 21])
        self.assertEqual(way.count("scale.to(torch.bfloat16))"), 2)

    def test_a_variable_of_the_function_that_raised(self):
        text = ("import torch\nclass Chamfer(torch.autograd.Function):\n    def forward(ctx, a, b):\n"
                "        chamfer.forward(a.contiguous(), b)\n        ctx.save_for_backward(a, b)\n")
        own = dict(op="python::Chamfer.forward", operand="a", arguments=["a", "b"], others=["b"])
        first = text.replace("a, b):\n", "a, b):\n        a = a.to(torch.float32)\n")
        self.assertEqual(self.ways(text, 4, "cast variable", **own)[0], first)
        self.assertEqual(self.ways(text, 4, "cast operand", **own)[0], text.replace("a.contiguous", "a.to(b.dtype).contiguous"))
        self.refuse("gives chamfer its value", text, 4, "cast variable", **dict(own, op="python::Other.forward"))

    def test_what_is_met_in_another_shape(self):
        mm = dict(op="mm", operand="mat2", arguments=["self", "mat2"], others=["self"])
        self.check("y = x.t() @ w", "y = x.t() @ w.to(x.dtype)", **mm)
        self.check("y = x[:2].view(2, 3) @ w", "y = x[:2].view(2, 3) @ w.to(x.dtype)", **mm)
        self.check("y = x['a'].t() @ w", "y = x['a'].t() @ w.to(x['a'].dtype)", **mm)
        self.check("y = x[0].t() @ w", "y = x[0].t() @ w.to(torch.float32)", **mm)
        self.check("y = (x - a) @ w", "y = (x - a) @ w.to(x.dtype)", **mm)
        self.check("y = x.float().t() @ w", "y = x.float().t() @ w.to(torch.float32)", **mm)

    def test_the_backward_of_an_autograd_function(self):
        text = """\
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x @ w

    @staticmethod
    %sdef backward(ctx, grad):
        return grad @ w
"""
        cure = dict(op="mm", operand="own backward", arguments=[])
        self.assertEqual(self.ways(text % "", 9, "rewrite", **cure)[0], text.replace(
            "    def forward", '    @torch.amp.custom_fwd(device_type="cpu")\n    def forward') %
            '@torch.amp.custom_bwd(device_type="cpu")\n    ')
        self.refuse("backward has custom_bwd", text % "@torch.amp.custom_bwd\n    ", 9, "rewrite", **cure)
        self.refuse("one torch.autograd.Function is not", "import torch\ny = grad @ w\n", 2, "rewrite", **cure)

    def test_weights_by_their_own_names(self):
        norm = dict(op="native_layer_norm", arguments=["input", "weight", "bias"])
        self.check("y = F.layer_norm(x.float(), self.shape, self.weight, self.bias, self.eps)",
                   "y = F.layer_norm(x.float(), self.shape, self.weight.to(torch.float32), self.bias.to(torch.float32), self.eps)",
                   operand="weight,bias", **norm)
        self.refuse("does not name each", "import torch\ny = F.layer_norm(x, shape, w, b)\n", operand="weight,bias", **norm)

    def test_what_is_put_into_a_subscript(self):
        self.check("a[i] = v", "a[i] = v.to(torch.float32)", op="index_put_", operand="values")
        self.check("a.w[i] = v", "a.w[i] = v.to(a.w.dtype)", op="index_put_", operand="values", others=["self"])
        self.check("a[i], b[i] = f(x)", "a[i], b[i] = [t.to(torch.float32) for t in f(x)]", op="index_put_", operand="values")
        self.check("a[i], b[i] = x, y", "a[i], b[i] = x.to(torch.float32), y.to(torch.float32)", op="index_put_", operand="values")
        self.refuse("not found on the line", "import torch\na[i], b = f(x)\n", op="index_put_", operand="values")
        self.check("b = a[i]", "b = a[i.to(torch.int64)]", op="index", operand="indices[0]", dtype="int64")

    def test_an_operand_around_which_another_op_is_called(self):
        calls = [{"op": "_inner", "operand": "a", "arguments": ["a"]}, {"op": "linear", "operand": "input", "arguments": ["input"]}]
        self.check("y = F.linear(x, w)", "y = F.linear(x.to(torch.float32), w)", calls=calls)

    def test_lists(self):
        cat = dict(op="cat", arguments=["tensors"])
        self.check("y = torch.cat([a, b])", "y = torch.cat([a, b.to(torch.float32)])", operand="tensors[1]", **cat)
        self.check("y = torch.cat(both)", "y = torch.cat([t.to(torch.float32) for t in both])", operand="tensors[1]", **cat)

    def test_like_calls_and_the_one_that_ran(self):
        text = "y = F.mse_loss(a, x) - F.mse_loss(b, x)"
        self.check(text, text.replace(", x", ", x.to(torch.float32)"))
        text = "y = F.mse_loss(a, x) - F.mse_loss(b, z)"
        self.check(text, text.replace("x", "x.to(torch.float32)"), extent=(5, 2, 21))
        self.refuse("the inputs of mse_loss were not found on the line", f"import torch\n{text}\n")

    def test_no_place(self):
        for line in ("y = F.mse_loss(*both)", "y = g(x)", "y = F.l1_loss(x, z)", "y = x.f"):
            self.refuse("the inputs of mse_loss were not found on the line", f"import torch\n{line}\n")
        self.refuse("has no statement", "y = f(x)\n", 9, "cast operand")
        self.refuse("does not name each", "import torch\ny = F.mse_loss(x)\n", 2, "cast operand", operand="self,target")

    # ---- what a module is called with

    def module(self, before, after, path="net.fc", of="Linear", **more):
        self.check(before, after, 2, "cast module input", module=path, module_class=of, op="linear", operand="input",
                   arguments=["input", "weight"], **more)

    def test_a_module(self):
        self.module("y = self.fc(x)", "y = self.fc(x.to(self.fc.weight.dtype))", meets_parameter=True)
        self.module("y = self.mlp(x)", "y = self.mlp(x.to(self.mlp[0].weight.dtype))", meets_parameter=True, path="net.mlp.0")
        self.module("y = net(x)", "y = net(x.to(next(net.parameters()).dtype))", meets_parameter=True)
        self.module("y = net.decode(x)", "y = net.decode(x.to(next(net.parameters()).dtype))", meets_parameter=True)
        self.module("y = net.decode(x / net.config.scale)", "y = net.decode((x / net.config.scale).to(net.dtype))", meets_parameter=True)
        self.module("y = net(x)", "y = net(x.to(torch.float32))")
        self.module("y = net.fc(input=x, scale=2)", "y = net.fc(input=x.to(torch.float32), scale=2)")
        self.module("y = net.decode(x, scale=2)[0]", "y = net.decode(x.to(torch.float32), scale=2)[0]")
        self.module("y = self.layers[0](x)", "y = self.layers[0](x.to(torch.float32))", path="net.layers.0")
        self.module("y = net(**inputs)", "y = net(**{k: v.to(torch.float32) if torch.is_tensor(v) and v.is_floating_point() else v"
                    " for k, v in inputs.items()})")
        self.refuse("which arguments of the call have another dtype than float32 is not known", "import torch\ny = net(x, z)\n", 2,
                    "cast module input", module="net", operand="input")
        self.refuse("the inputs of net were not found", "import torch\nnet.eval(x)\n", 2, "cast module input", module="net", operand="input")

    def test_the_argument_that_a_collate_function_made(self):
        text = """\
import torch

def collate(rows):
    ids = torch.stack([torch.tensor(row) for row in rows])
    return {"ids": ids, "size": torch.tensor(len(rows))%s}

weight_dtype = torch.bfloat16
for batch in loader:
    pred = unet(noisy, batch["size"], hidden=batch["ids"])
"""
        what = dict(op="mm", operand="self", arguments=["self", "mat2"], dtype="bfloat16", module="unet.attn.to_k",
                    module_class="Linear", origin=[4, "collate"])
        cure = (9, "cast module input")
        self.assertIn('unet(noisy, batch["size"], hidden=batch["ids"].to(weight_dtype))', self.ways(text % "", *cure, **what)[0])
        self.refuse("which arguments", text % '}, {"ids": other', *cure, **what)

    def test_all_arguments_in_another_floating_dtype(self):
        text = """\
import torch
weight_dtype = torch.float16
noisy = scheduler.add_noise(latents, noise,
                            steps)
steps = torch.randint(0, 9, (2,))
prompt = encoder(ids)[0].to(torch.float16)
pooled = encoder(
    ids)[0]
more = {"text": pooled, "ids": ids, "mask": None}
pred = unet(noisy,
            steps, hidden=prompt, added={"time": steps, "size": sizes * 2},
            more=more).sample
"""
        results = [[3, 9, 4, 35], [5, 9, 5, 34], [6, 10, 6, 43], [6, 10, 6, 22], [7, 10, 8, 9], [11, 65, 11, 74]]
        dtypes = ["float32", "int64", "float16", "float32", "float32", "float32"]
        module = dict(op="mm", operand="self", arguments=["self", "mat2"], dtype="float16", before="float32", module="unet.time.linear",
                      module_class="Linear", origin=[0, "forward"],
                      results=[[*place, dtype] for place, dtype in zip(results, dtypes)])
        wanted = text.replace("(noisy,", "(noisy.to(weight_dtype),").replace('": pooled', '": pooled.to(weight_dtype)').replace(
            "sizes * 2", "(sizes * 2).to(weight_dtype)")
        self.assertEqual(self.ways(text, 10, "cast module input", **module)[0], wanted)
        # Where what is refused came from, that alone goes first.
        first, *_ = self.ways(text, 10, "cast module input", **module, origins=[[7, "<module>"]])
        self.assertEqual(first, text.replace('": pooled', '": pooled.to(weight_dtype)'))
        module["dtype"] = "float32"
        self.assertIn("hidden=prompt.to(torch.float32)", self.ways(text, 10, "cast module input", **module)[0])
        module["results"] = module["results"][1:2]  # integers alone
        self.refuse("which arguments", text, 10, "cast module input", **module)

    def test_a_name_inside_of_what_it_meets(self):
        self.check("y = f(x) @ (a * e).T @ b", "y = f(x).to(a.dtype) @ (a * e).T @ b", op="mm", operand="self", arguments=["self", "mat2"],
                   others=["mat2"], extent=[5, 2, 21])

    def test_both_moments_that_a_dict_holds(self):
        made = "torch.zeros_like(p, dtype=torch.bfloat16)"
        text = f"import torch\nstate = dict(step=0, exp_avg={made},\n             exp_avg_sq={made})\n"
        places = [[2, 30, 2, 30 + len(made)], [3, 25, 3, 25 + len(made)]]
        results = [[*place, "bfloat16"] for place in places]
        cure = dict(op="zeros_like", operand="", dtype="float32", before="bfloat16", extent=[30, 2, 30 + len(made)])
        first, second = self.ways(text, 2, "cast result", results=results, **cure)[:2]
        self.assertEqual(first, text.replace("bfloat16", "float32"))
        self.assertEqual(second, text.replace("bfloat16", "float32", 1))
        one = self.ways(text, 2, "cast result", results=results[:1], **cure)[0]  # of the other nothing is known
        self.assertEqual(one, second)

    def test_integers_beside_the_ones_that_are_raised(self):
        text = "import torch\ndef tensors(a, r):\n    return torch.tensor(a), torch.tensor(r)\n"
        results = [[3, 12, 3, 27, "int64"], [3, 29, 3, 44, "int64"]]
        cure = dict(op="python::torch.tensor", operand="", dtype="float32", before="int64", extent=[29, 3, 44])
        self.assertEqual(self.ways(text, 3, "cast result", results=results, **cure)[0],
                         text.replace("tensor(r)", "tensor(r, dtype=torch.float32)"))

    def test_an_average_in_float_is_a_copy(self):
        """A cast of Float to Float gives the weight itself, which the average would then write to."""
        made = dict(op="_to_copy", operand="", dtype="float32", before="bfloat16", was="float32")
        for before, after in (("self.shadow[name] = p.data.to(torch.bfloat16)", "self.shadow[name] = p.data.clone()"),
                              ("shadow = [p.detach().half() for p in net]", "shadow = [p.detach().clone() for p in net]"),
                              ("shadow = [p.detach().clone().half() for p in net]", "shadow = [p.detach().clone().float() for p in net]"),
                              ("x = p.to(torch.bfloat16)", "x = p.to(torch.float32)")):
            text = "import torch\n{}\n"
            self.assertEqual(self.ways(text.format(before), 2, "cast result", **made)[0], text.format(after))

    def test_the_default_of_a_helper(self):
        """What no call gives is changed where it stands, so that the argument is still read."""
        helper = "import torch\ndef load(x, dtype=torch.bfloat16):\n    return torch.tensor(x, dtype=dtype)\na = load([1], {})\n"
        made = dict(op="python::torch.tensor", operand="", dtype="float32", before="bfloat16")
        text = helper.replace(", {}", "")
        self.assertIn(text.replace("torch.bfloat16", "torch.float32"), self.ways(text, 3, "cast result", **made))
        moved = text.replace("torch.tensor(x, dtype=dtype)", "torch.tensor(x).to(dtype)")
        self.assertIn(moved.replace("torch.bfloat16", "torch.float32"), self.ways(moved, 3, "cast result", **{**made, "op": "_to_copy"}))
        for given in ("torch.half", "dtype=torch.half", "**more"):
            text = helper.replace("{}", given)
            self.assertNotIn(text.replace("torch.bfloat16", "torch.float32"), self.ways(text, 3, "cast result", **made))
        own = "import torch\nclass Cache:\n    def __init__(self, n, dtype=torch.bfloat16):\n        self.k = torch.zeros(n, dtype=dtype)\nc = Cache({})\n"
        made = dict(op="zeros", operand="", dtype="float16", before="bfloat16")
        self.assertIn(own.format("3").replace("bfloat16", "float16"), self.ways(own.format("3"), 4, "cast result", **made))
        self.assertNotIn(own.format("3, d").replace("bfloat16", "float16"), self.ways(own.format("3, d"), 4, "cast result", **made))

    def test_a_bound_that_is_one_in_the_dtype(self):
        made = dict(op="clamp", operand="bound", dtype="float32")
        eps = "torch.finfo(x.dtype).eps"
        for before, after in (("x = x.clamp(-1 + 1e-15, 1 - 1e-15)", f"x = x.clamp(-1 + {eps}, 1 - {eps})"),
                              ("y = torch.clamp(x, max=0.99999999)", f"y = torch.clamp(x, max=1 - {eps})"),
                              ("y = x.clamp(1e-9, 1 - eps)", f"y = x.clamp(1e-9, 1 - max(eps, {eps}))")):
            self.check(before, after, 2, "rewrite", **made)
        self.refuse("does not write the bound", "import torch\ny = x.clamp(low, high)\n", 2, "rewrite", **made)
        self.refuse("no name", "import torch\ny = f(x).clamp(max=1 - 1e-9)\n", 2, "rewrite", **made)

    def test_an_argument_that_may_be_a_list(self):
        text = "import torch\nsamples, middle = control(x)\ny = net(x, residuals=samples, last=middle)\n"
        more = dict(op="conv2d", operand="input", arguments=["input", "weight"], dtype="bfloat16", module="net.up", module_class="Conv2d",
                    origins=[[2, "<module>"]])
        tensors, lists = self.ways(text, 3, "cast module input", **more)
        self.assertIn("residuals=samples.to(torch.bfloat16), last=middle.to(torch.bfloat16)", tensors)
        self.assertIn("residuals=[t.to(torch.bfloat16) for t in samples], last=middle.to(torch.bfloat16)", lists)
        one = text.replace("samples", "sample").replace("residuals", "residual")
        self.assertEqual(len(self.ways(one, 3, "cast module input", **more)), 1)

    def test_a_cast_that_stands_behind_the_op(self):
        more = dict(op="sum", operand="self", arguments=["self"])
        self.check("n = x.sum().long().item()", "n = x.long().sum().item()", **more)
        self.check("n = x.sum().half()", "n = x.to(torch.float32).sum().half()", **more)  # which takes the digits again
        self.check("n = x.mean().float()", "n = x.to(torch.float32).mean().float()", op="mean", operand="self", arguments=["self"])

    def test_what_an_index_picks_from(self):
        text = "import torch\ny = F.mse_loss(cells[picked], x)\n"
        made = [[2, 16, 2, 29, ""]]  # an op ran there, and gave more than one dtype
        self.assertIn("x.to(cells.dtype)", self.ways(text, 2, "cast operand", others=["self"], results=made)[0])
        self.assertNotIn("cells.dtype", self.ways(text, 2, "cast operand", others=["self"])[0])  # perhaps a list

    def test_states_of_an_lstm(self):
        more = dict(module="rnn", module_class="LSTM", op="lstm", operand="hx[0]", arguments=["input", "hx"])
        self.check("y, s = rnn(x, s)", "y, s = rnn(x, tuple(t.to(torch.float32) for t in s))", 2, "cast operand", **more)
        self.check("y, s = rnn(x, (a, b))", "y, s = rnn(x, (a.to(torch.float32), b.to(torch.float32)))", 2, "cast operand", **more)

        self.check("s = f()\ny, _ = rnn(x, s)\nz = s", "s = f()\ns = tuple(t.to(torch.float32) for t in s)\ny, _ = rnn(x, s)\nz = s", 3,
                   "cast variable", **more)

    def test_the_call_of_a_compiled_function(self):
        self.check("def f(x):\n    return x\ng = torch.compile(f)\ny = g(a)",
                   "def f(x):\n    return x\ng = torch.compile(f)\ny = g(a.to(torch.float32))")

    # ---- how the dtype is written

    def test_the_scripts_own_name_comes_first(self):
        before = "import torch\nweight_dtype = torch.float32\nother = torch.float16\nloss = F.mse_loss(a, x)\n"
        ways = self.ways(before, 4, "cast operand", others=["self"])
        self.assertEqual([way.splitlines()[-1] for way in ways],
                         [f"loss = F.mse_loss(a, x.to({d}))" for d in ("weight_dtype", "a.dtype", "torch.float32")])

    def test_a_name_that_had_several_values_comes_behind(self):
        before = "import torch\nd = torch.float32\nif half:\n    d = torch.float16\nloss = F.mse_loss(a, x)\n"
        ways = self.ways(before, 5, "cast operand", others=["self"])
        self.assertEqual([w.splitlines()[-1][23:-1] for w in ways], ["to(a.dtype)", "to(d)", "to(torch.float32)"])

    def test_a_name_that_may_have_no_value(self):
        text = """\
import torch
def main(args):
    if args.half:
        kind = torch.float32
%s    y = F.mse_loss(x, w)
"""
        self.assertIn("w.to(torch.float32)", self.ways(text % "", 5, "cast operand")[0])
        self.assertIn("w.to(kind)", self.ways(text % "    else:\n        kind = torch.float32\n", 7, "cast operand")[0])

    def test_no_name_of_another_function(self):
        self.check("def f():\n    d = torch.float32\ndef g():\n    return F.mse_loss(a, x)",
                   "def f():\n    d = torch.float32\ndef g():\n    return F.mse_loss(a, x.to(torch.float32))", 5, "cast operand")

    def test_a_name_whose_value_the_run_has(self):
        text = """\
import torch
class Server:
    def __init__(self, dtype):
        self.dtype = dtype
    def answer(self, rows):
        x = torch.stack(rows).to(self.dtype)
        return F.mse_loss(x, target)
"""
        cure = dict(dtype="float16", before="float32", results=[[6, 13, 6, 45, "float16"]])
        self.assertIn("target.to(self.dtype)", self.ways(text, 7, "cast operand", **cure)[0])
        for other in (dict(cure, results=[]), dict(cure, results=[[6, 13, 6, 45, "bfloat16"]])):
            self.assertNotIn("target.to(self.dtype)", "".join(self.ways(text, 7, "cast operand", **other)))
        other = text.replace("    def answer", "class Client:\n    def answer")  # another's self
        cure["results"] = [[7, 13, 7, 45, "float16"]]
        self.assertIn("target.to(self.dtype)", self.ways(other, 8, "cast operand", **cure)[0])
        other = other.replace("        return", "class Third:\n    def answer(self):\n        return")
        self.assertNotIn("target.to(self.dtype)", "".join(self.ways(other, 10, "cast operand", **cure)))

    def test_the_modules_own_parameters(self):
        text = """\
import torch
class Net(nn.Module):
    def __init__(self):
        self.up = nn.Linear(2, 2)
        self.down = nn.Linear(2, 2)
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    def forward(self, x):
        up = self.up(x)
        x = up + torch.zeros(2)
        return self.down(x)
"""
        half = {"net.up.weight": "float16", "net.down.bias": "float16", "net.down.weight": "float16",
                "net.layers.0.weight": "float16"}
        cure = dict(op="zeros", operand="", arguments=[], dtype="float16", before="float32", module="net")
        made = "torch.zeros(2, dtype=self.down.weight.dtype)"
        self.assertIn(made, self.ways(text, 9, "cast result", parameters=half, **cure)[0])
        other = text.replace("self.down(x)", "self.layers[0](x)")
        made = "torch.zeros(2, dtype=next(self.parameters()).dtype)"
        self.assertIn(made, self.ways(other, 9, "cast result", parameters=half, **cure)[0])
        self.assertNotIn(made, self.ways(text, 9, "cast result", parameters={**half, "net.up.bias": "float32"}, **cure)[0])
        self.assertNotIn(made, self.ways(text, 9, "cast result", parameters=half, **{**cure, "module": "other"})[0])

    def test_where_the_operand_says_its_dtype(self):
        for before, after in (("torch.zeros(3)", "torch.zeros(3, dtype=torch.float32)"), ("a.half()", "a.float()"),
                              ("torch.zeros(3, dtype=torch.half)", "torch.zeros(3, dtype=torch.float32)"),
                              ("a.to(dev, torch.half)", "a.to(dev, torch.float32)"), ("a.new_zeros(2)", "a.new_zeros(2, dtype=torch.float32)")):
            self.check(f"y = F.mse_loss(x, {before})", f"y = F.mse_loss(x, {after})")
        self.check("y = F.mse_loss(x, torch.rand(3))", "y = F.mse_loss(x, torch.rand(3).to(torch.int64))", dtype="int64")

    def test_torch_under_another_name_or_none(self):
        first = self.ways("import torch as T\ny = F.mse_loss(x, w)\n", 2, "cast operand")[0]
        self.assertEqual(first, "import torch as T\ny = F.mse_loss(x, w.to(T.float32))\n")
        first = self.ways("from torch import nn\ny = F.mse_loss(x, w)\n", 2, "cast operand")[0]
        self.assertEqual(first, "from torch import nn\ny = F.mse_loss(x, w.float())\n")
        first = self.ways("from a import b\ny = F.mse_loss(x, w.to(dtype='half'))\n", 2, "cast operand")[0]
        self.assertEqual(first, "from a import b\ny = F.mse_loss(x, w.to(dtype=\"float32\"))\n")
        first = self.ways('"""Doc."""\nfrom __future__ import annotations\ny = F.mse_loss(x, w)\n', 3, "cast operand",
                          dtype="complex64")[0]
        self.assertEqual(first, '"""Doc."""\nfrom __future__ import annotations\nimport torch\n'
                                "y = F.mse_loss(x, w.to(torch.complex64))\n")

    def test_integers_that_a_layer_is_given(self):
        text = "import torch\nf = table(s).to(s.dtype)\ny = net(f)\n"
        given = dict(module="net", module_class="Linear", op="linear", operand="input", results=[[2, 5, 2, 25, "int64"]])
        self.assertEqual(self.ways(text, 3, "cast module input", before="int64", **given)[-1], text.replace("net(f)", "net(f.to(torch.float32))"))
        self.refuse("which arguments", text, 3, "cast module input", **given)  # of which a floating input is refused

    def test_an_imaginary_part_is_not_dropped(self):
        self.refuse("imaginary part", "import torch\ny = F.mse_loss(x, torch.fft.rfft(z))\n", before="complex64")

    def test_back_to_what_it_was(self):
        self.check("y = x.sort(0)", "y = x.to(torch.float32).sort(0).to(x.dtype)", 2, "cast and back", op="sort",
                   operand="self", arguments=["self"])
        self.check("m = (x * k).sum(-1) / n", "m = ((x * k).to(torch.float32).sum(-1) / n).to(x.dtype)", 2, "cast and back", op="sum",
                   operand="self", arguments=["self"])
        self.check("m = z.pow(2).sum(-1)", "m = z.pow(2).to(torch.float32).sum(-1).to(z.dtype)", 2, "cast and back", op="sum",
                   operand="self", arguments=["self"])
        self.check("m = z.half().sum(-1)", "m = z.float().sum(-1).to(torch.float16)", 2, "cast and back", op="sum",
                   operand="self", arguments=["self"])
        self.check("r = a @ (a - q).inverse()", "r = a @ (a - q).to(torch.float32).inverse().to(a.dtype)", 2, "cast and back", op="inverse",
                   operand="self", arguments=["self"])
        self.check("u, s = x.svd()", "u, s = x.to(torch.float32).svd()\nu, s = u.to(x.dtype), s.to(x.dtype)", 2, "cast and back", op="svd",
                   operand="self", arguments=["self"], gives_floats=[True, True])
        self.check("v, i = x.sort(0)", "v, i = x.to(torch.float32).sort(0)\nv = v.to(x.dtype)", 2, "cast and back", op="sort",
                   operand="self", arguments=["self"], gives_floats=[True, False])
        head = "import torch\ndef low_rank(x, r):\n    "
        text = head + "u, s, v = torch.svd(x)\n    a = v[:r]\n    return a, u[:, :r] * s[:r], r\n"
        more = {"op": "svd", "operand": "self", "arguments": ["self"], "gives_floats": [True, True, True]}
        cast = "u, s, v = torch.svd(x.to(torch.float32))\n    "
        back = "u, s, v = u.to(x.dtype), s.to(x.dtype), v.to(x.dtype)\n    "
        self.assertEqual(self.ways(text, 3, "cast and back", **more), [
            head + cast + "a = v[:r]\n    return a.to(x.dtype), (u[:, :r] * s[:r]).to(x.dtype), r\n",
            head + cast + back + "a = v[:r]\n    return a, u[:, :r] * s[:r], r\n"])
        for behind in ("x = v[:r]", "if r:\n        return s", "print(s)"):  # x has another dtype then, or more than one line returns
            self.assertEqual(len(self.ways(text.replace("a = v[:r]", behind), 3, "cast and back", **more)), 1)
        for floats in ([], [True], [True, True, True]):  # what the op gave is not known, or is no pair
            self.refuse("no value that could be cast back", "import torch\na, b = x.sort(0)\n", 2, "cast and back", op="sort",
                        operand="self", arguments=["self"], gives_floats=floats)

    def test_floats_alone(self):
        more = {"op": "_to_copy", "operand": "floats alone", "arguments": ["self"], "dtype": "float16"}
        for before, after in (
                ("a = map(lambda t: t.half(), a)", "a = map(lambda t: t.half() if t.is_floating_point() else t, a)"),
                ("a = [t.half() if t is not None else t for t in a]", "a = [t.half() if t is not None and t.is_floating_point() else t for t in a]"),
                ("b = {k: v.to(dev, torch.half) for k, v in b.items()}",
                 "b = {k: v.to(dev, torch.half) if v.is_floating_point() else v.to(dev) for k, v in b.items()}"),
                ("b = [f(t.to(dtype)) for t in b]", "b = [f((t.to(dtype) if t.is_floating_point() else t)) for t in b]")):
            self.check(before, after, 2, "rewrite", **more)
        self.refuse("one tensor after the other", "import torch\na = f(a)\n", 2, "rewrite", **more)

    def test_a_fault_of_ours_leaves_the_other_changes(self):
        self.path.write_text("import torch\ny = F.mse_loss(x, w)\n")
        question = {"cures": [self.cure(2, "cast operand")], "results": {}, "parameters": {}, **TABLES}
        self.assertIn("ways", write_cure.answer(question))
        question["cures"][0]["calls"] = None
        self.assertRegex(write_cure.answer(question)["reason"], "a fault of dtypecheck's: TypeError")

    def test_a_module_by_another_name(self):
        more = {"op": "conv2d", "operand": "input", "arguments": ["input"], "module": "net.0"}
        self.check("y = f(self._model(x), 1)", "y = f(self._model(x.to(torch.float32)), 1)", 2, "cast module input", extent=[7, 2, 21], **more)
        self.refuse("were not found", "import torch\ny = f(self._model(x), 1)\n", 2, "cast module input", **more)  # which call it was
        for name, first in (("solver", "next(solver.parameters())"), ("self.net", "next(self.net.parameters())"),
                            ("self.encode", "next(self.parameters())"), ("net.encode", "next(net.parameters())")):
            head = "import torch\nclass A:\n    def encode(self, x):\n"
            way = self.ways(head + f"        return {name}(x)\n", 4, "cast module input", meets_parameter=True, extent=[16, 4, 19 + len(name)], **more)[0]
            self.assertEqual(way, head + f"        return {name}(x.to({first}.dtype))\n")

    # ---- where a tensor is made or bound

    def test_what_a_line_makes(self):
        made = dict(operand="", arguments=[])
        self.check("m = torch.ones(3)", "m = torch.ones(3, dtype=torch.float32)", 2, "cast result", op="ones", **made)
        self.check("m = torch.from_numpy(a)", "m = torch.from_numpy(a).to(torch.float32)", 2, "cast result",
                   op="python::torch.from_numpy", **made)
        self.check("m = torch.tensor(a)", "m = torch.tensor(a, dtype=torch.float32)", 2, "cast result", op="empty", **made)
        self.check("m = a * b", "m = (a * b).to(torch.float32)", 2, "cast result", op="mul", **made)
        self.check("m = Net().half()", "m = Net().float()", 2, "cast result", op="_to_copy", **made)
        self.check("m = p.to(dtype, copy=True)", "m = p.to(torch.float32, copy=True)", 2, "cast result", op="_to_copy", **made)
        self.check("m = p.to(there)", "m = p.to(there).to(torch.float32)", 2, "cast result", op="_to_copy", **made)
        self.refuse("gives no value", "import torch\nf(a)\n", 2, "cast result", op="ones", **made)
        self.refuse("does not call what makes it", "import torch\nm = nn.Linear(2, 2)\n", 2, "cast result", op="empty", **made)
        self.check("x = torch.load(p)['x']", "x = torch.load(p)['x'].to(torch.float32)", 2, "cast result", op="empty", **made)
        self.refuse("does not call what makes it", "import torch\nstate = torch.load(p)\n", 2, "cast result", op="empty", **made)

    def test_what_gives_a_factory_its_shape(self):
        """It may have the dtype that is wanted; the constant comes behind it."""
        def made(text):
            return self.ways(f"import torch\ny = {text}\n", 2, "cast result", op="empty", operand="", arguments=())
        self.assertEqual([way.split("y = ")[1].strip() for way in made("torch.empty(x.shape, device=x.device)")],
                         [f"torch.empty(x.shape, device=x.device, dtype={dtype})" for dtype in ("x.dtype", "torch.float32")])
        self.assertEqual([way.split("y = ")[1].strip() for way in made("torch.empty(p.size(), dtype=d or p.dtype)")],
                         [f"torch.empty(p.size(), dtype=d or {dtype})" for dtype in ("torch.float32",)])
        self.assertEqual(len(made("torch.empty(2, device=where)")), 1)
        text = "import torch\nwhere = next(net.parameters()).{}\ny = torch.empty(2, device=where)\n"
        self.assertIn("device=where, dtype=next(net.parameters()).dtype)", self.ways(text.format("device"), 3, "cast result", op="empty", operand="",
                                                                                    arguments=[], dtype="float32")[0])
        self.assertEqual(len(self.ways(text.format("place"), 3, "cast result", op="empty", operand="", arguments=[], dtype="float32")), 1)

    def test_a_buffer_that_is_bound_anew(self):
        ways = self.ways("import torch\nself.m = self.m * 2\n", 2, "cast result", op="mul", operand="", arguments=[])
        self.assertIn("import torch\nself.m.copy_(self.m * 2)\n", ways)

    def test_a_variable_for_all_that_read_it(self):
        more = dict(others=[])
        self.check("x = f()\ny = F.mse_loss(a, x)\nz = x", "x = f()\nx = x.to(torch.float32)\ny = F.mse_loss(a, x)\nz = x", 3,
                   "cast variable", **more)
        self.check("def f(x):\n    y = F.mse_loss(a, x)\n    return x",
                   "def f(x):\n    x = x.to(torch.float32)\n    y = F.mse_loss(a, x)\n    return x", 3, "cast variable")
        self.check('def f(x):\n    """Doc."""\n    y = F.mse_loss(a, x)\n    return x',
                   'def f(x):\n    """Doc."""\n    x = x.to(torch.float32)\n    y = F.mse_loss(a, x)\n    return x', 4, "cast variable")
        self.refuse("nothing else reads x", "import torch\nx = f()\ny = F.mse_loss(a, x)\n", 3, "cast variable")
        self.refuse("no one statement above", "import torch\nif a:\n    x = f()\ny = F.mse_loss(a, x)\nz = x\n", 4, "cast variable")

    def test_all_that_is_drawn(self):
        drawn = dict(dtype="float32", drawn=["float16", "float16"])
        both = "x, y = x.to(torch.float32), y.to(torch.float32)"
        self.check("for x, y in loader:\n    F.mse_loss(x, y)", f"for x, y in loader:\n    {both}\n    F.mse_loss(x, y)", 3,
                   "cast drawn", **drawn)
        self.check("for b in loader:\n    F.mse_loss(a, b['y'])", "for b in loader:\n    b = {k: v.to(torch.float32) for k, v in "
                   "b.items()}\n    F.mse_loss(a, b['y'])", 3, "cast drawn", **drawn)
        text = "def forward(x):\n    return net(x)\nfor x, y in loader:\n    forward(x)"
        self.check(text, text.replace("loader:", f"loader:\n    {both}"), 4, "cast drawn", origin=[4, "<module>"], **drawn)
        self.refuse("which of what is drawn", f"import torch\n{text}\n", 4, "cast drawn", origin=[4, ""], drawn=["float16"])
        self.refuse("which others", "import torch\nfor x, y in loader:\n    F.mse_loss(x, y)\n", 3, "cast drawn",
                    drawn=["int64", "float16"])
        self.refuse("shares its line", "import torch\nfor x, y in loader: F.mse_loss(x, y)\n", 2, "cast drawn", **drawn)

    # ---- parameters

    def parameters(self, before, after, operand="unet", line=2, **more):
        self.check(before, after, line, "cast parameters", operand=operand, **more)

    def test_the_line_that_makes_a_model(self):
        for before, after in (("U.load(a, torch_dtype=dt)", "U.load(a, torch_dtype=torch.float32)"),
                              ("U.load(a, dtype='float16')", "U.load(a, dtype=\"float32\")"),
                              ("U(a).half()", "U(a)"), ("U(a)", "U(a).to(torch.float32)"), ("U(a).to(dtype)", "U(a)"), 
                              ("load(a).to(dtype)", "load(a).to(torch.float32)"), ("U(a).to(d, dtype).eval()", "U(a).to(d).eval()"),
                              ("U(a).to(dev, torch.float16)", "U(a).to(dev)"),
                              ("nn.CrossEntropyLoss(weight=w)", "nn.CrossEntropyLoss(weight=w.to(torch.float32))")):
            self.parameters(f"unet = {before}", f"unet = {after}")
        self.parameters("self.gate = nn.Linear(2, 2)", "self.gate = nn.Linear(2, 2).to(torch.float32)", operand="net.gate")

    def test_a_layer_of_what_is_loaded(self):
        self.parameters("unet = U.load(a, dtype=dt)", "unet = U.load(a, dtype=dt)\nunet.out[0].to(dtype=torch.float32)",
                        operand="unet.out.0")

    def test_a_cast_of_a_module_by_another_name(self):
        statement = "encoder_one.to(device, dtype={})"
        self.check(statement.format("weight_dtype"), statement.format("torch.float32"), 2, "cast parameters", operand="text_encoder")
        self.refuse("makes or uses", "import torch\ny = encoder_one.to(device, dtype=weight_dtype)\n", 2, "cast parameters",
                    operand="text_encoder")

    # ---- what is trained, in Float

    MASTERS = """\
import torch

def main(args):
    weight_dtype = torch.float32
    if args.mixed_precision == "bf16":
        weight_dtype = torch.bfloat16
    unet = load()
    {}
    optimizer = make(unet.parameters())
    optimizer.step()
"""

    def masters(self, between, **more):
        text = self.MASTERS.format(between.replace("\n", "\n    "))
        line = text[:text.index("optimizer.step()")].count("\n") + 1
        given = {"dtype": "float32", "operand": "unet", "op": "_foreach_addcdiv_", "arguments": ["self"], **more}
        return text, self.ways(text, line, "master weights", **given)

    def test_the_cast_that_the_script_has_for_another_dtype(self):
        test = 'if args.mixed_precision == "fp16":'
        for body in ("cast_training_params(unet)",
                     "for p in unet.parameters():\n        p.data = p.to(torch.float32)",
                     "for p in unet.parameters():\n        p.data = p.data.float()"):
            text, ways = self.masters(f"{test}\n    {body}")
            self.assertEqual(ways, [text.replace(test, "if weight_dtype != torch.float32:"),
                                    text.replace(test, 'if args.mixed_precision in ("fp16", "bf16"):')])
        for word, brain in (("float16", "bfloat16"), ("half", "bfloat16"), ("16-mixed", "bf16-mixed")):
            _, ways = self.masters(f'if args.mixed_precision == "{word}":\n    cast_training_params(unet)')
            self.assertIn(f'if args.mixed_precision in ("{word}", "{brain}"):', ways[1])
        other = 'if args.mixed_precision == "fp8":'
        self.assertIn(other, self.masters(f"{other}\n    cast_training_params(unet)")[1][0])
        for other in (f"{test}\n    unet.half()", f"{test}\n    p.data = p.half()",
                      f"{test}\n    cast_training_params(unet)\nelse:\n    pass"):
            text, ways = self.masters(other)
            self.assertIn(test, ways[0])

    def test_the_cast_that_the_script_has_and_that_ran_before_a_checkpoint_was_loaded(self):
        own = 'if args.mixed_precision == "fp16":\n    for p in unet.parameters():\n        p.data = p.to(torch.float32)\nload_lora(unet)'
        head = self.masters(own)[0].split("p.to(")[0]
        line, column = head.count("\n") + 1, len(head.rpartition("\n")[2])
        _, ways = self.masters(own, results=[[line, column + 1, line, column + 1 + len("p.to(torch.float32)"), "float32"]])
        self.assertEqual(len(ways), 1)
        self.assertIn("load_lora(unet)\n    for parameter in unet.parameters():", ways[0])

    def test_what_is_trained_is_cast_before_the_optimizer_is_made(self):
        text, ways = self.masters("pass")
        made = "    optimizer = make"
        loop = "    for parameter in unet.parameters():\n        if parameter.requires_grad:\n" \
               "            parameter.data = parameter.data.float()\n"
        self.assertEqual(ways, [text.replace(made, loop + made)])
        text, ways = self.masters("from diffusers.training_utils import cast_training_params")
        self.assertEqual(ways, [text.replace(made, f"    cast_training_params(unet, dtype=torch.float32)\n{made}")])
        listed = "params = [p for p in unet.parameters() if p.requires_grad]\n"
        text = "import torch\nimport peft\nunet = load()\n" + listed + "opt = AdamW(params)\nscaler.unscale_(opt)\n"
        way, = self.ways(text, 6, "master weights", dtype="float32", operand="unet", has_diffusers=True)
        self.assertEqual(way, text.replace(listed, "cast_training_params(unet, dtype=torch.float32)\n" + listed).replace(
            "peft\n", "peft\nfrom diffusers.training_utils import cast_training_params\n"))
        self.assertEqual(self.masters("pass", operand="net")[1], [self.masters("pass")[0].replace(made, loop + made)])
        listed = "self.own = [p for p in module.parameters() if p.requires_grad]\n"
        text = f"import torch\ndef make(self, module):\n    {listed}    self.opt = AdamW(self.own)\n    self.opt.step()\n"
        way, = self.ways(text, 5, "master weights", dtype="float32", operand="model")
        self.assertEqual(way, text.replace(f"    {listed}", loop.replace("unet", "module") + f"    {listed}"))
        with self.assertRaisesRegex(Unplaced, "model is no variable where self.opt is made"):
            self.ways(text.replace("module.parameters()", "all_of(module)"), 5, "master weights", dtype="float32", operand="model")
        with self.assertRaisesRegex(Unplaced, "what makes optimizer is 2 times"):
            self.masters("optimizer = other()")

    def test_all_models_that_are_trained(self):
        text = ("import torch\nunet, text = load()\na = list(unet.parameters())\nb = list(text.parameters())\nopt = AdamW(a + b)\n"
                "opt.step()\n")
        given = dict(dtype="float32", operand="unet", has_diffusers=True)
        way, = self.ways(text, 6, "master weights", trained=["unet", "text", "gone"], **given)
        self.assertIn("cast_training_params([unet, text], dtype=torch.float32)\na = list", way)
        way, = self.ways(text, 6, "master weights", trained=["unet", "text"], **{**given, "has_diffusers": False})
        self.assertIn("for parameter in (p for m in [unet, text] for p in m.parameters()):\n    if parameter.requires_grad:", way)
        way, = self.ways(text, 6, "master weights", trained=["unet"], **given)
        self.assertIn("cast_training_params(unet, dtype=torch.float32)\n", way)
        # Nobody froze the VAE, and the optimizer is not given it.
        text = "import torch\nunet, vae = load()\na = [p for p in unet.parameters()]\nopt = AdamW(a)\nopt.step()\n"
        way, = self.ways(text, 5, "master weights", trained=["unet", "vae"], **given)
        self.assertIn("cast_training_params(unet, dtype=torch.float32)\na = ", way)

    def test_a_model_that_was_loaded_is_cast_behind_that_or_before_its_optimizer_is_made(self):
        text = "import torch\nunet = make()\nunet.load_state_dict(state, assign=True)\nopt = AdamW(unet.parameters())\nopt.step()\n"
        cast = "unet.to(dtype=torch.float32)\n"
        given = dict(dtype="float32", operand="unet")
        self.assertEqual(self.ways(text, 3, "cast parameters", is_origin=True, **given), [text.replace("opt = ", cast + "opt = ")])
        self.assertEqual(self.ways(text, 5, "cast parameters", **given), [text.replace("opt = ", cast + "opt = ")])
        self.assertEqual(self.ways(text.replace("opt = ", "log()\nopt = "), 3, "cast parameters", is_origin=True, **given),
                         [text.replace("opt = ", cast + "log()\nopt = ")])
        # What a line reads is put into the model elsewhere, behind what makes and fills that.
        text = "import torch\nstate = torch.load(path)\nnet = make()\nnet.load_state_dict(state, assign=True)\nrun(net)\n"
        self.assertEqual(self.ways(text, 2, "cast parameters", is_origin=True, dtype="float32", operand="net.table.0"),
                         [text.replace("run(", "net.table[0].to(dtype=torch.float32)\nrun(")])
        self.assertIn("net = make()\nnet.table.to(dtype=torch.float32)\n",
                      self.ways(text.replace("net.load", "other.load"), 2, "cast parameters", is_origin=True, dtype="float32", operand="net.table")[0])
        text = "import torch\nunet = make()\nunet.load_state_dict(state, assign=True)\nopt = AdamW(unet.parameters())\nopt.step()\n"
        # The line that makes it has the dtype itself; one that only uses it needs the cast before.
        self.assertIn("unet = make().to(torch.float32)\n", self.ways(text, 2, "cast parameters", is_origin=True, **given)[0])
        self.assertIn("unet = make().to(torch.float32)\n", self.ways(text, 3, "cast parameters", **given)[0])

    def test_a_loader_that_takes_the_dtype_of_a_file(self):
        for before, after in (("AutoModel.from_pretrained(path)", "AutoModel.from_pretrained(path, dtype=torch.float32)"),
                              ("M.from_pretrained(\n  path, cache_dir=c)", "M.from_pretrained(\n  path, cache_dir=c, dtype=torch.float32)")):
            self.check(f"model = {before}", f"model = {after}", 2, "rewrite", operand="dtype left out", dtype="float32")
        self.refuse("the call is 2 times|the call", "import torch\nmodel = a.b\n", 2, "rewrite", operand="dtype left out", dtype="float32")

    def test_an_array_of_a_file_that_does_not_import_numpy(self):
        text = "import scipy\na = (f(a) * 32768).astype('int16')\n"
        for how, after in (("clipped", "(f(a) * 32768).clip(-32768, 32767).astype('int16')"), ("astype", "(f(a) * 32768).astype(\"float64\")")):
            way, = self.ways(text, 2, "rewrite", operand=how, op="numpy.astype", dtype="int16" if how == "clipped" else "float64")
            self.assertEqual(way, f"import scipy\na = {after}\n")

    def test_a_picture_that_stays_one(self):
        for before, after in (("a = a + noise", "a = np.clip(a.astype(np.int32) + noise, 0, 255).astype(np.uint8)"),
                              ("a = (a - b) + f(a)", "a = np.clip((a - b).astype(np.int32) + f(a), 0, 255).astype(np.uint8)")):
            self.check(f"import numpy as np\n{before}", f"import numpy as np\n{after}", 3, "rewrite", op="numpy.add", operand="clipped back",
                       dtype="uint8")
        self.refuse("no such operation", "import numpy as np\na = f(a)\n", 2, "rewrite", op="numpy.add", operand="clipped back", dtype="uint8")

    def test_the_use_of_a_model(self):
        self.parameters("if a:\n  y = unet(x)", "if a:\n  unet.to(dtype=torch.float32)\n  y = unet(x)", line=3)
        self.refuse("makes or uses unet", "import torch\ny = vae(x)\n", 2, "cast parameters", operand="unet")
        self.refuse("shares its line", "import torch\na = 1; y = unet(x)\n", 2, "cast parameters", operand="unet")

    # ---- autocast

    REGION = 'with torch.autocast("cpu", dtype=torch.bfloat16):'

    def test_a_region_that_takes_in_more(self):
        text = ("import torch\nfor i in r:\n    with torch.autocast('cpu'):\n        y = f(x)\n    # why\n\n    if y:\n"
                "        z = '''\nz'''\n        w = g(y)\n    h(w)\n")
        self.assertEqual(self.ways(text, 10, "move autocast")[0], text.replace("    # why", "        # why").replace(
            "    if y", "        if y").replace("        z", "            z").replace("        w", "            w"))
        self.refuse("no autocast block", text, 4, "move autocast")
        self.refuse("no autocast block", "with a:\n    x\ny\n", 3, "move autocast")
        self.refuse("in one line", "with autocast(): x\ny\n", 2, "move autocast")
        self.refuse("shares its line", "with autocast():\n  x\ny; z\n", 3, "move autocast")

    def test_a_region_around_a_statement(self):
        more = dict(dtype="bfloat16")
        self.check("for i in r:\n    y = unet(a,\n             '''x\ny''')",
                   f"for i in r:\n    {self.REGION}\n        y = unet(a,\n                 '''x\ny''')", 3, "open autocast", **more)
        text = self.ways(b"import torch\r\nif a:\r\n\ty = f(a)\r\n", 3, "open autocast", **more)[0]
        self.assertEqual(text, f"import torch\r\nif a:\r\n\t{self.REGION}\r\n\t\ty = f(a)\r\n")
        self.refuse("head of a block", "import torch\nfor y in f(a):\n    pass\n", 2, "open autocast", **more)
        self.refuse("shares its line", "import torch\na = 1; y = f(a)\n", 2, "open autocast", **more)

    def test_the_region_of_what_the_framework_was_given(self):
        more = dict(dtype="bfloat16")
        text = "import torch\ndef main():\n    accelerator = Accelerator()\n    unet = f()\n    y = unet(x)\n"
        opened = text.replace("    y = unet(x)", "    {}\n        y = unet(x)")
        self.assertEqual(self.ways(text, 5, "open autocast", **more),
                         [opened.format("with accelerator.autocast():"), opened.format(self.REGION)])
        elsewhere = text.replace("    unet = f()\n", "def other():\n")
        self.assertEqual(len(self.ways(elsewhere, 5, "open autocast", **more)), 1)

    def test_the_region_in_the_script_s_own_dtype(self):
        text = ("import torch\nclass Trainer:\n    def step(self, x):\n        x = x.to(self.dtype)\n        y = self.net(x)\n")
        opened = text.replace("        y", "        with torch.autocast(\"cpu\", dtype={}):\n            y")
        for ran, wanted in (("bfloat16", ["self.dtype", "torch.bfloat16"]), ("float16", ["torch.bfloat16"])):
            ways = self.ways(text, 5, "open autocast", dtype="bfloat16", results=[[4, 13, 4, 29, ran]])
            self.assertEqual(ways, [opened.format(dtype) for dtype in wanted])

    def test_the_region_that_ran_before_again(self):
        text = ("import torch\ndef loss_of(x):\n    return net(x)\n\ndef step(x):\n    y = 2\n    return loss_of(x)\n\n"
                "for x in r:\n    with accelerator.autocast():\n        loss = step(x)\n{}\n")
        last, more = 'print("loss", step(x))', dict(operand="region again", region=10)
        self.assertEqual(self.ways(text.format(last), 3, "rewrite", **more),
                         [text.format("with accelerator.autocast():\n    " + last)])
        own = "import torch\nwith autocast():\n    y = net(x)\nz = net(x)\n"
        self.assertEqual(self.ways(own, 4, "rewrite", **dict(more, region=2)),
                         [own.replace("z = net(x)", "with autocast():\n    z = net(x)")])
        self.refuse("no statement outside", text.format("pass"), 3, "rewrite", **more)
        self.refuse("head of a block", text.format("for y in step(x):\n    pass"), 3, "rewrite", **more)
        self.refuse("the region is not", text.format(last), 3, "rewrite", **dict(more, region=11))
        # The model's file has no region: the line that called it first is in the region itself.
        inside = "import torch\ndef sample(x):\n    return net(x)\nwith autocast():\n    y = net(x)\nz = sample(x)\n"
        self.assertEqual(self.ways(inside, 5, "rewrite", **dict(more, region=4, module="net.fc")),
                         [inside.replace("    return net(x)", "    with autocast():\n        return net(x)")])
        self.refuse("no statement outside", inside, 5, "rewrite", **dict(more, region=4, module="other.fc"))

    def test_one_region_around_neighbours(self):
        self.path.write_text("import torch\na = f(x)\nb = g(a)\nc\n")
        cures = [self.cure(line, "open autocast", dtype="bfloat16") for line in (2, 3)]
        way, = write_cure.write({"cures": cures, **TABLES})["ways"]
        self.assertEqual(applied(self.path.read_bytes().decode(), way["edits"]), f"import torch\n{self.REGION}\n    a = f(x)\n    b = g(a)\nc\n")

    def test_the_line_where_autocast_is_off(self):
        text = "import torch\nimport torch.nn.functional as F\nclass A:\n    def forward(self, q, k, n):\n        y = q @ (k.mT @ F.gelu(q).sum(n))\n"
        found = self.ways(text, 5, "rewrite", operand="autocast left", dtype="float32")
        self.assertEqual(found[0].split("\n", 4)[4],
                         "        with torch.autocast(\"cpu\", enabled=False):\n            y = q.float() @ (k.mT.float() @ F.gelu(q.float()).sum(n))\n")
        self.path.write_text("import torch\nc = a @ b\nd = c @ b\n")
        cures = [self.cure(line, "rewrite", operand="autocast left", dtype="float32") for line in (2, 3)]
        way, = write_cure.write({"cures": cures, **TABLES})["ways"]
        self.assertEqual(applied(self.path.read_bytes().decode(), way["edits"]), "import torch\nwith torch.autocast(\"cpu\", enabled=False):\n"
                         "    c = a.float() @ b.float()\n    d = c.float() @ b.float()\n")
        self.refuse("head of a block", "import torch\nfor y in q @ k:\n    pass\n", 2, "rewrite", operand="autocast left", dtype="float32")
        found = self.ways("import torch\ny = torch.matmul(w, x)\n", 2, "rewrite", operand="autocast off", dtype="float32", op="matmul")
        self.assertIn('with torch.autocast(w.device.type, enabled=False):\n    y = torch.matmul(w, x)\n', found[0])
        found = self.ways("import torch\ny = w * x.mT\n", 2, "rewrite", operand="autocast off", dtype="float32", op="mul")
        self.assertIn('with torch.autocast(w.device.type, enabled=False):\n    y = w * x.mT\n', found[0])

    # ---- settings and rewrites

    def test_a_cast_to_the_dtype_of_another_tensor(self):
        how = dict(operand="no dtype", dtype="float32", op="_to_copy")
        self.check("y = torch.stack(x).to(z[0])", "y = torch.stack(x).to(z[0].device)", 2, "rewrite", **how)
        self.check("y = torch.tensor(x, dtype=torch.int64)", "y = torch.tensor(x)", 2, "rewrite", **how)
        self.refuse("a dtype", "import torch\ny = x.to(torch.int64)\n", 2, "rewrite", **how)

    def test_a_parameter_that_is_cast(self):
        how = dict(operand="parameter cast", dtype="float32", op="_to_copy")
        self.check("p = nn.Parameter(a + b).to(torch.float32)", "p = nn.Parameter((a + b).to(torch.float32))", 2, "rewrite", **how)
        self.check("p = nn.Parameter(data=x.sum(\n    1)\n).float()", "p = nn.Parameter(data=x.sum(\n    1).float()\n)", 2, "rewrite", **how)
        self.refuse("the cast of a Parameter", "import torch\np = nn.Parameter(x.float())\n", 2, "rewrite", **how)
        self.refuse("what the Parameter is made of", "import torch\np = nn.Parameter(*x).float()\n", 2, "rewrite", **how)

    def test_in_place(self):
        """A new tensor is read in place of the written one, or nobody sees what was computed."""
        how = dict(operand="not in place", op="div_", arguments=("self", "other"))
        for after in ("print(a)", "def f():\n    return a"):
            text = "import torch\na = g()\na /= b + 1\n"
            self.assertIn("a = a / (b + 1)\n", self.ways(text + after + "\n", 3, "rewrite", **how)[0])
        loop = "import torch\nfor x in loader:\n    x /= 255\n"
        self.assertIn("x = x / 255\n", self.ways(loop + "    net(x)\n", 3, "rewrite", **how)[0])
        for end in ("", "    x.add_(1)\n"):
            self.refuse("is not read behind the line", loop + end, 3, "rewrite", **how)

    def test_counters_among_averages(self):
        how = dict(operand="floating alone", op="mul_", arguments=("self", "other"))
        for line, more in (("v.mul_(d)", "v.add_(p)"), ("v.mul_(d).add_(p)", "n += 1"), ("v *= d", "p.mul_(2)")):
            text = f"import torch\ndef step(self):\n    for p, v in zip(self.a, self.b):\n        {line}\n        {more}\n"
            self.assertEqual(self.ways(text, 4, "rewrite", **how)[0].splitlines()[3:],
                             ["        if not v.is_floating_point():", "            continue", f"        {line}", f"        {more}"])
        for loop, more in (("for k in self.keys", "n += 1"), ("for v in self.b", "out.append(v)"), ("while True", "v.add_(1)")):
            self.refuse("no loop over tensors", f"import torch\n{loop}:\n    v.mul_(d)\n    {more}\n", 3, "rewrite", **how)

    def test_a_keyword(self):
        setting = dict(operand='Accelerator(mixed_precision="bf16")')
        for before, after in (("mixed_precision='fp16'", 'mixed_precision="bf16"'), ("", 'mixed_precision="bf16"'),
                              ("\n    x,\n", '\n    x, mixed_precision="bf16",\n')):
            self.check(f"a = Accelerator({before})", f"a = Accelerator({after})", 2, "setting", **setting)
        self.refuse("is not in", "import torch\na = f()\n", 2, "setting", **setting)
        self.refuse("no edit is known", "a = Accelerator()\n", 1, "setting", operand="--mixed_precision bf16")
        self.refuse("says so already", "a = A(m='b')\n", 1, "setting", operand="A(m='b')")

    def test_a_layer_that_is_computed_in_float(self):
        given = dict(op="addmm", operand="linear in Float", arguments=["self", "mat1", "mat2"], module="net.fc", module_class="Linear")
        text = "import torch\nclass Net:\n  def forward(self, x):\n    return self.fc(x.to(self.fc.weight.dtype))\n"
        for parameters, bias in (({"net.fc.weight": "float16", "net.fc.bias": "float16"}, ", self.fc.bias.float()"), ({"net.fc.weight": "float16"}, "")):
            way, = self.ways(text, 4, "rewrite", parameters=parameters, **given)
            self.assertIn(f"return torch.nn.functional.linear(x.float(), self.fc.weight.float(){bias})\n", way)
        for named in ("import torch.nn.functional as F", "from torch.nn import functional as F"):
            way, = self.ways(f"{named}\n{text}", 5, "rewrite", **given)
            self.assertIn("return F.linear(x.float(), self.fc.weight.float())", way)
        way, = self.ways(f"import torchvision.transforms.functional as F\n{text}", 5, "rewrite", **given)
        self.assertIn("return torch.nn.functional.linear(", way)
        self.refuse("calls no layer by its name", "import torch\ny = nets[0](x)\n", 2, "rewrite", **given)

    def test_a_step_that_goes_to_a_copy(self):
        for made in ("weight = p.data.float()", "weight = p\n  if low:\n    weight = weight.float()"):
            text = f"import torch\ndef step(p, update):\n  {made}\n  weight.add_(-update)\n  return p\n"
            way, = self.ways(text, text.count("\n") - 1, "rewrite", op="add_", operand="copied back", arguments=["self", "other"])
            source = "p.data" if "data" in made else "p"
            self.assertEqual(way, text.replace("(-update)\n", f"(-update)\n  {source}.copy_(weight)\n"))
        self.refuse("what weight is a copy of", "import torch\nweight.add_(-update)\n", 2, "rewrite", op="add_", operand="copied back")

    def test_a_region_left_by_a_model(self):
        text = "import torch\nclass Pipe:\n  def encode(self, x):\n    z = self.vae.encode(x).mode() * self.vae.config.scale\n    return z\n"
        given = dict(op="conv2d", operand="autocast left", arguments=["input", "weight"], module="vae.encoder.conv", module_class="Conv2d")
        way = self.ways(text, 4, "rewrite", meets_parameter=True, **given)[-1]
        self.assertIn('    with torch.autocast("cpu", enabled=False):\n        z = self.vae.encode(x.to(self.vae.dtype)).mode()', way)

    def test_rewrites(self):
        for how, op, before, after, more in (
                ("not in place", "sqrt_", "self.n.sqrt_()", "self.n = self.n.sqrt()", {}),
                ("whole numbers", "clamp_", "f(j.clamp_(0, gain[3] - 1), i.clamp_(0, max=gain[2] - 1))",
                 "f(j.clamp_(0, int(gain[3] - 1)), i.clamp_(0, max=int(gain[2] - 1)))", {}),
                ("^", "sub", "a = m - n", "a = m ^ n", {}), ("~", "sub", "a = 1 - m", "a = ~m", {}),
                ("number", "masked_fill", "s = s.masked_fill(m, -1e9)", "s = s.masked_fill(m, torch.finfo(s.dtype).min)",
                 {"value": -1e9, "dtype": "float16"}),
                ("number", "masked_fill", "s = s.masked_fill(m, -LARGE)", "s = s.masked_fill(m, torch.finfo(s.dtype).min)",
                 {"value": -1e20}),
                ("number", "fill_", "s[i, eos] = float(2**30)", "s[i, eos] = torch.finfo(s.dtype).max", {"value": 2.0 ** 30}),
                ("number", "fill_", "s[i, eos] = -(1 << 20)", "s[i, eos] = torch.finfo(s.dtype).min", {"value": -2.0 ** 20}),
                ("number", "fill_", "s[:, :, self.pad] = -LARGE", "s[:, :, self.pad] = torch.finfo(s.dtype).min", {"value": -1e20}),
                ("number", "masked_fill", "s = s.masked_fill(m, self.low)", "s = s.masked_fill(m, torch.finfo(s.dtype).min)",
                 {"value": -1e9, "dtype": "float16"}),
                ("epsilon", "add", "y = x / (x.sum(dim=1) + 1e-13)", "y = x / (x.sum(dim=1) + torch.finfo(x.dtype).tiny)", {}),
                ("epsilon", "add", "y = x / (s + self.eps)", "y = x / (s + max(self.eps, torch.finfo(s.dtype).tiny))", {}),
                ("gradient", "python::f", "p.grad = g", "p.grad = g.to(p.dtype)", {}),
                ("numpy", "python::f", "a = x.cpu().numpy()", "a = x.cpu().to(torch.float32).numpy()", {}),
                ("inverted", "python::f", "a = ~m", "a = ~m.to(torch.bool)", {"dtype": "bool"}),
                ("arguments", "python::f", "y = e.scale(x, w)", "y = e.scale(x.to(torch.float32), w).to(torch.float16)",
                 {"variables": {"x": "float16", "w": "float32"}}),
                ("dtype", "python::f", 'a = torch.zeros(n, dtype="float32")', "a = torch.zeros(n, dtype=torch.float32)", {}),
                ("no dtype", "python::torch.tensor", "a = torch.tensor([f(x) for x in n], dtype=torch.long, device=d)",
                 "a = torch.tensor([f(x) for x in n], device=d)", {}),
                ("dtype", "python::f", "a = torch.zeros(n, dtype=np.float16)", "a = torch.zeros(n, dtype=torch.float16)", {}),
                ("dtype", "python::f", "a = torch.zeros(n, dtype=name)", "a = torch.zeros(n, dtype=getattr(torch, name))", {}),
                ("asked", "python::f", "torch.set_default_dtype(torch.half)", "torch.set_default_dtype(torch.float32)", {}),
                ("asked", "python::f", 'f = Fabric(precision="16-true")', 'f = Fabric(precision="bf16-mixed")', {}),
                ("asked", "python::f", "m = load(p, autocast_adapter_dtype=False)", "m = load(p, autocast_adapter_dtype=True)", {}),
                ("asked", "python::f", "m = load(p).half()", "m = load(p).float()", {}),
                ("region dtype", "mm", "with torch.autocast('cpu'):\n    f()", "with torch.autocast('cpu', dtype=torch.float32):\n    f()", {}),
                ("scaler", "python::f", "a.scaler.step(o)", "a.scaler and a.scaler.step(o)", {}),
                ("scaler", "python::f", "s = a.scaler.get_scale()", "s = (a.scaler.get_scale() if a.scaler is not None else 1.0)", {})):
            with self.subTest(how=how, before=before):
                calls = [{"op": op, "operand": "", "arguments": []}]
                self.check(before, after, 2, "rewrite", **dict(more, operand=how, calls=calls))
        text = "import torch\nclass N(Module):\n    def __init__(self):\n        self.t = f(2)\n    def forward(self, x):\n        return x * self.t\n"
        held = dict(operand="buffer", calls=[{"op": "mul", "operand": "other", "arguments": ["self", "other"]}])
        self.assertEqual(self.ways(text, 6, "rewrite", **held),
                         [text.replace("self.t = f(2)", 'self.register_buffer("t", f(2), persistent=False)')])
        self.assertEqual(self.ways(text, 4, "rewrite", operand="buffer"), self.ways(text, 6, "rewrite", **held))
        for other in (text.replace("__init__", "setup"), text.replace("x * self.t", "x * t"), text.replace("self.t = f(2)", "pass")):
            self.refuse("no attribute", other, 6, "rewrite", **held)
        self.refuse("no edit is known", "import torch\nx\n", 2, "rewrite", operand="pray")
        self.refuse("may write", "import torch\ne.scale_(x)\n", 2, "rewrite", operand="arguments", variables={"x": "float16"})
        self.refuse("what asks for 16 bits", "import torch\nf(torch.half, torch.half)\n", 2, "rewrite", operand="asked")
        self.refuse("no dtype fp32", 'import torch\na = torch.zeros(n, dtype="fp32")\n', 2, "rewrite", operand="dtype")
        self.refuse("sets no gradient", "import torch\nx = y\n", 2, "rewrite", operand="gradient")

    def test_a_buffer_that_keeps_its_dtype(self):
        text = ("import torch\nclass N(Module):\n    def __init__(self):\n        self.register_buffer(\"t\", f(2))\n"
                "        self.register_buffer(\"u\", f(3))\n    def forward(self, x):\n        return x * self.t\n")
        kept = text.replace("    def forward", "\n    def _apply(self, fn, *args, **kwargs):\n        t = self.t  # keeps its dtype\n"
                            "        super()._apply(fn, *args, **kwargs)\n        self.t = t.to(self.t.device)\n        return self\n"
                            "    def forward")
        self.assertEqual(self.ways(text, 7, "rewrite", operand="buffer kept"), [kept])
        for other in (text.replace("self.t\n", "x\n"), text.replace("self.t\n", "self.t * self.u\n"),
                      "import torch\n\n\n\n\n\ny = x * self.t\n"):
            self.refuse("the buffer is", other, 7, "rewrite", operand="buffer kept")
        own = text + "    def _apply(self, fn):\n        return self\n"
        self.refuse("of its own", own, 7, "rewrite", operand="buffer kept")

    def test_an_epsilon_beside_what_was_cast(self):
        self.refuse("no name for what the epsilon is added to", "import torch\ny = x / (x.half().sum() + 1e-13)\n", 2, "rewrite",
                    operand="epsilon", op="add", dtype="float16")

    def test_numpy_of_what_may_be_integers(self):
        given = dict(operand="numpy", op="python::f")
        plain, guarded = self.ways("import torch\na = x.detach().cpu().numpy()\n", 2, "rewrite", **given)
        self.assertIn("a = x.detach().cpu().to(torch.float32).numpy()", plain)
        self.assertIn("a = (x.float() if x.dtype == torch.bfloat16 else x).detach().cpu().numpy()", guarded)
        self.assertEqual(len(self.ways("import torch\na = f(x).numpy()\n", 2, "rewrite", **given)), 1)  # called once

    def test_a_scaler(self):
        text = ("import torch\nopt = AdamW(net.parameters())\ncosine = Cosine(opt)\nfor x in r:\n    loss = f(x)\n"
                "    loss.backward()\n    clip_grad_norm_(p, 1)\n    opt.step()\n    cosine.step()\n")
        way, = self.ways(text, 6, "rewrite", operand="scaled")
        self.assertEqual(way, text.replace("for x", 'scaler = torch.amp.GradScaler("cpu")\nfor x').replace(
            "loss.backward", "scaler.scale(loss).backward").replace("    clip", "    scaler.unscale_(opt)\n    clip").replace(
            "opt.step()", "scaler.step(opt)\n    scaler.update()"))
        off = text.replace("import torch", "s = GradScaler(enabled=amp)")
        self.assertEqual(self.ways(off, 6, "rewrite", operand="scaled"), [off.replace("enabled=amp", "enabled=True")])
        self.refuse("has a scaler already", text.replace("import torch", "s = GradScaler()"), 6, "rewrite", operand="scaled")
        self.refuse("the optimizer's step is not", text.replace(".step()", ".zero_grad()"), 6, "rewrite", operand="scaled")
        text = text.replace("opt.step()", "s.step(opt)")
        self.assertEqual(self.ways(text, 7, "rewrite", operand="unscale"), [text.replace("    clip", "    s.unscale_(opt)\n    clip")])
        self.refuse("names the two", text + "    t.step(opt)\n", 7, "rewrite", operand="unscale")
        own = text.replace("    clip", "    for p in net.parameters():\n        if p.grad is not None:\n            clip")
        self.assertEqual(self.ways(own, 9, "rewrite", operand="unscale"), [own.replace("    for p", "    s.unscale_(opt)\n    for p")])

    def test_a_module_is_lowered_again(self):
        text = "import torch\ndef f(self, z):\n    {}if low:\n        self.vae.float()\n    y = self.vae(z)\n    return y\n"
        more = dict(operand="lowered again")
        kept = "was = self.vae.dtype\n    "
        self.assertEqual(self.ways(text.format(kept), 5, "rewrite", **more),
                         [text.format(kept).replace("    return", "    self.vae.to(was)\n    return")])
        self.assertEqual(self.ways(text.format(""), 4, "rewrite", **more),
                         [text.format("dtype_before = next(self.vae.parameters()).dtype\n    ").replace(
                             "    return", "    self.vae.to(dtype_before)\n    return")])
        self.refuse("last returns", text.format("").replace("return y", "return self.vae(y)"), 4, "rewrite", **more)
        self.refuse("in no function", "vae.float()\n", 1, "rewrite", **more)

    def test_a_fake_kernel(self):
        text = ('import torch\n@torch.library.custom_op("demo::scale", mutates_args=())\ndef scale(x: Tensor, w: Tensor) -> Tensor:\n'
                "    return x * w\n\n@{}\ndef _(a, w):\n    return torch.empty(a.shape, dtype={})\ny = scale(x, w)\n")
        calls = [{"op": "demo::scale", "operand": "x", "arguments": ["x", "w"]}]
        for decorator in ("scale.register_fake", 'torch.library.register_fake("demo::scale")'):
            self.assertEqual(self.ways(text.format(decorator, "torch.half"), 9, "rewrite", operand="fake kernel", calls=calls),
                             [text.format(decorator, "a.dtype")])
        self.refuse("the fake kernel of scale is not", text.format("other.register_fake", "d"), 9, "rewrite", operand="fake kernel",
                    calls=calls)
        self.refuse("says so already", text.format("scale.register_fake", "a.dtype"), 9, "rewrite", operand="fake kernel", calls=calls)

    def test_the_right_side_of_a_chain(self):
        for kind, more in (("cast parameters", dict(operand="net")), ("cast result", dict(operand="", op="_to_copy", arguments=[]))):
            self.check("net = net.to(device).half()", "net = net.to(device).float()", 2, kind, **more)
            self.check("net = net.half().to(device)", "net = net.float().to(device)", 2, kind, **more)

    # ---- several cures

    def of_several(self, text, *cures, base=()):
        self.path.write_text(text)
        return write_cure.write({"cures": list(cures), "base": list(base), **TABLES})["ways"][0]

    def test_two_files(self):
        text = "import torch\ny = F.mse_loss(a, x)\nz = F.mse_loss(a, x)\n"
        other = self.path.with_name("other.py")
        other.write_text(text)
        cast = self.cure(2, "cast operand")
        answer = self.of_several(text, cast, dict(cast, line=3), cast, dict(cast, path=str(other)))
        self.assertEqual([(pathlib.Path(edit["path"]).name, edit["line"], edit["new"]) for edit in answer["edits"]],
                         [("train.py", 2, ".to(torch.float32)"), ("train.py", 3, ".to(torch.float32)"), ("other.py", 2, ".to(torch.float32)")])

    def test_on_top_of_another_change(self):
        base = {"path": str(self.path), "shown": "train.py", "text": "import torch\n# new\ny = F.mse_loss(a, x)\n"}
        answer = self.of_several("import torch\ny = F.mse_loss(a, x)\n", self.cure(3, "cast operand"), base=[base])
        self.assertEqual(applied(base["text"], answer["edits"]), "import torch\n# new\ny = F.mse_loss(a, x.to(torch.float32))\n")

    def test_edits_that_overlap(self):
        one = self.cure(2, "rewrite", operand="^", calls=[{"op": "sub", "operand": "", "arguments": []}])
        with self.assertRaisesRegex(Unplaced, "two changes of the same code"):
            self.of_several("import torch\na = m - n\n", one, self.cure(2, "cast result", op="sub", operand=""),
                            dict(one, operand="~"))

    # ---- what a maintainer would not keep

    def count(self, what, text, *cure, **more):
        self.ways(text, *(cure or (2, "cast operand")), **more)
        return [demerits[what] for demerits in self.demerits]

    def test_a_dtype_written_down(self):
        text = "import torch\ny = F.mse_loss(a, x)\n"
        self.assertEqual(self.count("literals", text, others=["self"]), [0, 1])
        text = "import torch\nx = torch.ones(2, dtype=torch.half)\n"
        self.assertEqual(self.count("literals", text, 2, "cast result", op="ones", operand=""), [0])  # one stood there
        text = "class A:\n    def f(self):\n        x = torch.ones(2)\nclass B:\n    def f(self):\n        m.half()\n"
        self.assertEqual(self.count("low", "import torch\n" + text, 4, "cast result", op="ones", operand="", dtype="float16"), [1])
        for dtype, before, wanted in (("float16", "", 1), ("float32", "", 0), ("float16", "model.half()\n", 0)):
            text = f"import torch\n{before}x = torch.ones(2)\n"
            self.assertEqual(self.count("low", text, text.count("\n"), "cast result", op="ones", operand="", dtype=dtype), [wanted])

    def test_an_option_that_nothing_reads_any_more(self):
        text = "import torch\nd = f(args)\nx = torch.ones(2, dtype=d)\n"
        self.assertEqual(self.count("dead", text, 3, "cast result", op="ones", operand=""), [1])
        self.assertEqual(self.count("dead", "import torch\ny = F.mse_loss(a, x)\n"), [0])
        self.assertEqual(self.count("dead", text + "print(d)\n", 3, "cast result", op="ones", operand=""), [0])
        text = "import torch\nx = torch.ones(2, dtype=model.dtype)\n"
        self.assertEqual(self.count("dead", text, 2, "cast result", op="ones", operand=""), [0])
        text = "import torch\nx = torch.ones(2, dtype=args.d)\n"
        self.assertEqual(self.count("dead", text, 2, "cast result", op="ones", operand=""), [1])

    def test_a_cast_behind_a_cast(self):
        text = "import torch\nnet = Net().to(args.dtype)%s\n"
        cure = (2, "cast parameters")
        more = dict(op="linear", operand="net", module="net")
        self.assertEqual(self.count("doubled", text % "", *cure, **more), [0])  # it takes the other's place
        for made, wanted in (("U().half()", [1]), ("U()", [0])):
            text = f"import torch\nunet = {made}\nopt = AdamW(unet.parameters())\nopt.step()\n"
            self.assertEqual(self.count("doubled", text, 4, "master weights", op="add_", operand="unet", calls=[
                {"op": "add_", "operand": "self", "arguments": ["self"]}]), wanted)
        text = "import torch\nx = f().to(d.dtype)\ny = F.mse_loss(a, x)\nz = x\n"
        self.assertEqual(self.count("doubled", text, 3, "cast variable"), [1])
        self.assertEqual(self.count("doubled", text.replace(".to(d.dtype)", ""), 3, "cast variable"), [0])

    def test_a_cast_behind_what_is_computed_of_a_cast(self):
        self.assertEqual(self.count("doubled", "import torch\nn = x.mean().half()\n", 2, "cast operand", op="mean", operand="self",
                                    arguments=["self"]), [0])
        tree = ast.parse("x.half().cpu().float()\nx.half().mean().float()\n")
        self.assertEqual(sum(demerits.casts_in_row(n) for n in ast.walk(tree)), 1)  # the first alone

    def test_the_dtype_of_a_model_that_is_called_on_a_later_line(self):
        text = "import torch\ndef f(x, vae):\n    x = x.half()\n    return vae.encode(x) * vae.config.scale\n"
        calls = [{"op": "conv2d", "operand": "input", "arguments": ["input", "weight"]}]
        use = {"line": 4, "extent": [0, 0, 0], "others": [], "meets_parameter": True, "module": "vae.encoder.conv", "module_class": "Conv2d",
               "calls": calls}
        cure = dict(op="_to_copy", operand="", use=use)
        self.assertIn("x = x.to(vae.dtype)", self.ways(text, 3, "cast result", **cure)[0])
        plain = text.replace(" * vae.config.scale", "")  # of which nothing says that it has one
        self.assertNotIn("vae.dtype", self.ways(plain, 3, "cast result", **cure)[0])

    def test_what_a_result_meets_on_a_later_line(self):
        text = "import torch\ndef f(src):\n    x = torch.zeros(4)\n    return g(F.mse_loss(src, x))\n"
        calls = {name: [{"op": "mse_loss", "operand": name, "arguments": ["self", "target"]}] for name in ("self", "target")}
        use = {"line": 4, "extent": [0, 0, 0], "others": [calls["self"]], "module": "", "module_class": "", "calls": calls["target"]}
        cure = dict(op="zeros", operand="", use=use)
        self.assertIn("x = torch.zeros(4, dtype=src.dtype)", self.ways(text, 3, "cast result", **cure)[0])
        later = text.replace("f(src)", "f()").replace("    return", "    src = h()\n    return")  # src has no value yet
        self.assertIn("dtype=torch.float32", self.ways(later, 3, "cast result", **{**cure, "use": {**use, "line": 5}})[0])

    def test_what_a_result_meets_on_its_line(self):
        text = "import torch\ndef f(states, mask):\n    return states * mask.view(-1).float()\n"
        calls = {name: [{"op": "mul", "operand": name, "arguments": ["self", "other"]}] for name in ("self", "other")}
        use = {"line": 3, "extent": [0, 0, 0], "others": [calls["self"]], "module": "", "module_class": "", "calls": calls["other"]}
        cure = dict(op="_to_copy", operand="", dtype="bfloat16", use=use)
        self.assertIn("states * mask.view(-1).to(states.dtype)", self.ways(text, 3, "cast result", **cure)[0])
        self.assertNotIn("states.dtype", self.ways(text.replace("states,", ""), 3, "cast result", **cure)[0])

    def test_a_name_that_several_have_their_dtype_by(self):
        text = ("import torch\ndef table(self, n):\n    dtype = self.weight.dtype\n    steps = torch.arange(n, dtype=dtype)\n"
                "    return steps * torch.ones(4, dtype=dtype)\n")
        cure = dict(op="arange", operand="dtype named", arguments=())
        self.assertEqual(self.ways(text, 4, "rewrite", **cure), [text.replace("= self.weight.dtype", "= torch.float32")])
        for other in (text.replace("    dtype = ", "    self.dtype = "), text.replace("self, n", "self, n, dtype").replace("    dtype = self.weight.dtype\n", "\n"),
                      text.replace("n, dtype=dtype", "n, dtype=torch.half")):
            self.refuse("no name of the function's own", other, 4, "rewrite", **cure)

    def test_a_division_of_whole_numbers(self):
        self.check("torch.div(x, 4, out=y)", 'torch.div(x, 4, out=y, rounding_mode="floor")', 2, "rewrite", op="div", operand="floor")
        self.refuse("a call of div", "import torch\ntorch.fmod(x, 4, out=y)\n", 2, "rewrite", op="div", operand="floor")

    # ---- C++ of an extension

    HEAD = "at::Tensor pooled(at::Tensor rows, at::Tensor index, int64_t count) {\n"

    def in_cpp(self, text, line, kind, results=(), **cure):
        """The lines behind the head as each way changes them."""
        self.path.write_text(self.HEAD + text)
        cure = self.cure(line, kind, cpp="BFloat16", dtype="bfloat16", before="float32", **cure)
        ways = write_cure.write({"cures": [cure], "results": {cure.get("file"): results}, **TABLES})["ways"]
        return [applied(self.path.read_text(), way["edits"])[len(self.HEAD):] for way in ways]

    def test_a_factory_in_cpp_gets_the_options_of_what_it_meets(self):
        use = {"line": 3, "others": [[{"op": "index_add_", "operand": "source", "arguments": ["self", "index", "source"]}]]}
        meets = "  out.index_add_(0, index, rows);  // out.index_add_(1, x, y)\n"
        for before, after in (("at::zeros({count, rows.size(1)})", ["at::zeros({count, rows.size(1)}, rows.options())",
                                                                    "at::zeros({count, rows.size(1)}, at::kBFloat16)"]),
                              ("torch::zeros({count, 4}, torch::kFloat)", ["torch::zeros({count, 4}, rows.scalar_type())",
                                                                           "torch::zeros({count, 4}, torch::kBFloat16)"]),
                              ("torch::zeros({count}, at::dtype(at::kFloat32).device(rows.device()))",
                               ["torch::zeros({count}, at::dtype(rows.scalar_type()).device(rows.device()))",
                                "torch::zeros({count}, at::dtype(torch::kBFloat16).device(rows.device()))"]),
                              ("torch::zeros({count}, index.options())", ["torch::zeros({count}, index.options().dtype(rows.scalar_type()))",
                                                                          "torch::zeros({count}, index.options().dtype(torch::kBFloat16))"])):
            with self.subTest(before):
                found = self.in_cpp(f"  auto out = {before};\n{meets}", 2, "cast result", op="zeros", operand="", arguments=(), use=use)
                self.assertEqual(found, [f"  auto out = {one};\n{meets}" for one in after])
        # What it meets has no name before it is made.
        local = "  auto out = at::zeros({count});\n  out.index_add_(0, index, halved(rows));\n"
        found = self.in_cpp(local, 2, "cast result", op="zeros", operand="", arguments=(), use=use)
        self.assertEqual(found, [local.replace("{count}", "{count}, at::kBFloat16")])

    def test_options_in_cpp_that_have_a_name(self):
        text = ("  auto options = torch::TensorOptions().dtype(torch::kFloat).device(head->weight.device());\n"
                "  return {torch::zeros({count, 4}, options), torch::zeros({count, 4}, options)};\n")
        found = self.in_cpp(text, 3, "cast result", op="zeros", operand="", arguments=())
        self.assertEqual(found, [text.replace("torch::kFloat", one) for one in ("head->weight.scalar_type()", "torch::kBFloat16")])
        bare = text.replace(".dtype(torch::kFloat)", "")  # what the name stands for says none
        found = self.in_cpp(bare, 3, "cast result", op="zeros", operand="", arguments=())
        self.assertEqual(found, [bare.replace("4}, options)", "4}, options.dtype(torch::kBFloat16))")])

    def test_a_call_in_cpp_over_several_lines(self):
        text = "  auto grid = torch::full({3, count},\n      pad);\n  grid.add_(0.5);\n"
        found = self.in_cpp(text, 3, "cast result", op="full", operand="", arguments=())
        self.assertEqual(found, [text.replace("pad)", "pad, torch::kBFloat16)")])
        with self.assertRaisesRegex(Unplaced, "no call of full"):
            self.in_cpp(text, 4, "cast result", op="full", operand="", arguments=())

    def test_a_cast_in_what_makes_the_tensor_in_cpp(self):
        text = "  auto x = torch::tensor(xs, torch::kInt).reshape({n, 4}).to(device, torch::kBFloat16);\n"
        found = self.in_cpp(text, 2, "cast result", op="_to_copy", operand="self", arguments=())
        self.assertEqual(found, [text.replace("kInt", "kBFloat16")])
        with self.assertRaisesRegex(Unplaced, "no cast"):
            self.in_cpp("  auto x = f(xs).to(torch::kBFloat16);\n", 2, "cast result", op="_to_copy", operand="self", arguments=())

    def test_what_is_no_factory_in_cpp_is_cast(self):
        text = "  auto classes = torch::one_hot(index, count).to(device);\n"
        found = self.in_cpp(text, 2, "cast result", op="one_hot", operand="", arguments=())
        self.assertEqual(found, [text.replace("count)", "count).to(torch::kBFloat16)")])

    def test_a_number_by_name_behind_the_tensors_in_cpp(self):
        cure = {"op": "masked_fill_", "operand": "mask", "arguments": ("self", "mask")}
        text = "  auto legal = torch::masked_fill(rows, index, kPenalty);\n"
        self.assertEqual(self.in_cpp(text, 2, "cast operand", **cure), [text.replace("index,", "index.to(torch::kBFloat16),")])
        with self.assertRaisesRegex(Unplaced, "was not found"):
            self.in_cpp("  auto legal = torch::masked_fill(1, rows, index, kPenalty);\n", 2, "cast operand", **cure)

    def test_data_that_cpp_reads_as_another_type(self):
        cure = dict(kind="rewrite", op="data_ptr", operand="data read", arguments=())
        text = "  torch::Tensor sums = out.at(key).cpu();\n  auto all = sums.accessor<float, 2>();\n"
        self.assertEqual(self.in_cpp(text, 3, **cure), [text.replace("<float,", "<at::BFloat16,"), text.replace("cpu()", "cpu().to(torch::kFloat)")])
        text = "  auto sums = rows + 1;\n  use(sums.data_ptr<int64_t>());\n"
        self.assertEqual(self.in_cpp(text, 3, **cure)[1], text.replace("rows + 1", "(rows + 1).to(torch::kLong)"))
        self.assertEqual(len(self.in_cpp("  use(rows.data_ptr<float>());\n", 2, **cure)), 1)  # an argument
        for other in ("  use(rows.data_ptr());\n", "  use(rows.data_ptr<float>(), index.data_ptr<double>());\n"):
            with self.assertRaisesRegex(Unplaced, "reads the data of no tensor"):
                self.in_cpp(other, 2, **cure)

    def test_a_buffer_that_cpp_reads_as_another_type(self):
        cure = dict(kind="rewrite", op="clone", operand="buffer read", arguments=())
        text = "  std::vector<double> state(9);\n  auto t = torch::from_blob(state.data(), {9}%s).clone();\n"
        for given, meant in (("", "torch::kFloat"), (", torch::kHalf", "torch::kHalf"), (", torch::TensorOptions().dtype(torch::kFloat)", "torch::kFloat")):
            mended = text % (given.replace(meant, "torch::kDouble") or ", torch::kDouble")
            self.assertEqual(self.in_cpp(text % given, 3, **cure), [mended.replace(").clone()", f").to({meant}).clone()")])
        pointer = "  void f(const int* at) {\n  auto t = torch::from_blob(at, {9});\n"
        self.assertEqual(self.in_cpp(pointer, 3, **cure), [pointer.replace("{9})", "{9}, torch::kInt).to(torch::kFloat)")])
        for other, why in ((text % ", torch::kDouble", "as what it holds"), (text.replace("double", "Row") % "", "does not stand in the file"),
                           ("\n  auto t = torch::from_blob(state.data(), {9});\n", "does not stand"), ("\n  use(state);\n", "wraps no buffer")):
            with self.subTest(other), self.assertRaisesRegex(Unplaced, why):
                self.in_cpp(other, 3, **cure)

    def test_an_operand_in_cpp(self):
        cure = {"op": "addmm", "operand": "mat1", "arguments": ("self", "mat1", "mat2"), "others": ("mat2",)}
        text = "  return at::addmm(bias,  // one a column\n                   rows + 1, weights[0], 1.0, -1);\n"
        self.assertEqual(self.in_cpp(text, 2, "cast operand", **cure),
                         [text.replace("rows + 1", f"(rows + 1).to({dtype})") for dtype in ("weights[0].scalar_type()", "at::kBFloat16")])
        method = "  state->sums[0].add_(rows, alpha_of(index));\n"
        cure = {"op": "add_", "operand": "self", "arguments": ("self", "other")}
        with self.assertRaisesRegex(Unplaced, "not found"):  # three things that may be tensors
            self.in_cpp(method, 2, "cast operand", **cure)
        text = method.replace(", alpha_of(index)", "")
        self.assertEqual(self.in_cpp(text, 2, "cast operand", **cure), [text.replace("[0]", "[0].to(torch::kBFloat16)")])

    def test_what_a_scripted_module_is_given_in_cpp(self):
        text = "  module_.to(dtype_);\n  auto y = module_.forward({input}).toTensor();\n"
        cure = dict(op="conv2d", operand="input", arguments=("input", "weight"))
        self.assertEqual(self.in_cpp(text, 3, "cast operand", results=[[2, 0, 0, 0, "bfloat16"]], **cure),
                         [text.replace("{input}", f"{{input.to({dtype})}}") for dtype in ("dtype_", "torch::kBFloat16")])
        self.assertEqual(self.in_cpp(text, 3, "cast operand", results=[[2, 0, 0, 0, "float32"]], **cure),
                         [text.replace("{input}", "{input.to(torch::kBFloat16)}")])

    def test_an_operand_of_a_sign_in_cpp(self):
        text = "  auto s = matmul(q, k);\n  s = s + mask;\n"
        cure = dict(op="add", operand="other", arguments=("self", "other"))
        made = [[2, 0, 0, 0, "bfloat16"]]
        self.assertEqual(self.in_cpp(text, 3, "cast operand", results=made, **cure),
                         [text.replace("+ mask", f"+ mask.to({dtype})") for dtype in ("s.scalar_type()", "torch::kBFloat16")])
        for other in ("a * s + mask", "s + mask * 2", "s + mask + b"):
            with self.subTest(other), self.assertRaisesRegex(Unplaced, "not found on the line"):
                self.in_cpp(text.replace("s + mask", other), 3, "cast operand", **cure)

    def test_a_factory_beside_a_variable_in_cpp(self):
        text = "  auto y = f();\n}\nvoid f() {\n  auto x = patch(i) + pos;\n  auto mask = torch::zeros({8, 8});\n}\n"
        made = [[2, 0, 0, 0, "bfloat16"], [5, 0, 0, 0, "bfloat16"]]
        way = self.in_cpp(text, 6, "cast result", results=made, op="zeros", operand="", arguments=())
        self.assertEqual(way, [text.replace("8})", f"8}}, {dtype})") for dtype in ("x.options()", "torch::kBFloat16")])
        for other in ([[5, 0, 0, 0, "float32"]], [[2, 0, 0, 0, "bfloat16"]]):
            way = self.in_cpp(text, 6, "cast result", results=other, op="zeros", operand="", arguments=())
            self.assertEqual(way, [text.replace("8})", "8}, torch::kBFloat16)")])

    def test_a_layer_is_called_in_cpp(self):
        head = "  torch::nn::Conv2d conv{nullptr};\n  torch::nn::BatchNorm2d norm{nullptr};\n"
        text = head + "  x = torch::relu(norm->forward(conv->forward(x)));\n"
        arguments = ("input", "weight", "bias")
        for op, what in (("conv2d", "conv->forward(x"), ("batch_norm", "norm->forward(conv->forward(x)")):
            found = self.in_cpp(text, 4, "cast operand", op=op, operand="input", arguments=arguments)
            self.assertEqual(found, [text.replace(what, f"{what}.to(torch::kBFloat16)")])
        for other in ("x = other(norm->forward(x), conv->forward(x));", "x = unknown(also(x));", "x = y + z;"):
            with self.subTest(other), self.assertRaisesRegex(Unplaced, "not found on the line"):
                self.in_cpp(head + other, 4, "cast operand", op="linear", operand="input", arguments=arguments)
        with self.assertRaisesRegex(Unplaced, "not found on the line"):  # the weight is not what it is called with
            self.in_cpp(text, 4, "cast operand", op="conv2d", operand="weight", arguments=arguments)
        found = self.in_cpp(text, 4, "cast operand", op="conv2d", operand="input", arguments=arguments, meets_parameter=True)[0]
        self.assertEqual(found, text.replace("forward(x", "forward(x.to(conv->weight.scalar_type())"))
        made = "  auto fc = torch::nn::Linear(2, 1);\n  auto y = fc->forward(x);\n"
        found = self.in_cpp(made, 3, "cast operand", op="addmm", operand="mat1", arguments=("self", "mat1", "mat2"), meets_parameter=True)[0]
        self.assertEqual(found, made.replace("forward(x", "forward(x.to(fc->weight.scalar_type())"))
        state = "  auto [y, h] = lstm->forward(x, hidden);\n"
        found = self.in_cpp(state, 2, "cast operand", op="lstm", operand="input", arguments=("input", "hx"))
        self.assertEqual(found, [state.replace("(x", "(x.to(torch::kBFloat16)")])

    def test_a_cast_in_cpp_is_left_out_where_it_was_that_before(self):
        cure = dict(op="_to_copy", operand="", arguments=())
        for text, ways in (("  y = (a + b).to(torch::kHalf) * 2;\n", ["  y = (a + b) * 2;\n", "  y = (a + b).to(torch::kBFloat16) * 2;\n"]),
                           ("  model->to(torch::kDouble);\n", ["", "  model->to(torch::kBFloat16);\n"]),
                           ("  if (low) model->to(torch::kHalf);\n", ["  if (low) model->to(torch::kBFloat16);\n"]),
                           ("  y = x.to(device, torch::kHalf);\n", ["  y = x.to(device, torch::kBFloat16);\n"])):
            with self.subTest(text):
                self.assertEqual(self.in_cpp(text, 2, "cast result", was="bfloat16", **cure), ways)
                self.assertEqual(self.in_cpp(text, 2, "cast result", was="float32", **cure), ways[-1:])
        self.assertEqual(self.in_cpp("  model->to(torch::kDouble);\n", 2, "cast parameters", was="bfloat16", **cure)[0], "")
        for reason, text in (("no cast", "  y = x.to(device);\n"), ("several casts", "  y = x.to(at::kHalf) + z.to(at::kHalf);\n")):
            with self.assertRaisesRegex(Unplaced, reason):
                self.in_cpp(text, 2, "cast result", **cure)

    def test_an_operand_that_the_line_casts_in_cpp(self):
        text = "  auto loss = torch::nll_loss(y, t.to(torch::kFloat), /*weight=*/{}, torch::Reduction::Sum);\n"
        cure = dict(op="nll_loss", operand="target", arguments=("self", "target"))
        ways = [text.replace("t.to(torch::kFloat)", one) for one in ("t", "t.to(torch::kBFloat16)")]
        self.assertEqual(self.in_cpp(text, 2, "cast operand", was="bfloat16", **cure), ways)
        self.assertEqual(self.in_cpp(text, 2, "cast operand", **cure), ways[1:])

    def test_a_cast_in_cpp_to_what_has_a_name(self):
        text = "  averaged->to(weight_dtype);\n"
        ways = self.in_cpp(text, 2, "cast result", op="_to_copy", operand="")
        self.assertEqual(ways, [text.replace("weight_dtype", "torch::kBFloat16")])
        for line in ("  averaged->to(pick(8));\n", "  averaged->to(device, weight_dtype);\n"):
            with self.subTest(line), self.assertRaisesRegex(Unplaced, "no cast"):
                self.in_cpp(line, 2, "cast result", op="_to_copy", operand="")

    def test_no_place_in_cpp(self):
        for reason, text in (("no call of zeros", "  auto out = make(count);\n"), ("several calls", "  f(at::zeros({1}), at::zeros({2}));\n"),
                             ("not closed", "  auto out = at::zeros({1};\n"), ("no call of zeros", '  say("at::zeros({1})");\n')):
            with self.subTest(text), self.assertRaisesRegex(Unplaced, reason):
                self.in_cpp(text, 2, "cast result", op="zeros", operand="", arguments=())
        self.path.write_bytes(b"// \xe4\n")
        with self.assertRaisesRegex(Unplaced, "is not UTF-8"):
            write_cure.write({"cures": [self.cure(1, "cast result", cpp="Half")], **TABLES})

    # ---- arrays of NumPy's

    def in_numpy(self, text, line, kind, operand="self,other", op="subtract", dtype="float64", head="import numpy as np\n"):
        return self.ways(head + text, line, kind, op=f"python::numpy.{op}", operand=operand, arguments=("self", "other"), dtype=dtype,
                         before="uint8")[0].removeprefix(head)

    def test_arrays_where_they_come_into_the_function(self):
        text = "def psnr(a, b):\n    \"\"\"In dB.\"\"\"\n    return np.mean((a - b) ** 2)\n"
        cast = "    a = a.astype(np.float64)\n    b = b.astype(np.float64)\n"
        self.assertEqual(self.in_numpy(text, 4, "cast variable"), text.replace("    return", cast + "    return"))
        made = "a = read(p)\nb = a[0]\nc = a - b\n"
        self.assertEqual(self.in_numpy(made, 4, "cast variable"),
                         "a = read(p).astype(np.float64)\nb = a[0]\nb = b.astype(np.float64)\nc = a - b\n")
        self.assertEqual(self.in_numpy("def f(x):\n    x += 40\n", 3, "cast variable", "self", "add"),
                         "def f(x):\n    x = x.astype(np.float64)\n    x += 40\n")
        self.assertEqual(self.in_numpy("for a, b in pairs:\n    c = a - b\n", 3, "cast variable"),
                         "for a, b in pairs:\n    a = a.astype(np.float64)\n    b = b.astype(np.float64)\n    c = a - b\n")

    def test_an_array_at_its_operand(self):
        self.assertEqual(self.in_numpy("c = (x[0] + 1) - y\n", 2, "cast operand", "self"), "c = (x[0] + 1).astype(np.float64) - y\n")
        self.assertEqual(self.in_numpy("c = np.subtract(x, y)\n", 2, "cast operand", "self"), "c = np.subtract(x.astype(np.float64), y)\n")
        self.assertEqual(self.in_numpy("c = x ** 2\n", 2, "cast operand", "self", "square", "int64"), "c = x.astype(np.int64) ** 2\n")
        self.assertEqual(self.in_numpy("c = x - y\n", 3, "cast operand", "self", head="import torch\nimport cv2\n"),
                         'c = x.astype("float64") - y\n')
        self.assertEqual(self.in_numpy("c = x.astype(np.uint8) - y\n", 2, "cast operand", "self"),
                         "c = x.astype(np.uint8).astype(np.float64) - y\n")
        self.refuse("writes into", "import numpy as np\nx += y\n", 2, "cast operand", op="python::numpy.add", operand="self",
                    arguments=("self", "other"))

    def test_an_array_and_back_behind_a_clip(self):
        self.assertEqual(self.in_numpy("c = np.clip(x + 40, 0, 255)\n", 2, "cast and back", "self", "add", "int32"),
                         "c = np.clip(x.astype(np.int32) + 40, 0, 255).astype(np.uint8)\n")

    def test_a_cast_of_an_array(self):
        for before, after, how, dtype in (
                ("y = (x * 255).astype(np.uint8)", "y = np.clip(x * 255, 0, 255).astype(np.uint8)", "clipped", "uint8"),
                ("return f(x).astype(dtype=np.int16)", "return np.clip(f(x), -32768, 32767).astype(dtype=np.int16)", "clipped", "int16"),
                ("y = x.astype(np.float32)", "y = x.astype(np.float64)", "astype", "float64"),
                ("y = np.asarray(x, np.uint8)", "y = np.asarray(np.clip(x, 0, 255), np.uint8)", "clipped", "uint8"),
                ("y = np.asarray(x, dtype=np.uint8)", "y = np.asarray(x, dtype=np.int64)", "astype", "int64"),
                ("y = x.astype('float16', copy=False)", 'y = x.astype("float32", copy=False)', "astype", "float32")):
            with self.subTest(before):
                head = "import numpy as np\ndef g():\n    "
                op = "asarray" if "asarray" in before else "astype"
                self.assertEqual(self.in_numpy(before + "\n", 3, "rewrite", how, op, dtype, head), after + "\n")
        with self.assertRaisesRegex(Unplaced, "a variable gives the dtype"):
            self.in_numpy("y = x.astype(dtype)\n", 2, "rewrite", "astype", "astype", "float64")

    # ---- sources

    def test_bad_sources(self):
        self.refuse("is not UTF-8", b"x = '\xe4'\n", 1, "cast operand")
        self.refuse("cannot parse", b"x = (\n", 1, "cast operand")
        self.refuse("cannot parse", b"x = 1\0\n", 1, "cast operand")

    def test_a_form_feed_and_columns_in_bytes(self):
        first = self.ways("\f\nimport torch\nä = F.mse_loss('ä', a, x)\n", 3, "cast operand")[0]
        self.assertEqual(first, "\f\nimport torch\nä = F.mse_loss('ä', a, x.to(torch.float32))\n")

    # ---- notebooks

    CELL = "%time fit()\ny = F.mse_loss(a, x)\n"
    RAN = "get_ipython().run_line_magic('time', 'fit()')\ny = F.mse_loss(a, x)\n"

    def notebook(self, *cells, **layout):
        kinds = [{"cell_type": "code", "source": cell} for cell in cells]
        title = {"cell_type": "markdown", "source": ["y = F.mse_loss(a, x)\n"]}
        return json.dumps({"cells": [title, *kinds], "nbformat": 4}, **layout) + "\n"

    def patched_cell(self, text, ran):
        return applied(text, self.of_several(text, self.cure(2, "cast operand", cell=ran))["edits"])

    def test_the_cell_that_ran(self):
        changed = self.CELL.replace("x", "x.to(th.float32)")
        for layout in ({"indent": 1, "ensure_ascii": False}, {"indent": 4}, {}):
            cells = ["%env A=ä\nimport torch as th\n", "z = 1\n"]
            text = self.patched_cell(self.notebook(*cells, self.CELL, **layout), self.RAN)
            self.assertEqual(text, self.notebook(*cells, changed, **layout))
        lines = self.CELL.splitlines(keepends=True)
        text = self.patched_cell(self.notebook("import torch", lines), self.RAN)
        self.assertEqual(json.loads(text)["cells"][2]["source"], changed.replace("th.", "torch.").splitlines(keepends=True))

    def test_no_such_cell(self):
        for reason, text in (("no cell with what ran", self.notebook("y = f(x)\n", "a = 1\ny = f(x)\n")),
                             ("2 cells with what ran", self.notebook(self.CELL, self.CELL)),
                             ("is no notebook", "[1]"), ("is no notebook", "{")):
            with self.assertRaisesRegex(Unplaced, reason):
                self.patched_cell(text, self.RAN)


if __name__ == "__main__":
    unittest.main()
