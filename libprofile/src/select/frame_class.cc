#include "memtool/profile/select/frame_class.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/operation_name.h"
#include "memtool/profile/select/xla_names.h"
#include "select/scripts.h"

namespace memtool {

namespace {

constexpr std::size_t kMaxLayers = 32;  // bits of FrameClassifier::Words

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What follows the last "site-packages/" or "dist-packages/", or nothing. Wheels that are run as
// they are (pex) hold a package, and so do the folders that Bazel makes of them.
std::string_view BelowPackages(std::string_view file) {
  constexpr std::array<std::string_view, 3> kMarks{"-packages/", ".whl/", ".egg/"};
  std::size_t below = 0;
  for (const std::string_view mark : kMarks) {
    const std::size_t at = file.rfind(mark);
    below = at == std::string_view::npos ? below : std::max(below, at + mark.size());
  }
  if (const std::size_t runfiles = file.rfind(".runfiles/"); runfiles != std::string_view::npos) {
    const std::size_t folder = file.find('/', runfiles) + 1;
    const std::size_t end = file.find('/', folder);
    const std::string_view repository = file.substr(folder, end - folder);
    const bool pip = repository.starts_with("pip_") || repository.starts_with("pypi_") ||
                     Contains(repository, "~pip~") || Contains(repository, "+pip+");
    below = pip && end != std::string_view::npos ? std::max(below, end + 1) : below;
  }
  return below == 0 ? std::string_view{} : file.substr(below);
}

// "/usr/lib/python3.11/contextlib.py", "/opt/conda/lib/python3.9/threading.py"
bool IsPythonLibrary(std::string_view file) {
  if (file.starts_with("<frozen ")) {
    return true;
  }
  const bool library = Contains(file, "/lib/python3") || Contains(file, "/lib/python2") ||
                       Contains(file, "/Lib/");  // Windows
  return library && BelowPackages(file).empty();
}

// "/opt/conda/bin/torchrun": a script without an ending that starts a package.
bool IsStartScript(std::string_view file) {
  return Contains(file, "/bin/") && !Contains(BaseName(file), ".");
}

// "/usr/local/src/conda/python-3.12.3/Objects/call.c", or as its makefile names it,
// "../Objects/call.c": functions of the interpreter have any name.
bool IsInterpreterFile(std::string_view file) {
  constexpr std::array<std::string_view, 4> kFolders{"Objects/", "Python/", "Modules/", "Include/"};
  if (!file.ends_with(".c") && !file.ends_with(".h")) {
    return false;
  }
  return std::any_of(kFolders.begin(), kFolders.end(), [file](std::string_view folder) {
    const std::size_t at = file.find(folder);
    if (at == std::string_view::npos || (at > 0 && file[at - 1] != '/')) {
      return false;
    }
    const std::string_view before = file.substr(0, at);
    return before.find_first_not_of("./") == std::string_view::npos ? !file.starts_with('/')
                                                                    : Contains(before, "ython");
  });
}

// A static C symbol, as PyTorch's snapshots name it: without a file, and without the arguments that
// C++ has. In conda builds those are the interpreter's.
bool IsStaticName(std::string_view function) {
  return !function.empty() && std::all_of(function.begin(), function.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

// Operations as PyTorch's profiler names them, without a file.
struct Operation {
  bool known = false;
  bool informative = false;  // says more than that memory was allocated
};
Operation ProfilerOperation(std::string_view function) {
  if (function.starts_with("aten::")) {
    return {true, !function.starts_with("aten::empty") && function != "aten::resize_"};
  }
  if (function.starts_with("autograd::engine::evaluate_function: ")) {
    return {true, false};
  }
  const std::size_t digits = function.find_last_not_of("0123456789") + 1;
  const bool backward =
      digits < function.size() && function.substr(0, digits).ends_with("Backward");
  return {backward, backward};
}

// What a profiler's trace says about Python without a file: modules ("nn.Module: Linear_0") and the
// ranges that a program marks.
bool MayBeMark(std::string_view function) {
  return !function.empty() && !Contains(function, "::") && !function.starts_with("<built-in ") &&
         !function.starts_with('(') && !ProfilerOperation(function).known;
}

bool IsTraceOfPyTorch(const Origin& origin) {
  return origin.framework == Framework::kPyTorch && origin.kind == RecordingKind::kTrace;
}

// Words of any number of groups, searched at once.
class WordSet {
 public:
  static Result<WordSet> Compile(const std::vector<FrameRules::Group>& groups) {
    WordSet set;
    for (const FrameRules::Group& group : groups) {
      for (const std::string& word : group.words) {
        const std::string_view regex = RegexOfWord(word);
        if (regex.empty()) {
          set.packages_.insert(word);
          continue;
        }
        std::string error;
        if (!set.regexes_) {
          set.regexes_ = std::make_unique<RE2::Set>(RE2::Quiet, RE2::UNANCHORED);
        }
        if (set.regexes_->Add({regex.data(), regex.size()}, &error) < 0) {
          return Fail(ErrorCode::kUsage, fmt::format("{}: '{}' is not a regular expression: {}",
                                                     group.name, regex, error));
        }
      }
    }
    if (set.regexes_ && !set.regexes_->Compile()) {
      return Fail(ErrorCode::kLimit,
                  fmt::format("{}: too many regular expressions", groups.back().name));
    }
    return set;
  }

  [[nodiscard]] bool MatchesFile(std::string_view file) const {
    return Search(file) || HasPackageOf(file);
  }
  [[nodiscard]] bool Search(std::string_view text) const {
    return regexes_ && !text.empty() && regexes_->Match({text.data(), text.size()}, nullptr);
  }

 private:
  // Installed, or run from its sources: "src/transformers/…", "vllm/vllm/…", "python/mxnet/…", and
  // as PyTorch's profiler writes it, without what comes before the package.
  [[nodiscard]] bool HasPackageOf(std::string_view file) const {
    if (packages_.empty()) {
      return false;
    }
    if (const std::string_view below = BelowPackages(file); !below.empty()) {
      return packages_.count(std::string(below.substr(0, below.find_first_of("/.")))) > 0;
    }
    std::string_view before;
    std::size_t from = 0;
    for (std::size_t slash = file.find('/'); slash != std::string_view::npos;
         slash = file.find('/', from)) {
      const std::string_view folder = file.substr(from, slash - from);
      const bool root =
          from == 0 || before == "src" || before == "python" || before == "py" || before == folder;
      if (root && !folder.empty() && packages_.count(std::string(folder)) > 0) {
        return true;
      }
      before = folder;
      from = slash + 1;
    }
    return false;
  }

  KeySet<std::string> packages_;
  std::unique_ptr<RE2::Set> regexes_;
};

// "std::vector<…> torch::autograd::generated::DivBackward0::apply(…)", AccumulateGrad and its like.
bool IsAutogradNode(std::string_view function) {
  const std::size_t arguments = function.find("::apply(");
  const std::size_t at = arguments == std::string_view::npos
                             ? std::string_view::npos
                             : function.rfind("torch::autograd::", arguments);
  if (at == std::string_view::npos) {
    return false;
  }
  // Not within a template's arguments.
  const std::string_view before = function.substr(0, at);
  return std::count(before.begin(), before.end(), '<') ==
             std::count(before.begin(), before.end(), '>') &&
         function.substr(at, arguments - at).find_first_of("<(") == std::string_view::npos;
}

// The operation of "at::_ops::sum_dim_IntList::call(…)", from its name on; or nothing.
std::string_view MakeEntry(std::string_view function) {
  constexpr std::string_view kOps = "at::_ops::";
  const std::size_t at = function.find(kOps);
  return at == std::string_view::npos ? std::string_view{} : function.substr(at + kOps.size());
}

bool OnlyMakesMemory(std::string_view entry) {
  return entry.starts_with("empty") || entry.starts_with("new_empty") ||
         entry.starts_with("resize_");
}

bool IsInformativeCall(std::string_view function) {
  const std::string_view entry = MakeEntry(function);
  return Contains(entry, "::call(") && !OnlyMakesMemory(entry);
}

// A node's work under another name ("generated::DivBackward0_apply_functional(…)"), and entries of
// operations that only make memory.
bool SaysNoMore(std::string_view function) {
  return Contains(function, "_apply_functional(") || Contains(function, "_apply_impl(") ||
         OnlyMakesMemory(MakeEntry(function));
}

// A library call that says what the memory is for, where nothing else does.
bool IsRuntimeCall(std::string_view name) {
  constexpr std::array<std::string_view, 5> kPrefixes{"nccl", "cublas", "cudnn", "cudaMalloc",
                                                      "cuMem"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

bool IsXlaTrace(const Origin& origin) {
  return origin.kind == RecordingKind::kTrace &&
         (origin.framework == Framework::kJax || origin.framework == Framework::kUnknown);
}

// Whose frame it is by the words: true for the program's own, none where no word decides. The first
// layer that has a word of either text decides.
std::optional<bool> Owned(const FrameClassifier::Words& function,
                          const FrameClassifier::Words& file) {
  const std::uint32_t own = function.own | file.own;
  const std::uint32_t any = own | function.not_own | file.not_own;
  return any == 0 ? std::nullopt : std::optional((own & (any & -any)) != 0);
}

}  // namespace

struct FrameClassifier::Compiled {
  struct Layer {
    WordSet own;
    WordSet not_own;
  };
  std::vector<Layer> layers;
  WordSet native;
  KeySet<std::string> through;

  // `matches`: (const WordSet&) → whether a word of it is in the text.
  template <class Matches>
  [[nodiscard]] Words GetWords(const Matches& matches) const {
    Words words;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      words.own |= matches(layers[i].own) ? 1U << i : 0U;
      words.not_own |= matches(layers[i].not_own) ? 1U << i : 0U;
    }
    return words;
  }
};

FrameClassifier::FrameClassifier() = default;
FrameClassifier::FrameClassifier(FrameClassifier&&) noexcept = default;
FrameClassifier& FrameClassifier::operator=(FrameClassifier&&) noexcept = default;
FrameClassifier::~FrameClassifier() = default;

Result<FrameClassifier> FrameClassifier::Compile(const FrameRules& rules) {
  auto compiled = std::make_unique<Compiled>();
  if (rules.layers.size() > kMaxLayers) {
    return Fail(ErrorCode::kLimit,
                fmt::format("more than {} sources of rules for frames", kMaxLayers));
  }
  for (const FrameRules::Layer& layer : rules.layers) {
    auto own = WordSet::Compile(layer.own);
    MEMTOOL_TRY(own);
    auto not_own = WordSet::Compile(layer.not_own);
    MEMTOOL_TRY(not_own);
    compiled->layers.push_back({*std::move(own), *std::move(not_own)});
  }
  auto native = WordSet::Compile(rules.native);
  MEMTOOL_TRY(native);
  compiled->native = *std::move(native);
  compiled->through.insert(rules.through.begin(), rules.through.end());
  FrameClassifier classifier;
  classifier.compiled_ = std::move(compiled);
  return classifier;
}

const FrameClassifier& FrameClassifier::Builtin() {
  static const FrameClassifier builtin = *Compile(BuiltinFrameRules());
  return builtin;
}

FrameClassifier::FileFacts FrameClassifier::LookAtFile(std::string_view file) const {
  std::string normal(file);
  std::replace(normal.begin(), normal.end(), '\\', '/');  // recorded on Windows
  const std::string_view path = normal;
  // "??" is what PyTorch writes for code without symbols: the nearest exported name, which is a
  // guess.
  return {
      .words = compiled_->GetWords([path](const WordSet& set) { return set.MatchesFile(path); }),
      .empty = path.empty(),
      .python = IsPythonFile(path),
      .library = IsPythonLibrary(path),
      .package = !BelowPackages(path).empty(),
      .start_script = IsStartScript(path),
      .interpreter = path == "??" || IsInterpreterFile(path),
      .of_jax = IsBareFileOfJax(path)};
}

FrameClassifier::FunctionFacts FrameClassifier::LookAtFunction(std::string_view function) const {
  return {
      .words = compiled_->GetWords([function](const WordSet& set) { return set.Search(function); }),
      .empty = function.empty(),
      .through = compiled_->through.count(std::string(function)) > 0,
      .mark = MayBeMark(function),
      .operation = ProfilerOperation(function).known};
}

FrameClassifier::NativeFacts FrameClassifier::LookAtNative(std::string_view function) const {
  const std::string_view name = WithoutArguments(function);
  return {.runtime = compiled_->native.Search(name),
          .static_name = IsStaticName(function),
          .operation = ProfilerOperation(function).informative,
          .autograd_node = IsAutogradNode(function),
          .op_name = !OperationName(function).empty(),
          .library_call = IsRuntimeCall(name),
          .informative_call = IsInformativeCall(function),
          .says_no_more = SaysNoMore(function),
          .jit = IsJitName(function),
          .xla_runtime = IsXlaRuntimeSpan(function)};
}

bool FrameClassifier::IsPython(const FunctionFacts& function, const FileFacts& file,
                               const Origin& origin) {
  return file.python || (file.empty && function.mark && IsTraceOfPyTorch(origin));
}

FrameClass FrameClassifier::ClassifyPython(const FunctionFacts& function, const FileFacts& file,
                                           const Origin& origin) {
  std::optional<bool> owned = Owned(function.words, file.words);
  if (!owned && IsXlaTrace(origin) && file.of_jax) {
    owned = false;
  }
  const bool app = owned.value_or(!file.library && !file.package && !file.start_script);
  return {.app = app,
          .python = true,
          .installed = file.package && !owned,
          .framework = owned && !*owned,
          .wrapper = !app && function.through};
}

FrameClass FrameClassifier::ClassifyNative(const FunctionFacts& function, const NativeFacts& native,
                                           const FileFacts& file, const Origin& origin) {
  if (IsXlaTrace(origin) && file.empty) {
    // Spans are operations and what the program named itself, between those of the runtime. Below
    // Python only the jitted function is a call.
    const bool runtime = !native.jit && native.xla_runtime;
    return {.app = !native.jit && !runtime, .op = native.jit, .wrapper = !native.jit};
  }
  const bool static_of_snapshot = file.empty && native.static_name &&
                                  origin.framework == Framework::kPyTorch &&
                                  origin.kind == RecordingKind::kSnapshot;
  const bool interpreter = (function.empty && file.empty) || file.interpreter || static_of_snapshot;
  const bool operation = file.empty && function.operation;
  const bool hidden =
      !Owned(function.words, file.words).value_or(!operation && !interpreter && !native.runtime);
  const bool op = (file.empty && native.operation) || native.autograd_node;
  const bool is_known = native.op_name || (!interpreter && native.library_call);
  const bool wrapper = hidden && (!is_known || native.says_no_more);
  return {.app = !hidden,
          .op = op,
          .call = native.informative_call,
          .informative = hidden && !wrapper,
          .wrapper = wrapper};
}

FrameClass FrameClassifier::Classify(std::string_view function, std::string_view file,
                                     const Origin& origin) const {
  const FileFacts of_file = LookAtFile(file);
  const FunctionFacts of_function = LookAtFunction(function);
  return IsPython(of_function, of_file, origin)
             ? ClassifyPython(of_function, of_file, origin)
             : ClassifyNative(of_function, LookAtNative(function), of_file, origin);
}

std::function<FrameClassifier::FileFacts(StringId)> FrameClasses::FileLook(
    const FrameClassifier& classifier, const Recording& recording) {
  return [&classifier, &recording, scripts = FindScripts(recording)](StringId id) {
    FileFacts facts = classifier.LookAtFile(recording.Text(id));
    if (scripts.python.contains(id)) {
      facts.python = true;
      facts.start_script = !scripts.own.contains(id);
    }
    return facts;
  };
}

FrameClass FrameClasses::operator()(const Function& function) {
  const FrameClassifier::FileFacts file = of_file_(function.filename);
  const FrameClassifier::FunctionFacts name = of_function_(function.name);
  return FrameClassifier::IsPython(name, file, origin_)
             ? FrameClassifier::ClassifyPython(name, file, origin_)
             : FrameClassifier::ClassifyNative(name, of_native_(function.name), file, origin_);
}

bool IsPythonFile(std::string_view file) {
  constexpr std::array<std::string_view, 4> kEndings{".py", ".pyx", ".pyw", ".pyi"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [file](std::string_view ending) { return file.ends_with(ending); }) ||
         file.starts_with('<') || file.starts_with("/tmp/ipykernel") || IsStartScript(file);
}

}  // namespace memtool
