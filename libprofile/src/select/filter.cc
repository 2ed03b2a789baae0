#include "memtool/profile/select/filter.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "select/compiled_filter.h"

namespace memtool {

Filter::Filter() : compiled_(std::make_unique<Compiled>()) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

namespace {

// A file's own expression, of whole names; null when it is none.
std::unique_ptr<RE2> WholeName(const std::string& text) {
  auto regex = text.empty() ? nullptr : std::make_unique<RE2>("^(" + text + ")$", RE2::Quiet);
  return regex && regex->ok() ? std::move(regex) : nullptr;
}

}  // namespace

Result<Filter> Filter::Compile(const FilterOptions& options) {
  Filter filter;
  Compiled& to = *filter.compiled_;
  to.options = options;
  struct Slot {
    const char* name;
    const std::string& text;
    std::unique_ptr<RE2>& regex;
  };
  for (const Slot& slot :
       {Slot{"focus", options.focus, to.focus}, Slot{"ignore", options.ignore, to.ignore},
        Slot{"hide", options.hide, to.hide}, Slot{"show", options.show, to.show},
        Slot{"show-from", options.show_from, to.show_from},
        Slot{"prune-from", options.prune_from, to.prune_from},
        Slot{"tagshow", options.tag_show, to.tag_show},
        Slot{"taghide", options.tag_hide, to.tag_hide}}) {
    auto regex = CompileRegex(slot.name, slot.text);
    if (!regex) {
      return Fail(std::move(regex.error()));
    }
    slot.regex = *std::move(regex);
  }
  to.drop_frames = WholeName(options.drop_frames);
  to.keep_frames = WholeName(options.keep_frames);
  if (!options.keep_frames.empty() && to.keep_frames == nullptr) {
    to.drop_frames.reset();  // what to keep is not known
  }
  for (auto [name, text, matcher] :
       {std::tuple{"tagfocus", &options.tag_focus, &to.tag_focus},
        std::tuple{"tagignore", &options.tag_ignore, &to.tag_ignore}}) {
    if (text->empty()) {
      continue;
    }
    auto compiled = TagMatcher::Compile(name, *text, options);
    if (!compiled) {
      return Fail(std::move(compiled.error()));
    }
    *matcher = *std::move(compiled);
  }
  return filter;
}

bool Filter::drops_samples() const {
  const Compiled& c = *compiled_;
  return c.focus || c.ignore || c.hide || c.show || c.show_from || c.tag_focus || c.tag_ignore ||
         !c.options.device.empty();
}

std::vector<std::string_view> Filter::Ranges() const {
  std::vector<std::string_view> names;
  if (compiled_->tag_focus && compiled_->tag_focus->is_range()) {
    names.emplace_back("tagfocus");
  }
  if (compiled_->tag_ignore && compiled_->tag_ignore->is_range()) {
    names.emplace_back("tagignore");
  }
  return names;
}

const FilterOptions& Filter::options() const {
  return compiled_->options;
}

bool DeviceMatches(std::string_view name, std::string_view wanted) {
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && parsed == end ? std::optional(value) : std::nullopt;
  };
  if (name == wanted) {
    return true;
  }
  const auto ordinal = number(wanted);
  if (!ordinal) {
    return false;
  }
  // The first number that stands alone: "cuda:3", "TPU_3(process=0,...)", "3".
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (digit && (i == 0 || std::string_view(":_ ").find(name[i - 1]) != std::string_view::npos)) {
      const std::size_t end = std::min(name.find_first_not_of("0123456789", i), name.size());
      return number(name.substr(i, end - i)) == ordinal;
    }
  }
  return false;
}

std::string LabelValues(const Recording& recording, LabelSetId labels, std::string_view key) {
  std::string joined;
  for (const Label& label : recording.Labels(labels)) {
    if (recording.Text(label.key) != key) {
      continue;
    }
    joined += joined.empty() ? "" : ",";
    if (label.numeric) {
      joined += fmt::format("{}", label.number);
      joined += recording.Text(label.unit).empty() ? "" : " ";
      joined += recording.Text(label.unit);
    } else {
      joined += recording.Text(label.text);
    }
  }
  return joined;
}

}  // namespace memtool
