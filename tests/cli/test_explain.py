"""dtypecheck explain: messages, tracebacks and logs, in the argument or on standard input, and what is none of them."""

import json
import os
import pathlib
import subprocess
import unittest

import tool

SCALAR = "RuntimeError: expected scalar type Half but found Float"
UNSCALE = "ValueError: Attempting to unscale FP16 gradients."
LAYER_NORM = "\"LayerNormKernelImpl\" not implemented for 'Half'"
ADDMM = "\"addmm_impl_cpu_\" not implemented for 'Half'"
TRACEBACK = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 41, in main
    loss = unet(noisy, t).sample
  File "/home/me/.venv/lib/python3.11/site-packages/torch/nn/functional.py", line 2900, in layer_norm
    return torch.layer_norm(
RuntimeError: expected scalar type Float but found Half
"""
QUIET = "epoch 3 step 17 loss 0.2513 lr 1e-5 precision bf16 saved model.safetensors\n"

MAX_MEMORY_KB = 64 << 10


class ExplainTest(tool.ToolTest):
    def explain(self, *arguments, log=None):
        if isinstance(log, str):
            log = log.encode()
        if log is not None:
            (self.work / "log").write_bytes(log)
            with (self.work / "log").open("rb") as stdin:
                return self.run_tool("explain", *arguments, stdin=stdin)
        return self.run_tool("explain", *arguments)

    def answer(self, log):
        """The JSON object for a log on standard input."""
        result = self.explain("--json", "-", log=log)
        self.assertEqual((result.status, result.err), (0, ""))
        return json.loads(result.out)

    def errors(self, log):
        answer = self.answer(log)
        return answer.get("errors", [answer])

    def assert_no_error(self, log):
        answer = self.answer(log)
        self.assertEqual((answer["category"], answer["also"], answer["confidence"]), (None, [], 0))
        self.assertNotIn("errors", answer)


class Inputs(ExplainTest):
    def test_argument(self):
        result = self.explain("--all", "mat1 and mat2 must have the same dtype, but got Half and Float")
        self.assertEqual((result.status, result.err), (0, ""))
        for part in ("input-weight-mismatch", "addmm", "cure:", "only hides the error"):
            self.assertIn(part, result.out)

    def test_words_without_quotes(self):
        self.assertEqual(self.explain(*SCALAR.split()).out, self.explain(SCALAR).out)

    def test_standard_input(self):
        self.assertEqual(self.explain("-", log=SCALAR).out, self.explain(SCALAR).out)
        self.assertEqual(self.explain(log=SCALAR).out, self.explain(SCALAR).out)

    def test_pipe_that_comes_in_pieces(self):
        process = self.start("explain", "--json", "-", stdin=subprocess.PIPE)
        for piece in ("RuntimeError: expec", "ted scalar type Ha", "lf but found Flo", "at\n"):
            process.stdin.write(piece.encode())
            process.stdin.flush()
        out, _ = tool.finish(process)
        self.assertEqual(json.loads(out)["dtypes"], ["Half", "Float"])

    def test_nothing(self):
        self.assert_one_line(self.explain("-", log=""), "the text is empty", "standard input")

    def test_standard_input_that_cannot_be_read(self):
        folder = os.open(self.work, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.assert_one_line(self.run_tool("explain", "-", stdin=folder), "standard input", "Is a directory")

    def test_name_of_a_log(self):
        self.write("train.log", TRACEBACK)
        self.assertEqual(self.explain("--json", "train.log").out, self.explain("--json", "-", log=TRACEBACK).out)
        self.write("out", TRACEBACK)
        self.assertEqual(self.explain("out").out, self.explain("-", log=TRACEBACK).out)

    def test_name_of_a_log_that_is_not_there(self):
        for name in ("trian.log", "logs/train", f"{self.work}/nowhere/out"):
            self.assert_one_line(self.explain(name), name, "No such file", "explain - <")
        self.assert_one_line(self.explain("."), "Is a directory")

    def test_messages_are_no_names(self):
        for message in ("Half", "'Half'.", "c10::Half", SCALAR, "expected m1 and m2 to have the same dtype: a/b.c"):
            self.assertEqual(self.explain(message).status, 0, message)

    def test_unwritable_output(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("explain", SCALAR, stdout=full)
        self.assertEqual(result.status, 2)
        self.assertIn("No space left on device", result.err)

    def test_help_has_an_example_that_runs(self):
        self.assertIn('explain "expected scalar type Float but found Half"', self.run_tool("explain", "--help").out)
        self.assertEqual(self.explain("expected scalar type Float but found Half").status, 0)


class Json(ExplainTest):
    def test_fields(self):
        answer = self.answer(TRACEBACK)
        self.assertEqual((answer["category"], answer["line"], answer["count"]), ("norm-mixed", 6, 1))
        self.assertEqual(answer["dtypes"], ["Float", "Half"])
        self.assertEqual(answer["message"], "RuntimeError: expected scalar type Float but found Half")
        self.assertEqual(answer["location"], {"file": "/home/me/train.py", "line": 41, "function": "main"})
        self.assertGreater(len(answer["causes"]), 0)
        self.assertEqual(len(answer["causes"]), len(answer["cures"]))
        self.assertTrue(all(isinstance(op, str) and ":" in op for op in answer["ops"]), answer["ops"])
        self.assertTrue(0 < answer["confidence"] <= 1)
        self.assertNotIn(answer["category"], answer["also"])

    def test_place_decides(self):
        """The same sentence with and without the frame that raised it."""
        self.assertEqual(self.answer(TRACEBACK.splitlines()[-1])["category"], "input-weight-mismatch")

    def test_version_is_read(self):
        self.assertEqual(self.answer("torch==2.0.1+cu117\n" + SCALAR)["libtorch"], "2.0.1")
        self.assertNotIn("libtorch", self.answer("numpy 1.26.4\n" + SCALAR))


class Logs(ExplainTest):
    def test_several_errors(self):
        log = f"{SCALAR}\n{QUIET * 50}{UNSCALE}\n{QUIET}{LAYER_NORM}\n"
        found = [(error["category"], error["line"]) for error in self.errors(log)]
        self.assertEqual(found, [("input-weight-mismatch", 1), ("gradscaler-fp16-params", 52), ("cpu-half-unimplemented", 54)])

    def test_several_on_one_line(self):
        errors = self.errors(f"{SCALAR}; then {UNSCALE} And {ADDMM}\n")
        self.assertEqual([error["category"] for error in errors],
                         ["input-weight-mismatch", "gradscaler-fp16-params", "cpu-half-unimplemented"])
        self.assertEqual({error["line"] for error in errors}, {1})
        self.assertEqual([error["message"] for error in errors],
                         ["expected scalar type Half but found Float", "Attempting to unscale FP16 gradients", ADDMM])

    def test_repeated_error_is_one(self):
        (error,) = self.errors("".join(f"[rank{n % 2}] step {n}: {SCALAR}\n" for n in range(300)))
        self.assertEqual(error["count"], 300)

    def test_text_shows_each(self):
        result = self.explain("-", log=f"{SCALAR}\n{QUIET}{UNSCALE}\n")
        self.assertIn("[input-weight-mismatch]", result.out)
        self.assertIn("[gradscaler-fp16-params]", result.out)
        self.assertIn("line 3", result.out)

    def test_colour(self):
        (error,) = self.errors(f"\x1b[1;31mRuntimeError\x1b[0m: expected \x1b[4mscalar type\x1b[24m Half but found Float\x1b[K\n")
        self.assertEqual((error["message"], error["line"]), (SCALAR, 1))
        link = f"\x1b]8;;http://example.org\x1b\\{UNSCALE}\x1b]8;;\x1b\\\n"
        self.assertEqual(self.answer(link)["category"], "gradscaler-fp16-params")

    def test_no_control_character_comes_out(self):
        result = self.explain("-", log=f"\x1b]0;title\x07\x08\x0b{SCALAR} \x1b[2J\x07\n")
        self.assertIn("Half", result.out)
        self.assertEqual([c for c in result.out if ord(c) < 32 and c != "\n"], [])

    def test_no_mark_that_reorders_text_comes_out(self):
        """Of a hostile log neither the message, nor the kernel's name, nor a place in the traceback repaints the terminal."""
        hostile = "\u202e\x9b31m\x07"
        log = (f'Traceback (most recent call last):\n  File "/home/{hostile}/train.py", line 3, in ma{hostile}in\n    x\n'
               f'RuntimeError: {hostile} "kern\x7fel_cpu" not implemented for \'Half\'\n{hostile}{SCALAR}{hostile}\n')
        for flags in ((), ("--json",)):
            with self.subTest(flags):
                result = self.explain(*flags, "-", log=log)
                self.assertEqual(result.status, 0)
                escape = "\\\\" if flags else "\\"  # of JSON
                shown = f"{escape}u202e"
                for name in (f"kern{escape}x7fel_cpu: Half", f"/home/{shown}", f"ma{shown}", f"RuntimeError: {shown}"):
                    self.assertIn(name, result.out)
                self.assertEqual([c for c in result.out if c in "\u202e\x9b\x07\x7f"], [])

    def test_progress_bars(self):
        bar = "".join(f"\rSteps: {n:3}%|{'#' * (n // 10):10}| {n}/100 [00:{n % 60:02}<00:10, loss=0.1]" for n in range(100))
        answer = self.answer(f"{bar}\rSteps: 100%\n{bar}\r{SCALAR}\n")
        self.assertEqual((answer["message"], answer["line"]), (SCALAR, 2))

    def test_windows_lines(self):
        answer = self.answer(TRACEBACK.replace("\n", "\r\n"))
        self.assertEqual((answer["category"], answer["location"]["line"]), ("norm-mixed", 41))

    def test_box_of_a_log_library(self):
        log = f"│ /x/train.py:41 in main │\n╰──────────╯\nRuntimeError: expected scalar type Half │\n│ but found Float\n"
        self.assertEqual(self.answer(log)["dtypes"], ["Half", "Float"])

    def test_other_languages_around(self):
        for before, after in (("训练时报错：", "，怎么办？"), ("学習中に「", "」と出ます"), ("Ошибка при обучении: ", " что делать"),
                              ("خطأ: ", " ما الحل"), ("Beim Training kommt „", "“ heraus")):
            with self.subTest(before):
                answer = self.answer(f"{before}{LAYER_NORM}{after}\n")
                self.assertEqual((answer["category"], answer["dtypes"]), ("cpu-half-unimplemented", ["Half"]))

    def test_old_encodings(self):
        """GBK and Latin-1 are no UTF-8: the JSON is all the same."""
        for encoding, words in (("gbk", "训练时报错"), ("latin-1", "Fehler während der Übung")):
            self.assertEqual(self.answer(f"{words} {SCALAR}\n".encode(encoding))["category"], "input-weight-mismatch")

    def test_error_leads_before_earlier_signs(self):
        first, second = self.errors(f"step 4 loss: nan\n{QUIET}{UNSCALE}\n")
        self.assertEqual((first["category"], first["line"]), ("gradscaler-fp16-params", 3))
        self.assertEqual((second["category"], second["line"]), ("overflow-nan", 1))

    def test_long_line(self):
        line = "x" * 300_000 + " " + SCALAR + " " + "y" * 300_000
        (error,) = self.errors(line)
        self.assertEqual(error["message"], "expected scalar type Half but found Float")


class Silence(ExplainTest):
    def test_clean_log(self):
        self.assert_no_error(QUIET * 1000)
        result = self.explain("-", log=QUIET * 1000)
        self.assertEqual((result.status, result.out, result.err), (0, "no dtype error in it\n", ""))

    def test_other_errors_are_named(self):
        for said, what in (("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB (fp16)", "memory"),
                           ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "shape"),
                           ("RuntimeError: Expected all tensors to be on the same device, but found at least two devices", "device")):
            with self.subTest(said):
                self.assert_no_error(said)
                self.assertIn(what, self.answer(said)["other_error"])

    def test_sentences_of_that_form_about_something_else(self):
        self.assert_no_error("\"dark mode\" not implemented for 'Windows'")
        self.assert_no_error("TypeError: expected str, bytes or os.PathLike object, not NoneType")


