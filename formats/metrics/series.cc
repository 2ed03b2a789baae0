#include "metrics/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "log/patterns.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::formats::metrics {

namespace {

constexpr std::size_t kMaxStatements = 400'000;
constexpr std::size_t kMaxTags = 100'000;  // that are remembered
constexpr std::size_t kMaxTagBytes = 400;  // longer ones are no tags of memory
constexpr std::size_t kMaxUnread = 200;
constexpr double kMostBytes = 4e18;

std::span<const log::PatternTable* const> Tables() {
  static const std::array<const log::PatternTable*, 1> tables = {&BuiltinTags()};
  return tables;
}

bool IsAboutMemory(std::string_view tag) {
  static constexpr std::array<std::string_view, 5> kWords = {"mem", "Mem", "alloc", "reserved",
                                                             "hbm"};
  return std::any_of(kWords.begin(), kWords.end(), [tag](std::string_view word) {
    return tag.find(word) != std::string_view::npos;
  });
}

std::int64_t CeilOf(double bytes) {
  return bytes < 0.5 ? 0 : std::llround(std::ceil(std::min(bytes, kMostBytes)));
}

}  // namespace

const log::PatternTable& BuiltinTags() {
  static const log::PatternTable table =
      log::PatternTable::Parse(BuiltinTagTexts(), "tags.yaml").value();
  return table;
}

std::optional<Number> NumberInText(std::string_view text) {
  const auto value = ParseNumber<double>(text);
  if (!value || !std::isfinite(*value)) {
    return std::nullopt;
  }
  const std::size_t point = text.find('.');
  const bool exponent = text.find_first_of("eE") != std::string_view::npos;
  if (point == std::string_view::npos || exponent) {
    return Number{*value, 0};
  }
  return Number{*value, std::pow(10.0, -static_cast<double>(text.size() - point - 1)) / 2};
}

Number NumberOfFloat(float value) {
  const float next = std::nextafter(value, std::numeric_limits<float>::infinity());
  return {value, (static_cast<double>(next) - static_cast<double>(value)) / 2};
}

std::int64_t TimeOf(double seconds) {
  // A double of today's seconds is right to a quarter of a microsecond.
  constexpr double kMicros = 1e6;
  constexpr std::int64_t kNanos = 1000;
  constexpr double kLast = 9e9;  // of what 64 bits of nanoseconds hold
  return seconds > 0 && seconds < kLast ? std::llround(seconds * kMicros) * kNanos : kNoTime;
}

