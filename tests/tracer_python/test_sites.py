"""Lines, functions and module paths, with a stand-in for torch. Run by run.py once for each CPython."""
import atexit
import contextlib
import ctypes
import functools
import gc
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "fake_torch")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import driver  # noqa: E402

STARTED = driver.start()
QUALIFIED = sys.version_info >= (3, 11)  # code objects know their qualified names


def new_folder():
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    return folder


# driver.py stands for torch's bindings here: its frames must not count as the user's.
def as_torch(source_file):
    with open(source_file) as file:
        source = file.read()
    path = os.path.join(os.path.dirname(torch.__file__), "_bindings.py")
    module = type(sys)("torch._bindings")
    exec(compile(source, path, "exec"), module.__dict__)
    return module


bindings = as_torch(os.path.join(HERE, "driver.py"))
torch.op = bindings.site


def here(offset=0):
    return inspect.currentframe().f_back.f_lineno + offset


def library(name, source, folder="site-packages"):
    """Imports `source` as a module that lies in a site-packages folder."""
    root = new_folder()
    lib = os.path.join(root, folder)
    os.makedirs(lib)
    path = os.path.join(lib, name + ".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(source))
    module = type(sys)(name)
    module.__file__ = path
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Leaf()

    def forward(self, *args):
        return self.conv(*args)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.out = nn.Leaf()

    def forward(self, *args):
        self.blocks(*args)
        return self.out(*args)


class Pick(nn.Module):
    """Calls one of its modules only."""

    def __init__(self, module):
        super().__init__()
        self.picked = module

    def forward(self, *args):
        return self.picked(*args)


class StartTest(unittest.TestCase):
    def test_starts(self):
        self.assertEqual(STARTED["why_not"], "")
        self.assertTrue(STARTED["started"])
        self.assertEqual(STARTED["version"], sys.version.split()[0])

    def test_starts_twice(self):
        self.assertTrue(bindings.start()["started"])


class LineTest(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 11), "CPython tells columns from 3.11 on")
    def test_columns(self):
        sites = [torch.op(), ("é", torch.op(
            ))[1]]
        self.assertEqual([site["extent"] for site in sites], [[18, 28, 0], [37, 14, 1]])

    @unittest.skipIf(sys.version_info >= (3, 11), "CPython tells columns from 3.11 on")
    def test_no_columns(self):
        self.assertEqual(torch.op()["extent"], [0, 0, 0])

    def test_user_line(self):
        site, line = torch.op(), here()
        self.assertEqual(site["line"]["line"], line)
        self.assertEqual(site["line"]["file"], os.path.abspath(__file__))
        self.assertEqual(site["line"]["function"], "LineTest.test_user_line")
        self.assertEqual(site["inner"], site["line"])
        self.assertEqual(site["module"], "")
        self.assertEqual(site["module_address"], 0)

    def test_line_inside_a_call_over_several_lines(self):
        line = here(2)
        site = dict(
            torch.op(),
        )
        self.assertEqual(site["line"]["line"], line)

    def test_every_kind_of_function(self):
        def nested():
            return torch.op(), here()

        class Local:
            @classmethod
            def made(cls):
                return torch.op(), here()

            @staticmethod
            def static():
                return torch.op(), here()

            @property
            def value(self):
                return torch.op(), here()

        def generated():
            yield torch.op(), here()

        async def awaited():
            return torch.op(), here()

        def run(coroutine):
            try:
                coroutine.send(None)
            except StopIteration as stop:
                return stop.value

        calls = {
            "nested": nested,
            "Local.made": Local.made,
            "Local.static": Local.static,
            "Local.value": lambda: Local().value,
            "generated": lambda: next(generated()),
            "awaited": lambda: run(awaited()),
        }
        for name, call in calls.items():
            with self.subTest(name):
                site, line = call()
                self.assertEqual(site["line"]["line"], line)
                self.assertTrue(site["line"]["function"].endswith(name.split(".")[-1]))
                if QUALIFIED:
                    self.assertTrue(site["line"]["function"].endswith("<locals>." + name))
        self.assertTrue((lambda: torch.op())()["line"]["function"].endswith("<lambda>"))
        self.assertEqual([torch.op() for _ in range(1)][0]["line"]["line"], here())

    def test_class_body(self):
        class Body:
            site, line = torch.op(), here()

        self.assertEqual(Body.site["line"]["line"], Body.line)

    def test_recursion(self):
        def down(depth):
            return down(depth - 1) if depth else (torch.op(), here())

        for depth in (0, 1, 100, 400):
            site, line = down(depth)
            self.assertEqual(site["line"]["line"], line)

    def test_recursion_through_c(self):
        def down(depth):
            return list(map(down, [depth - 1]))[0] if depth else (torch.op(), here())

        site, line = down(50)
        self.assertEqual(site["line"]["line"], line)

    def test_decorators_of_the_standard_library_are_passed_over(self):
        @contextlib.contextmanager
        def manager():
            yield torch.op(), here()

        @functools.lru_cache(None)
        def cached():
            return torch.op(), here()

        @contextlib.contextmanager
        def empty():
            yield

        @empty()
        def decorated():
            return torch.op(), here()

        with manager() as (site, line):
            self.assertEqual((site["line"]["line"], site["inner"]["line"]), (line, line))
        for call in (cached, decorated):
            site, line = call()
            self.assertEqual((site["line"]["line"], site["inner"]["line"]), (line, line))

    def test_executed_text(self):
        space = {"torch": torch}
        exec("def f():\n\n  return torch.op()", space)
        site = space["f"]()
        line = site["line"]
        self.assertEqual((line["file"], line["function"], line["line"]), ("<string>", "f", 3))
        exec(compile("site = torch.op()", "/tmp/ipykernel_77/1.py", "exec"), space)
        self.assertEqual(space["site"]["line"]["file"], "/tmp/ipykernel_77/1.py")
        self.assertEqual(space["site"]["line"]["function"], "<module>")

    def test_generated_methods_are_not_the_users(self):
        space = {"torch": torch}
        exec("class C:\n  def __init__(self):\n    self.site = torch.op()", space)
        site, line = space["C"]().site, here()
        self.assertEqual(site["line"]["line"], line)
        self.assertEqual(site["inner"]["file"], "<string>")

    def test_who_calls_a_to_that_hands_on_asks(self):
        class HandsOn:
            def to(self, *args, **kwargs):
                return torch.op()

        class Asks:
            def to(self, dtype, **kwargs):
                return torch.op()

        self.assertEqual(HandsOn().to("half")["line"]["line"], here())
        self.assertEqual(Asks().to("half")["line"]["line"], here(-3))

    def test_library_line(self):
        lib = library("lib", "import torch\n\ndef call():\n    return torch.op()\n")
        site, line = lib.call(), here()
        self.assertEqual(site["line"]["line"], line)
        self.assertEqual(site["inner"], {"file": lib.__file__, "function": "call", "line": 4})
        lib = library("lib", "import torch\n\ndef call(f):\n    return f()\n", "dist-packages")
        site, line = lib.call(lambda: torch.op()), here()
        self.assertEqual((site["line"]["line"], site["inner"]["line"]), (line, line))

    def test_paths_that_are_not_ascii(self):
        for folder in ("tr\u00e4in", "\u8a13\u7df4", "\U0001f642"):
            with self.subTest(folder):
                mine = library("mine", "import torch\n\ndef call():\n    return torch.op()\n",
                               folder)
                site = mine.call()
                self.assertEqual(site["line"], {"file": mine.__file__, "function": "call",
                                                "line": 4})
                nested = folder + "/site-packages"
                lib = library("lib", "import torch\n\ndef call():\n    return torch.op()\n", nested)
                site, line = lib.call(), here()
                self.assertEqual(site["line"]["line"], line)
                self.assertEqual(site["inner"]["file"], lib.__file__)

    def test_packages_in_any_folder(self):
        """As `pip install --target` makes them, beside a module of the user's own."""
        source = "import torch\n\ndef call():\n    return torch.op()\n"
        for module, is_library in ("listed", True), ("mine", False):
            with self.subTest(module):
                lib = library(module, source, "packages")
                info = os.path.join(os.path.dirname(lib.__file__), "listed-1.0.dist-info")
                os.mkdir(info)
                with open(os.path.join(info, "RECORD"), "w") as file:
                    file.write("listed.py,sha256=xyz,60\nlisted-1.0.dist-info/RECORD,,\n")
                site, line = lib.call(), here()
                self.assertEqual(site["line"]["line"], line if is_library else 4)
                self.assertEqual(site["inner"]["file"], lib.__file__)

    def test_no_user_code_on_the_stack(self):
        lib = library("lib", "import torch\n\ndef call(out):\n    out.append(torch.op())\n")
        out = []
        thread = threading.Thread(target=lib.call, args=(out,))
        thread.start()
        thread.join()
        self.assertFalse(out[0]["has_user"])
        self.assertEqual(out[0]["line"]["file"], lib.__file__)

    def test_with_the_gil_held(self):
        site, line = bindings.held.ask("dc_site"), here()
        self.assertEqual(site["line"]["line"], line)

    def test_freed_code(self):
        """Code objects that are made and freed in turn get each other's addresses, never each other's lines."""
        lib_path = os.path.join(new_folder(), "site-packages", "lib.py")
        for i in range(3000):
            lines = 1 + i % 7
            source = "\n" * lines + "def f%d(): return torch.op()" % (i % 3)
            is_library = i % 2 == 0
            space = {"torch": torch}
            path = "".join([lib_path if is_library else "mine%d.py" % (i % 5)])
            exec(compile(source, path, "exec"), space)
            site = space["f%d" % (i % 3)]()
            self.assertEqual(site["inner"]["line"], lines + 1)
            self.assertEqual(site["inner"]["file"], path)
            self.assertEqual(site["line"]["file"] == path, not is_library)