class Binary(ExplainTest):
    def assert_refused(self, log, *parts):
        self.assert_one_line(self.explain("-", log=log), *parts)

    def test_binary(self):
        for log in (b"\x7fELF\x02\x01\x01" + bytes(200), b"PK\x03\x04" + bytes(range(256)) * 20, bytes(5000),
                    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4, b"\x1f\x8b\x08\0\0\0\0\0" + bytes(range(255, 0, -1)) * 9):
            with self.subTest(log[:4]):
                self.assert_refused(log, "binary data, expected the text")

    def test_binary_with_the_words_in_it(self):
        self.assert_refused(b"\x80\x02}q\0" + SCALAR.encode() + bytes(100), "binary data")

    def test_utf16(self):
        self.assert_refused(SCALAR.encode("utf-16"), "UTF-16", "iconv")


class Articles(ExplainTest):
    """What people write about five faults, in Chinese, with the messages in it."""

    def category(self, text):
        return self.answer(text)["category"]

    def test_layer_norm_on_the_cpu(self):
        text = f"DreamBooth 训练 SDXL 时出现 RuntimeError:{LAYER_NORM}错误。\n原因:在 CPU 上 LayerNorm 不支持半精度。\n"
        self.assertEqual(self.category(text), "cpu-half-unimplemented")

    def test_fused_norm_of_apex(self):
        text = ("文本编码器 T5 推理时:\"RuntimeError: expected scalar type Float but found Half\"。\n"
                "错误来自 APEX 的 FusedRMSNormAffineFunction,升级后解决。\n")
        self.assertEqual(self.category(text), "norm-mixed")

    def test_layer_norm_of_clip(self):
        text = ("启用输出嵌入后抛出异常:\nRuntimeError: expected scalar type Float but found Half\n"
                "错误发生在 CLIP 文本编码器的层归一化(layer_norm)阶段。\n")
        self.assertEqual(self.category(text), "norm-mixed")

    def test_float16_weights(self):
        text = ("float16 权重训练时的几个错误:\n"
                "线性层:\"mat1 and mat2 must have the same dtype, but got Float and Half\"\n"
                "卷积:\"Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same\"\n"
                "VAE:\"Input type (float) and bias type (struct c10::Half) should be the same\"的错误\n")
        errors = self.errors(text)
        self.assertEqual([(e["category"], e["dtypes"]) for e in errors],
                         [("input-weight-mismatch", ["Float", "Half"]), ("input-weight-mismatch", ["Half", "Float"]),
                          ("input-weight-mismatch", ["Float", "Half"])])

    def test_scaler(self):
        text = "LoRA 微调并启用梯度裁剪时报错:\"ValueError: Attempting to unscale FP16 gradients\"。训练中断。\n"
        self.assertEqual(self.category(text), "gradscaler-fp16-params")


