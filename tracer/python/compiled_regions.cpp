// compiled_regions.cpp: see compiled_regions.h.
#include "tracer/python/compiled_regions.h"

#include <string>
#include <vector>

#include "core/dtype_spellings.h"
#include "tracer/python/python_api.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {
namespace {

// Beside the calls themselves: what each op of a region answers in, by the graph that Inductor was
// given, and computes in, by the code that it made of that. Fused kernels load 16 bits as Float and
// round what they store; with emulate_precision_casts they round after each op, as eager does.
constexpr const char* kSource = R"py(
def wrap(compiled_graph, names, enter, leave, tell):
    import re
    original = compiled_graph.__call__
    seen = set()
    node = re.compile(r'(\w+): "(\w+)\[.*?" = torch\.ops\.(\w+)\.(\w+)\.\w+\((.*)')
    argument = re.compile(r'(\w+): "(\w+)\[')
    names = dict(pair.split("=") for pair in names.split())
    low = ("Half", "BFloat16")

    def computed(self):
        graph, code = self.inductor_post_grad_graph_str or "", self.source_code or ""
        code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("#"))
        raises = "convert<float" in code or "tl.float32" in code
        rounds = re.search(r"(tmp\w+) = [^\n]*(?:convert<(?:at::)?(?:BFloat16|Half)\b|\.to\(tl\.b?float16\))[^\n]*\n"
                           r"[^\n]*(?:convert<float\b[^\n]*\(\1\)|\1\.to\(tl\.float32\))", code) is not None
        called = set(re.findall(r"extern_kernels\.(\w+)\(", code)) | set(re.findall(r"ops\.aten\.(\w+)\.", code))
        dtypes, ops = {}, []
        for line in graph.splitlines():
            if "def forward" in line:
                dtypes.update(argument.findall(line))
            found = node.search(line)
            if not found:
                continue
            name, dtype, space, op, rest = found.groups()
            dtypes[name] = dtype
            result = names.get(dtype)
            inputs = sorted({names[dtypes[word]] for word in re.findall(r"\w+", rest.split(";")[0])
                             if dtypes.get(word) in names})
            if space != "aten" or not result or not inputs:
                continue
            fuses = op not in called and raises and not rounds
            ops.append(f"{space}::{op} {'|'.join(inputs)} {result} {'Float' if fuses and result in low else result}")
        return ";".join(dict.fromkeys(ops))

    def __call__(self, inputs):
        options = getattr(self, "fx_kwargs", None) or {}
        kind = "backward" if options.get("is_backward") else "forward"
        name = f"inductor_{kind}_{options.get('graph_id')}"
        if name not in seen:
            seen.add(name)
            try:
                tell((name, computed(self)))
            except Exception:
                pass
        enter((name, inputs))
        outputs = None
        try:
            outputs = original(self, inputs)
            return outputs
        finally:
            leave(outputs)

    compiled_graph.__call__ = __call__
)py";

// "f32=Float bf16=BFloat16 …": what a graph calls what is floating, and its name.
std::string names_in_graphs() {
  std::string text;
  for (const DtypeNames& names : kDtypeNames)
    if (names.kind == DtypeKind::kFloating) text += abbreviation(names) + "=" + names.name + " ";
  return text;
}

RegionWatcher watching;
bool in_place = false;

std::vector<const void*> tensors_of(Object* sequence) {
  std::vector<const void*> impls;
  for (std::ptrdiff_t i = 0; i < sequence_size(sequence); ++i) {
    Object* item = sequence_item(sequence, i);
    if (!is_tensor(item)) continue;
    if (const void* impl = tensor_impl(item)) impls.push_back(impl);
  }
  return impls;
}

Object* enter(Object*, Object* name_and_inputs) {
  const std::string name = text_of(sequence_item(name_and_inputs, 0));
  const std::vector<const void*> impls = tensors_of(sequence_item(name_and_inputs, 1));
  watching.enter(name.c_str(), impls.data(), impls.size());
  return return_none();
}

Object* tell(Object*, Object* name_and_ops) {
  const std::string name = text_of(sequence_item(name_and_ops, 0));
  const std::string ops = text_of(sequence_item(name_and_ops, 1));
  if (!ops.empty()) watching.tell(name.c_str(), ops.c_str());
  return return_none();
}

Object* leave(Object*, Object* outputs) {
  const std::vector<const void*> impls = tensors_of(outputs);
  watching.leave(impls.data(), impls.size());
  return return_none();
}

}  // namespace

bool watch_compiled_regions(const RegionWatcher& watcher) {
  if (in_place) return true;
  const Interpreter interpreter;
  if (!interpreter) return false;
  Object* compiled_graph = imported_item("torch._inductor.output_code", "CompiledFxGraph");
  if (compiled_graph == nullptr || in_place) return in_place;
  watching = watcher;
  const Ref wrap = own_function(kSource, "wrap");
  const Ref on_enter = new_callback("enter", enter, kOneArgument);
  const Ref on_leave = new_callback("leave", leave, kOneArgument);
  const Ref on_tell = new_callback("tell", tell, kOneArgument);
  const Ref names(new_text(names_in_graphs().c_str()));
  if (!wrap || !names || !on_enter || !on_leave || !on_tell) return false;
  const Ref done(api.PyObject_CallFunctionObjArgs(wrap.get(), compiled_graph, names.get(),
                                                  on_enter.get(), on_leave.get(), on_tell.get(),
                                                  nullptr));
  in_place = static_cast<bool>(done);
  if (!done) api.PyErr_Clear();
  return in_place;
}

}  // namespace dtypecheck::tracer::python