class KeyTest(unittest.TestCase):
    def test_same_call_same_key(self):
        keys = {torch.op()["key"] for _ in range(3)}
        self.assertEqual(len(keys), 1)
        self.assertNotIn(0, keys)

    def test_other_column_or_line_other_key(self):
        first, second = torch.op()["key"], torch.op()["key"]
        self.assertNotEqual(first, second)

    def test_modules_that_share_their_code_differ(self):
        net = nn.Sequential(nn.Leaf(), nn.Leaf())
        keys = [module()["key"] for module in net._modules.values()]
        self.assertEqual(len(set(keys)), 2)

    def test_library_line_is_part_of_the_key(self):
        lib = library("lib",
                      "import torch\ndef call(n):\n  if n: return torch.op()\n  return torch.op()\n")
        keys = {lib.call(n)["key"] for n in (0, 1)}
        self.assertEqual(len(keys), 2)

    def test_a_new_module_at_a_freed_address(self):
        """Modules at one address, one after the other: each is named after itself."""
        seen = {}
        for i in range(40):
            net = nn.Sequential(*[nn.Leaf() for _ in range(i % 5 + 1)])
            site = net()
            self.assertEqual(site["module"], "net.%d" % (i % 5))
            before = seen.setdefault(site["key"], site["module"])
            self.assertEqual(before, site["module"])
            del net

    def test_threads_have_their_own_frames(self):
        failures = []

        def work(number):
            space = {"torch": torch}
            exec(compile("\n" * number + "def call(): return torch.op()", "t%d.py" % number,
                         "exec"), space)
            for _ in range(200):
                line = space["call"]()["line"]
                if line != {"file": "t%d.py" % number, "function": "call", "line": number + 1}:
                    failures.append(line)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