bool IsStep(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"step", "Step", "global_step",
                                                             "_step"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsTime(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kNames = {"wall_time", "_timestamp",
                                                             "timestamp"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Series::Series() : scan_(Tables()) {}

// Null: nothing about memory.
const Series::Tag* Series::FindTag(std::string_view tag, std::uint64_t place) {
  if (const auto known = tags_.find(tag); known != tags_.end()) {
    return known->second.says.empty() ? nullptr : &known->second;
  }
  if (tag.size() > kMaxTagBytes) {
    return nullptr;
  }
  if (tags_.size() >= kMaxTags) {
    ++unlooked_;
    return nullptr;
  }
  line_.assign(tag).append(" = 1");
  const auto [says, known] = scan_.Find({.text = line_, .number = 1});
  if (!known && IsAboutMemory(tag)) {
    NoteUnread(tag, place);
  }
  const auto copied = [this](StringId id) {
    return id.valid() ? made_.strings.Intern(scan_.Text(id)) : StringId();
  };
  Tag& made = tags_.try_emplace(std::string(tag)).first->second;
  for (Statement statement : says) {
    statement.producer = copied(statement.producer);
    // "gpu.0.…": a number alone would say little.
    const std::string_view device = statement.device.valid() ? scan_.Text(statement.device) : "";
    statement.device = device.empty() ? StringId()
                       : std::all_of(device.begin(), device.end(), IsDigit)
                           ? made_.strings.Intern(fmt::format("device {}", device))
                           : made_.strings.Intern(device);
    statement.stage = copied(statement.stage);
    statement.process = {};
    made.says.push_back(statement);
  }
  return made.says.empty() ? nullptr : &made;
}

void Series::NoteUnread(std::string_view tag, std::uint64_t place) {
  if (++made_.unread_count <= kMaxUnread) {
    made_.unread.push_back({.line = place, .text = std::string(tag)});
  }
}

void Series::Add(const Moment& moment, std::string_view tag, Number value) {
  const Tag* const found = FindTag(tag, moment.place);
  if (found == nullptr) {
    return;
  }
  const auto [amount, error] = value;
  for (const Statement& statement : found->says) {
    const auto unit = static_cast<double>(statement.value);
    const std::string_view stage =
        statement.stage.valid() ? made_.strings[statement.stage] : std::string_view();
    Put(moment, statement, stage, amount * unit, error * unit);
  }
}

void Series::Add(const Moment& moment, const Statement& what, std::string_view stage,
                 double bytes) {
  Put(moment, what, stage, bytes, 0);
}

Statement Series::Make(std::string_view producer, std::string_view amount, bool host) {
  return {.producer = made_.strings.Intern(producer),
          .process = {},
          .device = {},
          .stage = {},
          .amount = *FindAmount(amount),
          .host = host};
}

void Series::Put(const Moment& moment, Statement statement, std::string_view stage, double bytes,
                 double error) {
  last_place_ = moment.place;
  if (!(bytes >= 0 && bytes <= kMostBytes)) {
    AddBad();
    return;
  }
  ++made_.found;
  if (made_.list.size() >= kMaxStatements) {
    return;
  }
  stage_.assign(moment.step ? fmt::format("step {}", *moment.step) : std::string());
  stage_.append(stage_.empty() || stage.empty() ? "" : ", ").append(stage);
  statement.line = moment.place;
  statement.time = moment.time;
  statement.value = std::llround(bytes);
  statement.below = statement.above = CeilOf(error);
  statement.stage = stage_.empty() ? StringId() : made_.strings.Intern(stage_);
  made_.list.push_back(statement);
}

// Where a tag names a peak above all levels.
std::string Series::NamedPeak() const {
  std::int64_t peak = 0;
  std::int64_t level = 0;
  for (const Statement& statement : made_.list) {
    if (statement.what().name == "peak_allocated") {
      peak = std::max(peak, statement.value);
    } else if (statement.what().name == "allocated") {
      level = std::max(level, statement.value);
    }
  }
  return level > 0 && peak > level
             ? fmt::format("; a tag names a peak of {}, and the highest value is {}",
                           FormatSize(peak), FormatSize(level))
             : std::string();
}

Result<Recording> Series::Finish(const log::LogForm& form, std::uint64_t end,
                                 std::string_view hint) {
  if (made_.list.empty()) {
    const std::string other =
        made_.unread.empty() ? "" : fmt::format(" (there is '{}')", made_.unread.front().text);
    return Fail(Error{
        .code = ErrorCode::kUnknownFormat,
        .input = {},
        .offset = end,
        .message = fmt::format("{} without a tag about memory that is known{}", form.noun, other),
        .hint = std::string(hint)});
  }
  auto recording = log::ToRecording(made_, {}, form);
  if (recording) {
    recording->blind_spots.push_back({.what = "what was held between two values",
                                      .why = "metrics are logged once a step or so" + NamedPeak()});
  }
  if (recording && bad_ > 0) {
    recording->diagnostics.push_back(
        {.severity = Severity::kDamage,
         .code = "bad_values",
         .message = "values of memory that are negative, no numbers, or beyond any memory",
         .count = bad_});
  }
  if (recording && unlooked_ > 0) {
    recording->diagnostics.push_back(
        {.severity = Severity::kWarning,
         .code = "tags_left_out",
         .message = fmt::format("values of tags beyond the first {}: not looked at", kMaxTags),
         .count = unlooked_});
  }
  return recording;
}

}  // namespace memtool::formats::metrics