class Memory(ExplainTest):
    """A log of 20 MB takes no more memory than a short one, whatever stands in it."""

    def peak_kb(self, lines):
        path = self.work / "big.log"
        with path.open("w") as log:
            size = n = 0
            while size < 20 << 20:
                size += log.write(lines(n))
                n += 1
            log.write(UNSCALE + "\n")
        with path.open("rb") as stdin:
            process = self.start("explain", "--json", "-", stdin=stdin)
            with process.stdout as out:
                answer = json.loads(out.read())
            process.stderr.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertIn("gradscaler-fp16-params", {error["category"] for error in answer.get("errors", [answer])})
        return usage.ru_maxrss

    def assert_bounded(self, lines):
        if b"__asan_init" in pathlib.Path(tool.DTYPECHECK).read_bytes():
            self.skipTest("a sanitizer's memory is its own")
        self.assertLess(self.peak_kb(lines), MAX_MEMORY_KB)

    def test_clean(self):
        self.assert_bounded(lambda n: QUIET)

    def test_each_line_an_error_of_its_own(self):
        self.assert_bounded(lambda n: f"{chr(97 + n % 26) * (n // 26 % 100)} {n}: {SCALAR} {'z' * (n // 2600 % 100)}\n")

    def test_one_line(self):
        self.assert_bounded(lambda n: f"{SCALAR} ")


if __name__ == "__main__":
    unittest.main()