global_net = Net()
global_list = [Net()]


class Pipeline:
    def __init__(self, net):
        self.name = "pipeline"
        self._hidden = net
        self.unet = net

    def run(self):
        return self.unet()


class ModuleTest(unittest.TestCase):
    def test_local_variable(self):
        unet = Net()
        site = unet()
        self.assertEqual((site["module"], site["class"]), ("unet.out", "Leaf"))
        self.assertEqual(site["module_address"], id(unet.out))

    def test_nested(self):
        unet = Pick(nn.Sequential(Block()))
        self.assertEqual(unet()["module"], "unet.picked.0.conv")

    def test_a_forward_in_the_users_script(self):
        class Mine(nn.Module):
            def forward(self):
                return torch.op(), here()

        mine = Mine()
        site, line = mine()
        self.assertEqual(site["line"]["line"], line)
        self.assertEqual((site["module"], site["class"]), ("mine", "Mine"))

    def test_global_variable(self):
        self.assertEqual(global_net()["module"], "global_net.out")

    def test_attribute_of_an_object(self):
        self.assertEqual(Pipeline(Net()).run()["module"], "unet.out")

    def test_attribute_of_the_caller(self):
        self.net = Net()
        self.assertEqual(self.net()["module"], "net.out")

    def test_variable_that_an_inner_function_shares(self):
        model = Net()

        def call():
            return model()

        self.assertEqual(call()["module"], "model.out")
        self.assertEqual(model()["module"], "model.out")

    def test_parameter_that_an_inner_function_shares(self):
        def outer(model):
            def inner():
                return model

            return model()

        self.assertEqual(outer(Net())["module"], "model.out")

    def test_no_variable(self):
        self.assertEqual(Net()()["module"], "Net.out")
        self.assertEqual(global_list[0]()["module"], "Net.out")

    def test_a_module_without_parts(self):
        class Loss(nn.Module):
            def forward(self):
                return torch.op()

        self.assertEqual(Loss()()["module"], "Loss")
        loss_fn = Loss()
        self.assertEqual(loss_fn()["module"], "loss_fn")

    def test_part_called_alone(self):
        vae = Net()
        self.assertEqual(vae.out()["module"], "vae.out")
        self.assertEqual(vae.blocks._modules["1"]()["module"], "vae.blocks.1.conv")

    def test_who_called_the_model(self):
        class Block(nn.Module):
            def forward(self):
                return torch.op()

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self):
                return self.block()

        outer = Outer()
        inside = outer()
        self.assertEqual(inside["caller"], {"file": __file__, "function": inside["caller"]["function"], "line": here(-1)})
        part = outer.block()
        self.assertEqual(part["caller"]["line"], here(-1))
        lib = library("called", "from torch import nn\nimport torch\nclass L(nn.Module):\n    def forward(self):\n        return torch.op()\n")
        self.assertEqual(lib.L()()["caller"]["line"], 0)  # the user's line itself
        self.assertEqual(torch.op()["caller"]["line"], 0)

    def test_part_called_alone_later(self):
        """As gradient checkpointing does in the backward pass, from frames that know no model."""
        model = Net()
        model()
        lib = library("lib", "def call(function):\n    return function()\n")
        out = []
        thread = threading.Thread(target=lambda block: out.append(lib.call(block)),
                                  args=(model.blocks._modules["0"],))
        thread.start()
        thread.join()
        self.assertEqual(out[0]["module"], "model.blocks.0.conv")

    def test_method_of_a_library_model(self):
        lib = library("lib", """
            from torch import nn

            class Vae(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.encoder = nn.Leaf()

                def encode(self):
                    return self.encoder()
            """)
        vae = lib.Vae()
        self.assertEqual(vae.encode()["module"], "vae.encoder")

    def test_loop_over_a_list(self):
        """The loop's variable names two encoders alike; the frame outside tells them apart."""

        def encode(text_encoders):
            return [text_encoder() for text_encoder in text_encoders]

        def encode_in_a_loop(text_encoders):
            modules = []
            for text_encoder in text_encoders:
                modules.append(text_encoder()["module"])
            return modules

        text_encoder_one, text_encoder_two = Net(), Net()
        modules = encode_in_a_loop([text_encoder_one, text_encoder_two])
        self.assertEqual(modules, ["text_encoder_one.out", "text_encoder_two.out"])
        self.assertEqual([s["module"] for s in encode([text_encoder_one, text_encoder_two])],
                         modules)

    def test_models_that_only_a_list_has_stay_apart(self):
        def encode(encoders):
            return [encoder()["module"] for encoder in encoders]

        both = [Net(), Net()]
        first, second = encode(both)
        self.assertNotEqual(first, second)
        self.assertEqual(second.rsplit(".", 1)[1], "out")
        self.assertEqual(encode(both), [first, second])

    def test_shared_module_has_the_name_it_is_called_by_first(self):
        net = Net()
        net.tied = net.out
        self.assertEqual(net()["module"], "net.out")

    def test_module_that_is_not_registered(self):
        net = Net()
        part = nn.Leaf()
        object.__setattr__(net, "hidden", part)
        net.__class__ = type("Hiding", (Net,), {"forward": lambda self: self.hidden()})
        self.assertEqual(net()["module"], "net.hidden")

    def test_wrappers_are_not_part_of_the_path(self):
        for name, child in (("DistributedDataParallel", "module"),
                            ("OptimizedModule", "_orig_mod")):
            with self.subTest(name):
                wrapper = type(name, (nn.Module,),
                               {"forward": lambda self, child=child: getattr(self, child)()})
                inner = Net()
                unet = wrapper()
                setattr(unet, child, inner)
                del inner
                self.assertEqual(unet()["module"], "unet.out")

    def test_a_part_that_is_called_module_is_not_a_wrapper(self):
        net = Pick(nn.Leaf())
        net._modules["module"] = net._modules.pop("picked")
        net.__class__ = type("Own", (Pick,), {"forward": lambda self: self.module()})
        self.assertEqual(net()["module"], "net.module")

    def test_a_part_that_is_added_later(self):
        net = Pick(nn.Leaf())
        self.assertEqual(net()["module"], "net.picked")
        net.picked = nn.Sequential(nn.Leaf())
        self.assertEqual(net()["module"], "net.picked.0")

    def test_two_of_one_name(self):
        def call(model):
            return model()["module"]

        first, second = Net(), Net()
        self.assertEqual([call(first), call(second)], ["model.out", "second.out"])

    def test_with_the_gil_held(self):
        torch.op, before = (lambda: bindings.held.ask("dc_site")), torch.op
        try:
            unet = Net()
            self.assertEqual(unet()["module"], "unet.out")
        finally:
            torch.op = before


