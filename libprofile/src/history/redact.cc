#include "memtool/profile/history/redact.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/sha256.h"
#include "memtool/profile/base/paths.h"

namespace memtool {

namespace {

constexpr std::size_t kDigestBytes = 6;

// ".py" of a source file, ".so" of a library: gives the kind of frame, and nothing more.
std::string_view GetEnding(std::string_view file) {
  constexpr std::array<std::string_view, 12> kEndings{
      ".py", ".pyx", ".pyc", ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".cuh", ".so"};
  const std::string_view base = BaseName(file);
  const auto* known =
      std::find_if(kEndings.begin(), kEndings.end(),
                   [base](std::string_view ending) { return base.ends_with(ending); });
  return known == kEndings.end() ? std::string_view{} : *known;
}

// "ProfilerStep#12"
bool IsStep(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep#";
  return name.starts_with(kStep) &&
         name.find_first_not_of("0123456789", kStep.size()) == std::string_view::npos;
}

bool IsNumberLabel(std::string_view key) {
  return key == "pool" || key == "stream" || key == "device";
}

// Packages that anybody can install: names in them tell nothing about their user's program.
constexpr std::array<std::string_view, 25> kPublicPackages{
    "accelerate",   "deepspeed", "einops",    "flax",       "functorch",
    "jax",          "jaxlib",    "keras",     "lightning",  "mxnet",
    "numpy",        "optax",     "peft",      "scipy",      "pytorch_lightning",
    "tensorflow",   "torch",     "torch_xla", "torchaudio", "torchvision",
    "transformers", "triton",    "trl",       "vllm",       "xformers"};

// "site-packages/torch/nn/modules/module.py" of an installed package,
// "/lib/python3.11/threading.py" of the standard library: the end of a path that is the same on
// every machine, and that distinguishes frames from a program's own. Empty for all other files.
std::string_view PublicPart(std::string_view file) {
  constexpr std::string_view kPackages = "-packages/";
  constexpr std::string_view kLibrary = "/lib/python3";
  if (const std::size_t at = file.rfind(kPackages); at != std::string_view::npos) {
    const std::string_view before = file.substr(0, at);
    const std::string_view below = file.substr(at + kPackages.size());
    const std::string_view package = below.substr(0, below.find('/'));
    const bool known =
        (before.ends_with("site") || before.ends_with("dist")) &&
        std::find(kPublicPackages.begin(), kPublicPackages.end(), package) != kPublicPackages.end();
    return known && package.size() < below.size()
               ? file.substr(at - std::string_view("site").size())
               : std::string_view{};
  }
  const std::size_t at = file.rfind(kLibrary);
  const bool library = at != std::string_view::npos && file.ends_with(".py") &&
                       file.find('/', at + kLibrary.size()) != std::string_view::npos;
  return library ? file.substr(at) : std::string_view{};
}

// Functions of PyTorch and of Python's interpreter, which have no file. Template arguments may be
// the program's types, so names with them stay hidden.
bool IsPublicNative(std::string_view name) {
  constexpr std::array<std::string_view, 8> kPrefixes{"at::", "c10::",  "torch::",  "THP",
                                                      "_Py",  "PyEval", "PyObject", "aten::"};
  return name.find('<') == std::string_view::npos &&
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

class Redactor {
 public:
  Redactor(Recording& recording, std::string_view salt)
      : recording_(recording), old_(std::move(recording.strings)), salt_(salt) {
    recording_.strings = StringTable();
  }

  void Run() {
    for (Function& function : recording_.functions) {
      Hide(function);
    }
    for (Mapping& mapping : recording_.mappings) {
      mapping.filename = Hide('p', mapping.filename);
      mapping.build_id = Hide('p', mapping.build_id);
    }
    Labels();
    if (recording_.history) {
      History history = *recording_.history;
      for (Mark& mark : history.marks) {
        const bool kept = mark.name.empty() || mark.name == "snapshot" || IsStep(mark.name);
        mark.name = kept ? mark.name : StandIn('m', mark.name, salt_);
      }
      recording_.history = std::make_shared<const History>(std::move(history));
    }
    if (recording_.profile) {
      for (SampleType& type : recording_.profile->types) {
        Keep(type);
      }
      recording_.profile->default_type = Keep(recording_.profile->default_type);
    }
    Metadata& metadata = recording_.metadata;
    Keep(metadata.period_type);
    metadata.drop_frames = metadata.keep_frames = metadata.doc_url = StringId(0U);
    metadata.comments.clear();
    metadata.origin.host.clear();
    metadata.origin.process.reset();
    recording_.diagnostics.clear();
  }

 private:
  [[nodiscard]] std::string_view Text(StringId id) const {
    return id.valid() ? old_[id] : std::string_view{};
  }
  StringId Keep(StringId id) { return id.valid() ? recording_.strings.Intern(old_[id]) : id; }
  void Keep(SampleType& type) {
    type.type = Keep(type.type);
    type.unit = Keep(type.unit);
  }

  StringId Hide(char kind, StringId id) {
    if (!id.valid()) {
      return id;
    }
    const auto [known, fresh] = hidden_.try_emplace({kind, id}, StringId());
    if (fresh) {
      const std::string_view name = old_[id];
      std::string text =
          name.empty() || name == "??" ? std::string(name) : StandIn(kind, name, salt_);
      text += kind == 'p' && text != name ? GetEnding(name) : std::string_view{};
      known->second = recording_.strings.Intern(text);
    }
    return known->second;
  }

  void Hide(Function& function) {
    const std::string_view file = Text(function.filename);
    const std::string_view part = PublicPart(file);
    const bool native = (file.empty() || file == "??") && IsPublicNative(Text(function.name));
    if (part.empty() && !native) {
      function.name = Hide('f', function.name);
      function.system_name = Hide('f', function.system_name);
      function.filename = Hide('p', function.filename);
      return;
    }
    function.name = Keep(function.name);
    function.system_name = Keep(function.system_name);
    function.filename = native ? Keep(function.filename) : recording_.strings.Intern(part);
  }

  void Labels() {
    Runs<LabelSetId, Label> sets;
    std::vector<Label> labels;
    for (std::uint32_t i = 0; i < recording_.label_set_count(); ++i) {
      labels.clear();
      for (Label label : recording_.Labels(LabelSetId(i))) {
        const bool number = label.numeric || IsNumberLabel(old_[label.key]);
        label.text = number ? Keep(label.text) : Hide('t', label.text);
        label.key = Keep(label.key);
        label.unit = Keep(label.unit);
        labels.push_back(label);
      }
      sets.Add(labels);
    }
    recording_.label_sets = std::move(sets);
  }

  Recording& recording_;
  StringTable old_;
  std::string_view salt_;
  std::map<std::pair<char, StringId>, StringId> hidden_;
};

}  // namespace

std::string StandIn(char kind, std::string_view name, std::string_view salt) {
  std::string text(salt);
  text += '\0';
  text += name;
  const auto digest = Sha256(text);
  std::string stand_in = {kind, '_'};
  for (std::size_t i = 0; i < kDigestBytes; ++i) {
    stand_in += fmt::format("{:02x}", digest.at(i));
  }
  return stand_in;
}

Recording Redact(Recording recording, std::string_view salt) {
  Redactor(recording, salt).Run();
  return recording;
}

}  // namespace memtool
