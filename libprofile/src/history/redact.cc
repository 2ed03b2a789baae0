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

// ".py" of a source file, ".so" of a library: what kind of frame it is, and nothing about it.
std::string_view EndingOf(std::string_view file) {
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

class Redactor {
 public:
  Redactor(Recording& recording, std::string_view salt)
      : recording_(recording), old_(std::move(recording.strings)), salt_(salt) {
    recording_.strings = StringTable();
  }

  void Run() {
    for (Function& function : recording_.functions) {
      function.name = Hide('f', function.name);
      function.system_name = Hide('f', function.system_name);
      function.filename = Hide('p', function.filename);
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
    recording_.diagnostics.clear();
  }

 private:
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
      text += kind == 'p' && text != name ? EndingOf(name) : std::string_view{};
      known->second = recording_.strings.Intern(text);
    }
    return known->second;
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