class InvisibleTest(unittest.TestCase):
    """What the program can see of us: nothing."""

    def test_no_code_of_the_program_runs(self):
        ran = []

        class Loud(nn.Module):
            def __getattribute__(self, name):
                if name in ("__dict__", "_modules", "_parameters"):
                    ran.append(name)
                return super().__getattribute__(name)

            def forward(self):
                ran.clear()
                site = torch.op()
                return site, list(ran)

        loud = Loud()
        site, seen = loud()
        self.assertEqual(site["module"], "loud")
        self.assertEqual(seen, [])

    def test_modules_die_when_they_would(self):
        net = Net()
        leaf = weakref.ref(net.out)
        whole = weakref.ref(net)
        net()
        count = sys.getrefcount(net)
        net()
        self.assertEqual(sys.getrefcount(net), count)
        del net
        self.assertIsNone(whole())
        self.assertIsNone(leaf())

    def test_the_error_indicator_is_kept(self):
        self.assertEqual(ctypes.PyDLL(os.environ["DRIVER"]).dc_keeps_error(), 1)
        try:
            raise ValueError("outer")
        except ValueError:
            before = sys.exc_info()
            torch.op()
            self.assertEqual(sys.exc_info(), before)

    def test_the_collector_stays_as_it_was(self):
        torch.op()
        self.assertTrue(gc.isenabled())
        gc.disable()
        try:
            torch.op()
            self.assertFalse(gc.isenabled())
        finally:
            gc.enable()

    def test_locals_are_not_written_back(self):
        value = 1
        mine = locals()
        mine["value"] = 2
        unet = Net()
        unet()
        self.assertEqual(mine["value"], 2)
        self.assertEqual(value, 1)


