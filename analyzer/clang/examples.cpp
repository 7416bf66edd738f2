// examples.cpp: what a data loader's batches hold.
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// The dataset of a loader, of a map() and of a pointer to one.
const CXXRecordDecl* dataset_of(QualType type, int depth = 0) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || record->getIdentifier() == nullptr || depth > 16) return nullptr;
  const auto* made = dyn_cast<ClassTemplateSpecializationDecl>(record);
  const bool wraps =
      made != nullptr && llvm::is_contained({"unique_ptr", "shared_ptr", "MapDataset",
                                             "StatelessDataLoader", "StatefulDataLoader"},
                                            made->getName());
  if (!wraps) return record;
  const TemplateArgument& inner = made->getTemplateArgs()[0];
  return inner.getKind() == TemplateArgument::Type ? dataset_of(inner.getAsType(), depth + 1)
                                                   : nullptr;
}

bool is_dataset(const CXXRecordDecl* record, int depth = 0) {
  if (record == nullptr || depth > 6) return false;
  const std::string name = record->getQualifiedNameAsString();
  if (llvm::StringRef(name).ends_with("datasets::BatchDataset")) return true;
  if (!record->hasDefinition()) return false;
  for (const CXXBaseSpecifier& base : record->bases()) {
    if (is_dataset(base.getType()->getAsCXXRecordDecl(), depth + 1)) return true;
  }
  return false;
}

bool is_torchs(const CXXRecordDecl* record) {
  return llvm::StringRef(record->getQualifiedNameAsString()).starts_with("torch::");
}

}  // namespace

// A transform of torch::data that scales, or joins, keeps dtypes; what a lambda gives it says
// itself; of others nothing is known.
Examples Datasets::transformed(Examples examples, const Expr* transform) {
  const CXXRecordDecl* record = transform->getType()->getAsCXXRecordDecl();
  if (record == nullptr || record->getIdentifier() == nullptr || !is_torchs(record)) return {};
  if (record->getName() == "Normalize" || record->getName() == "Stack") return examples;
  const LambdaExpr* lambda = nullptr;
  for_each_expr(transform, [&](const Expr* one) {
    if (lambda == nullptr) lambda = dyn_cast<LambdaExpr>(one);
  });
  if (record->getName() != "TensorLambda" || lambda == nullptr) return {};
  const CXXMethodDecl* method = lambda->getCallOperator();
  if (method->getNumParams() != 1) return {};
  const DtypeState before = dtypes_.state;
  const int given = dtypes_.make(TensorSource::kOther, examples.data);
  dtypes_.set_place(given, examples.data_made);
  dtypes_.bind(method->getParamDecl(0), given);
  const std::vector<int> values = walk_.run_body(lambda->getBody(), nullptr);
  examples.data = kAnyDtype;
  examples.data_made = {};
  if (values.size() == 1 && values[0] >= 0) {
    examples.data = dtypes_.state.dtypes(values[0]);
    examples.data_made = dtypes_.origin(values[0]);
  }
  dtypes_.state = before;
  return examples;
}

// MNIST gives its images in Float, from 0 to 1, and its labels in Long.
std::optional<Examples> Datasets::examples_of_class(const CXXRecordDecl* dataset,
                                                    const CXXConstructExpr* made) {
  if (dataset == nullptr || dataset->getIdentifier() == nullptr) return std::nullopt;
  if (is_torchs(dataset)) {
    if (dataset->getName() != "MNIST") return std::nullopt;
    return Examples{.data = Dtype::kFloat, .target = Dtype::kLong};
  }
  const CXXMethodDecl* get = nullptr;
  for (const CXXMethodDecl* method : dataset->methods()) {
    if (name_of(method->getDeclName()) == "get") get = method;
  }
  const FunctionDecl* body = get == nullptr ? nullptr : get->getDefinition();
  at_.notify(&Watcher::want_body, get);
  const bool is_busy = llvm::is_contained(at_.stack, body);
  if (body == nullptr || !body->hasBody() || is_busy) return std::nullopt;
  const DtypeState before = dtypes_.state;
  const Key object = {dataset};
  if (made != nullptr) walk_.construct(object, made);
  dtypes_.state.enter_object(object);
  at_.stack.push_back(body);
  const std::vector<int> both = walk_.run_body(body->getBody(), nullptr);
  at_.stack.pop_back();
  std::optional<Examples> examples;
  if (both.size() == 2) {
    examples = Examples{dtypes_.state.dtypes(both[0]), dtypes_.state.dtypes(both[1]),
                        dtypes_.origin(both[0]), dtypes_.origin(both[1])};
  }
  dtypes_.state = before;
  return examples;
}

std::optional<Examples> Datasets::examples_of(const Expr* expr) {
  expr = made_or_named(expr);
  const CXXRecordDecl* dataset = dataset_of(expr->getType());
  if (!is_dataset(dataset)) return std::nullopt;
  if (const auto* name = dyn_cast<DeclRefExpr>(expr)) {
    const auto known = examples_.find(name->getDecl());
    if (known != examples_.end()) return known->second;
    return std::nullopt;
  }
  if (const auto* made = dyn_cast<CXXConstructExpr>(expr)) return examples_of_class(dataset, made);
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return std::nullopt;
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(call))  // *loader
    return op->getNumArgs() == 1 ? examples_of(op->getArg(0)) : std::nullopt;
  if (const auto member = member_call(call)) {
    const auto base = member->name == "map" ? examples_of(member->base) : std::nullopt;
    if (!base || call->getNumArgs() != 1) return std::nullopt;
    return transformed(*base, call->getArg(0)->IgnoreImplicit());
  }
  const bool makes_loader = called_name(call) == "make_data_loader" && call->getNumArgs() > 0;
  return makes_loader ? examples_of(call->getArg(0)) : std::nullopt;
}

void Datasets::bind(const VarDecl* variable, const Expr* value) {
  if (!is_dataset(dataset_of(variable->getType()))) return;
  examples_.erase(variable);
  if (const auto examples = examples_of(value)) examples_[variable] = *examples;
}

// for (auto& batch : *loader): batch.data, batch.target.
void Datasets::bind_each(const VarDecl* variable, const Examples& examples) {
  const CXXRecordDecl* record = variable->getType().getNonReferenceType()->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return;
  for (const FieldDecl* field : record->fields()) {
    const bool is_data = field->getName() == "data";
    if ((!is_data && field->getName() != "target") || !is_tensor(field->getType())) continue;
    const int symbol =
        dtypes_.make(TensorSource::kOther, is_data ? examples.data : examples.target);
    dtypes_.set_place(symbol, is_data ? examples.data_made : examples.target_made);
    dtypes_.state.bind({variable->getCanonicalDecl(), field}, symbol);
  }
}

}  // namespace dtypecheck::analyzer
