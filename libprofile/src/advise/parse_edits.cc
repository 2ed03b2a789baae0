#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "memtool/profile/advise/edits.h"
#include "memtool/profile/base/numbers.h"

namespace memtool::advise {

namespace {

// What follows the words that a change begins with.
enum class Takes : std::uint8_t { kNothing, kCount, kText, kPlace, kOptimizer };
struct Form {
  std::string_view begins;
  std::string_view rest;  // for people
  Edit::Kind kind;
  Takes takes;
};
constexpr std::array kForms{
    Form{"checkpoint:", "WHERE[,group=K][,every=N][,reentrant]", Edit::Kind::kCheckpoint,
         Takes::kPlace},
    Form{"next-step", "", Edit::Kind::kNextStep, Takes::kNothing},
    Form{"foreach=False", "", Edit::Kind::kForeachOff, Takes::kNothing},
    Form{"optimizer=", "8bit|cpu|sgd", Edit::Kind::kOptimizer, Takes::kOptimizer},
    Form{"zero1=", "N", Edit::Kind::kShard, Takes::kCount},
    Form{"accumulate=", "K", Edit::Kind::kAccumulate, Takes::kCount},
    Form{"batch/", "N", Edit::Kind::kBatch, Takes::kCount},
    Form{"autocast=bf16", "", Edit::Kind::kAutocast, Takes::kNothing},
    Form{"chunk-loss=", "K", Edit::Kind::kChunkLoss, Takes::kCount},
    Form{"drop:", "REGEX", Edit::Kind::kDrop, Takes::kText}};
constexpr std::array kOptimizers{std::pair{std::string_view("8bit"), OptimizerChange::k8Bit},
                                 std::pair{std::string_view("cpu"), OptimizerChange::kCpu},
                                 std::pair{std::string_view("sgd"), OptimizerChange::kSgd}};
constexpr std::uint32_t kMost = 4096;  // ranks, parts, calls in a group

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

tl::unexpected<Error> Unknown(std::string_view text) {
  std::string forms;
  for (const Form& form : kForms) {
    forms += fmt::format("{}{}, ", form.begins, form.rest);
  }
  return Fail(ErrorCode::kUsage, fmt::format("'{}' is no change that is known", text),
              forms + "or settings of the allocator");
}

// Of "group=2", behind "group=".
std::optional<std::uint32_t> CountBehind(std::string_view text, std::string_view name,
                                         std::uint32_t least) {
  if (!text.starts_with(name)) {
    return std::nullopt;
  }
  const auto count = ParseNumber<std::uint32_t>(text.substr(name.size()));
  return count && *count >= least && *count <= kMost ? count : std::nullopt;
}

// "WHERE[,group=K][,every=N][,reentrant]"
Result<void> TakePlace(std::string_view rest, Edit& edit) {
  edit.where = rest.substr(0, rest.find(','));
  while (rest.find(',') != std::string_view::npos) {
    rest.remove_prefix(rest.find(',') + 1);
    const std::string_view word = Trimmed(rest.substr(0, rest.find(',')));
    if (const auto group = CountBehind(word, "group=", 1)) {
      edit.group = *group;
    } else if (const auto every = CountBehind(word, "every=", 1)) {
      edit.every = *every;
    } else if (word == "reentrant") {
      edit.reentrant = true;
    } else {
      return Fail(ErrorCode::kUsage, fmt::format("checkpoint has no '{}'", word),
                  "group=K (calls together), every=N, reentrant");
    }
  }
  return edit.where.empty()
             ? Result<void>(
                   Fail(ErrorCode::kUsage, "checkpoint: of which function?",
                        "checkpoint:NAME or checkpoint:FILE.py:LINE, the line of the call"))
             : Result<void>();
}

Result<Edit> ParseForm(std::string_view text, const Form& form) {
  Edit edit{.kind = form.kind, .text = std::string(text)};
  const std::string_view rest = text.substr(form.begins.size());
  switch (form.takes) {
    case Takes::kNothing:
      return rest.empty() ? Result<Edit>(std::move(edit)) : Result<Edit>(Unknown(text));
    case Takes::kText:
      edit.where = rest;
      return edit;
    case Takes::kPlace:
      MEMTOOL_TRY(TakePlace(rest, edit));
      return edit;
    case Takes::kOptimizer: {
      const auto* const known =
          std::find_if(kOptimizers.begin(), kOptimizers.end(),
                       [rest](const auto& optimizer) { return optimizer.first == rest; });
      if (known == kOptimizers.end()) {
        return Unknown(text);
      }
      edit.optimizer = known->second;
      return edit;
    }
    case Takes::kCount:
      break;
  }
  const auto count = CountBehind(text, form.begins, 2);
  if (!count) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}': a number from 2 to {} belongs behind '{}'",
                                               text, kMost, form.begins));
  }
  edit.count = *count;
  return edit;
}

Result<Edit> ParseEdit(std::string_view text) {
  const auto* const form = std::find_if(kForms.begin(), kForms.end(), [text](const Form& one) {
    return text.starts_with(one.begins);
  });
  if (form != kForms.end()) {
    return ParseForm(text, *form);
  }
  if (text.find(':') == std::string_view::npos) {
    return Unknown(text);
  }
  auto settings = whatif::ParseAllocatorConf(std::string(text));
  MEMTOOL_TRY(settings);
  if (settings->other_allocator) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: only PyTorch's own allocator (backend:native) is modelled", text));
  }
  return Edit{
      .kind = Edit::Kind::kSettings, .text = std::string(text), .settings = *std::move(settings)};
}

}  // namespace

Result<Edits> ParseEdits(std::string_view text) {
  constexpr std::string_view kJoin = " + ";
  Edits edits;
  while (true) {
    const std::size_t end = std::min(text.find(kJoin), text.size());
    auto edit = ParseEdit(Trimmed(text.substr(0, end)));
    MEMTOOL_TRY(edit);
    edits.push_back(*std::move(edit));
    if (end == text.size()) {
      return edits;
    }
    text.remove_prefix(end + kJoin.size());
  }
}

std::string ToText(std::span<const Edit> edits) {
  std::string text;
  for (const Edit& edit : edits) {
    text += (text.empty() ? "" : " + ") + edit.text;
  }
  return text;
}

}  // namespace memtool::advise