class ProcessTest(unittest.TestCase):
    def run_script(self, source, **environment):
        folder = new_folder()
        path = os.path.join(folder, "train.py")
        with open(path, "w") as file:
            file.write("import os, sys\nsys.path[:0] = %r\nimport torch, driver\ndriver.start()\n" % (
                [HERE, os.path.join(HERE, "fake_torch")],) + textwrap.dedent(source))
        done = subprocess.run([sys.executable, path], cwd=folder,
                              env=dict(os.environ, **environment),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        return done, path

    def test_torch_before_2_1(self):
        done, path = self.run_script("""
            torch.op = driver.site
            net = torch.nn.Sequential(torch.nn.Leaf(), torch.nn.Sequential(torch.nn.Leaf()))
            site = net()
            print(site["module"], site["class"])
            """, FAKE_TORCH_VERSION="2.0")
        self.assertEqual(done.stdout, "net.1.0 Leaf\n", done.stderr)

    def test_fork(self):
        done, path = self.run_script("""
            before = driver.site()
            child = os.fork()
            if child == 0:
                again = driver.site()
                os._exit(0 if again["line"]["file"] == before["line"]["file"] else 1)
            print(os.waitpid(child, 0)[1])
            """)
        self.assertEqual(done.stdout, "0\n", done.stderr)

    def test_relative_file_name(self):
        done, path = self.run_script("""
            import ctypes, json
            exec(compile("def f():\\n library.dc_site(buffer, len(buffer))", "train.py", "exec"))
            library, buffer = driver.released._library, ctypes.create_string_buffer(1 << 16)
            os.chdir("/")
            f()
            print(json.loads(buffer.value.decode())["line"]["file"])
            """)
        self.assertEqual(done.stdout, path + "\n", done.stderr)

    def test_ops_at_exit_and_in_daemon_threads(self):
        done, path = self.run_script("""
            import atexit, threading, time
            atexit.register(driver.site)
            def spin():
                while True:
                    driver.site()
            for _ in range(4):
                threading.Thread(target=spin, daemon=True).start()
            class Late:
                def __del__(self):
                    driver.site()
            late = Late()
            time.sleep(0.1)
            """)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_stop(self):
        done, path = self.run_script("""
            driver.released._library.dc_stop()
            print(driver.site()["found"], driver.walk()["found"], driver.released.ask("dc_facts"),
                  driver.released.ask("dc_describe"))
            """)
        self.assertEqual(done.stdout, "False False {} None\n", done.stderr)

    def test_argv(self):
        done, path = self.run_script("""
            sys.argv = ["train.py", "--prompt", "a dog's life", "--steps", "3"]
            print(driver.released.ask("dc_facts")["python.argv"])
            """)
        self.assertEqual(done.stdout, "train.py --prompt 'a dog'\\''s life' --steps 3\n",
                         done.stderr)

    def test_uncaught_exception(self):
        done, path = self.run_script("""
            driver.released._library.dc_watch_uncaught(b"refusals.json")
            def fail():
                raise ValueError("Attempting to unscale FP16 gradients.")
            fail()
            """)
        self.assertIn("Attempting to unscale", done.stderr)
        with open(os.path.join(os.path.dirname(path), "refusals.json")) as file:
            (refusal,) = [json.loads(line) for line in file]
        self.assertEqual(refusal["type"], "ValueError")
        self.assertEqual(refusal["message"], "Attempting to unscale FP16 gradients.")
        self.assertEqual(refusal["function"], "fail")
        self.assertEqual(refusal["line"], {"file": path, "function": "fail", "line": 8})
        self.assertEqual(refusal["tensors"], [])

    def test_ends_that_are_no_refusal(self):
        for statement in ("sys.exit(3)", "raise KeyboardInterrupt", "exec('1 +')", "pass"):
            done, path = self.run_script(
                'driver.released._library.dc_watch_uncaught(b"refusals.json")\n' + statement)
            self.assertFalse(os.path.exists(os.path.join(os.path.dirname(path), "refusals.json")),
                             statement)


KEEP = driver.held._library.dc_keep_handed_over


class Operand:
    __matmul__ = __iadd__ = __neg__ = __lt__ = KEEP
    __getitem__ = KEEP

    def shared(self):
        return lambda: self


@unittest.skipIf(sys.version_info < (3, 9), "not read there")
class HandedOver(unittest.TestCase):
    """What a call, or an operator, is given, read from the value stack."""

    def found(self, kind, *types):
        answer = driver.released.ask("dc_handed_over")
        self.assertEqual(answer, [kind, [["", name] for name in types]])

    def test_calls(self):
        KEEP(1, b"x")
        self.found(0, "int", "bytes")
        len([KEEP(None), 1])
        self.found(0, "NoneType")
        KEEP()
        self.found(0)
        KEEP(*[1, b"x"])
        self.assertIsNone(driver.released.ask("dc_handed_over"))

    def test_the_innermost_of_many(self):
        self.assertIsNotNone([str(1) + str(KEEP(2)), 3])
        self.found(0, "int")
        KEEP(1, KEEP(b"x", None), b"y")
        self.found(0, "int", "int", "bytes")

    def test_operators(self):
        one = Operand()
        one @ 5
        self.found(1, "Operand", "int")
        len([b"below", one @ 5])
        self.found(1, "Operand", "int")
        one < 5
        self.found(1, "Operand", "int")
        one[5]
        self.found(1, "Operand", "int")
        -one
        self.found(1, "Operand")
        one += 5
        self.found(1, "Operand", "int")

    def test_below_blocks(self):
        for one in [1, 2]:
            with contextlib.suppress(KeyError):
                try:
                    if one == 2:
                        raise ValueError
                    KEEP(one, b"x")
                    self.found(0, "int", "bytes")
                except ValueError as error:
                    KEEP(b"x" if error else None, one)
                    self.found(0, "bytes", "int")
                finally:
                    KEEP(None, one)
                    self.found(0, "NoneType", "int")
        while one < 4:
            one += 1
            KEEP(one if one > 3 else b"x")
        self.found(0, "int")

    def test_in_other_frames(self):
        def generator(one):
            for _ in range(2):
                KEEP(one, b"x")
                self.found(0, "int", "bytes")
                yield [one, KEEP(b"x")]
                self.found(0, "bytes")

        self.assertEqual(len(list(generator(3))), 2)
        self.assertEqual(len([KEEP(one, b"x") for one in (1, 2)]), 2)
        self.found(0, "int", "bytes")

        def outer(one, unset=None):
            two = b"x"
            return lambda three: [KEEP(one, two, three), unset]

        outer(1)(None)
        self.found(0, "int", "bytes", "NoneType")
        exec("KEEP(1, b'x')", {"KEEP": KEEP})
        self.found(0, "int", "bytes")

    def test_long_code(self):
        lines = ["    value%d = %d if one else 0" % (i, i) for i in range(400)]
        source = "def long(one):\n    while one:\n%s\n        KEEP(one, b'x')\n        one = 0\n"
        names = {"KEEP": KEEP}
        exec(source % "\n".join("    " + line for line in lines), names)
        names["long"](1)
        self.found(0, "int", "bytes")


if __name__ == "__main__":
    unittest.main()
