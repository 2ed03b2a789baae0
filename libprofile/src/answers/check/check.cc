#include "memtool/profile/answers/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "memtool/profile/base/paths.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/extent.h"

namespace memtool {

namespace {

constexpr std::size_t kMaxCauses = 5;
// A row that is new and larger is named even where all limits hold.
constexpr std::int64_t kLargeNewRow = std::int64_t{64} << 20U;

// None where the format does not tell it: nothing is live in what nobody reserved.
std::optional<std::int64_t> GetReserved(const Digest& digest) {
  std::int64_t most = 0;
  for (const DigestDevice& device : digest.devices) {
    most = std::max(most, device.reserved_peak);
  }
  return most == 0 && digest.peak > 0 ? std::nullopt : std::optional(most);
}

// False where nothing was recorded of what happened: the peak was no less than what is there.
bool TellsPeak(const Digest& digest) {
  return std::none_of(digest.diagnostics.begin(), digest.diagnostics.end(),
                      [](const auto& each) { return LeavesPeakUnknown(each.first); });
}

std::optional<std::int64_t> KnownPeak(const Digest& digest, std::int64_t peak, std::int64_t limit) {
  return peak <= limit && !TellsPeak(digest) ? std::nullopt : std::optional(peak);
}

const DigestDevice* DeviceNamed(const Digest& digest, std::string_view name) {
  const auto found = std::find_if(digest.devices.begin(), digest.devices.end(),
                                  [name](const DigestDevice& one) { return one.name == name; });
  return found == digest.devices.end() ? nullptr : &*found;
}

const BucketBytes* BucketNamed(const CheckFacts& facts, std::string_view name) {
  const auto found = std::find_if(facts.buckets.begin(), facts.buckets.end(),
                                  [name](const BucketBytes& one) { return one.name == name; });
  return found == facts.buckets.end() ? nullptr : &*found;
}

// Rows of one digest by name and file; a baseline may have left small ones out.
class CheckRows {
 public:
  explicit CheckRows(const Digest* digest) {
    if (digest != nullptr) {
      for (const DigestRow& row : digest->rows) {
        rows_[{row.name, row.file}] = &row;
      }
    }
  }
  [[nodiscard]] const DigestRow* Find(const DigestRow& row) const {
    const auto found = rows_.find({row.name, row.file});
    return found == rows_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, const DigestRow*> rows_;
};

// The rows that matter to a broken limit: with a baseline those that grew, else the largest.
std::vector<CheckCause> FindCauses(const Digest& digest, const Digest* base,
                                   std::int64_t DigestRow::*part) {
  const CheckRows before(base);
  std::vector<CheckCause> causes;
  causes.reserve(digest.rows.size());
  for (const DigestRow& row : digest.rows) {
    const DigestRow* const was = before.Find(row);
    CheckCause cause{.name = row.name, .file = row.file, .base = {}, .now = row.*part};
    if (was != nullptr) {
      cause.base = was->*part;
    }
    if (cause.growth() > 0) {
      causes.push_back(std::move(cause));
    }
  }
  std::stable_sort(causes.begin(), causes.end(), [](const CheckCause& a, const CheckCause& b) {
    return a.growth() > b.growth();
  });
  causes.resize(std::min(causes.size(), kMaxCauses));
  return causes;
}

std::int64_t DigestRow::*MakePart(CheckWhat what) {
  return what == CheckWhat::kTotal ? &DigestRow::end : &DigestRow::peak;
}

std::string FormatPercent(std::int64_t now, std::int64_t base) {
  return base == 0 ? std::string()
                   : fmt::format(" ({:+.1f}%)",
                                 100.0 * (static_cast<double>(now) - static_cast<double>(base)) /
                                     static_cast<double>(base));
}

}  // namespace

std::int64_t GrowthBand::Limit(std::int64_t base) const {
  const double share = std::floor(static_cast<double>(base) * ratio);
  constexpr auto kMax = static_cast<double>(std::int64_t{1} << 62U);
  return SaturatingAdd(base,
                       std::max(amount, static_cast<std::int64_t>(std::clamp(share, 0.0, kMax))));
}

std::string_view ToName(CheckWhat what) {
  constexpr std::array<std::string_view, 6> kNames{"peak",   "total",  "reserved",
                                                   "device", "bucket", "function"};
  return kNames[static_cast<std::size_t>(what)];
}

void CheckMaker::Add(const CheckFacts& facts) {
  if (budget_ != nullptr) {
    AddBudget(facts);
  }
  if (baseline_ != nullptr) {
    AddBaseline(facts);
    NoteDifferences(facts);
  }
}

void CheckMaker::AddRow(CheckRow row, const CheckFacts& facts) {
  row.input = facts.digest.path;
  if (row.broken() && row.because.empty() && row.what != CheckWhat::kBucket) {
    row.because =
        FindCauses(facts.digest, row.base ? &baseline_->digest : nullptr, MakePart(row.what));
  }
  answer_.rows.push_back(std::move(row));
}

void CheckMaker::AddBudget(const CheckFacts& facts) {
  const Digest& digest = facts.digest;
  const auto add = [&](CheckWhat what, std::optional<std::int64_t> value,
                       std::optional<std::int64_t> limit, const std::string& name = {},
                       std::vector<CheckCause> because = {}) {
    if (limit) {
      AddRow({.input = {},
              .what = what,
              .name = name,
              .value = value,
              .limit = *limit,
              .base = {},
              .because = std::move(because)},
             facts);
    }
  };
  add(CheckWhat::kPeak, KnownPeak(digest, digest.peak, budget_->peak.value_or(0)), budget_->peak);
  add(CheckWhat::kTotal, digest.end, budget_->total);
  add(CheckWhat::kReserved, GetReserved(digest), budget_->reserved);
  for (const auto& [name, limit] : budget_->devices) {
    const DigestDevice* const device = DeviceNamed(digest, name);
    add(CheckWhat::kDevice,
        device == nullptr ? std::optional<std::int64_t>(0) : KnownPeak(digest, device->peak, limit),
        limit, name);
  }
  for (const auto& [name, limit] : budget_->buckets) {
    const BucketBytes* const bucket = BucketNamed(facts, name);
    add(CheckWhat::kBucket, bucket == nullptr ? 0 : bucket->bytes, limit, name);
  }
  for (const Budget::Function& function : budget_->functions) {
    std::int64_t sum = 0;
    std::vector<CheckCause> rows;
    for (const DigestRow& row : digest.rows) {
      if (function.pattern.Matches(row.name)) {
        sum = SaturatingAdd(sum, row.peak);
        rows.push_back({.name = row.name, .file = row.file, .base = {}, .now = row.peak});
      }
    }
    rows.resize(std::min(rows.size(), kMaxCauses));
    add(CheckWhat::kFunction, sum, function.limit, function.text,
        sum > function.limit ? std::move(rows) : std::vector<CheckCause>());
  }
}

void CheckMaker::AddBaseline(const CheckFacts& facts) {
  const auto add = [&](CheckWhat what, std::optional<std::int64_t> value, std::int64_t base,
                       const std::string& name = {}) {
    AddRow({.input = {},
            .what = what,
            .name = name,
            .value = value,
            .limit = band_.Limit(base),
            .base = base,
            .because = {}},
           facts);
  };
  if (TellsPeak(baseline_->digest)) {
    const std::int64_t peak = baseline_->digest.peak;
    add(CheckWhat::kPeak, KnownPeak(facts.digest, facts.digest.peak, band_.Limit(peak)), peak);
  }
  add(CheckWhat::kTotal, facts.digest.end, baseline_->digest.end);
  if (const auto reserved = GetReserved(baseline_->digest)) {
    add(CheckWhat::kReserved, GetReserved(facts.digest), *reserved);
  }
  if (facts.dictionary.empty() || baseline_->dictionary.empty()) {
    return;
  }
  if (BaseName(facts.dictionary) != baseline_->dictionary) {
    answer_.notes.push_back(
        fmt::format("buckets are not compared: the baseline's are of {}", baseline_->dictionary));
    return;
  }
  for (const BucketBytes& bucket : facts.buckets) {
    const BucketBytes* const base = BucketNamed(*baseline_, bucket.name);
    if (const std::int64_t before = base == nullptr ? 0 : base->bytes;
        before != 0 || bucket.bytes != 0) {
      add(CheckWhat::kBucket, bucket.bytes, before, bucket.name);
    }
  }
}

void CheckMaker::NoteDifferences(const CheckFacts& facts) {
  const Digest& base = baseline_->digest;
  const Digest& now = facts.digest;
  const auto note = [&](std::string text) {
    if (std::find(answer_.notes.begin(), answer_.notes.end(), text) == answer_.notes.end()) {
      answer_.notes.push_back(std::move(text));
    }
  };
  if (base.format != now.format) {
    note(fmt::format("the baseline is of another kind of input: {}, not {}", base.display,
                     now.display));
  }
  std::map<std::string_view, std::string_view> before(base.settings.begin(), base.settings.end());
  for (const auto& [name, value] : now.settings) {
    const auto was = before.find(name);
    if (was == before.end() || was->second != value) {
      note(fmt::format("other settings than the baseline's: {} is {}, was {}", name, value,
                       was == before.end() ? "not there" : was->second));
    }
  }
  if (const std::int64_t less = SaturatingSubtract(base.peak, now.peak);
      less > SaturatingSubtract(band_.Limit(now.peak), now.peak)) {
    note(fmt::format("the peak is lower than the baseline's by {}{}: write a new baseline",
                     FormatSize(less), FormatPercent(now.peak, base.peak)));
  }
  const CheckRows rows(&base);
  for (const DigestRow& row : now.rows) {
    if (row.peak > std::max(kLargeNewRow, base.cut_largest) && rows.Find(row) == nullptr) {
      note(fmt::format("new since the baseline: {} in {} {}", FormatSize(row.peak), row.name,
                       BaseName(row.file)));
    }
  }
}

CheckAnswer CheckMaker::Make() && {
  std::stable_sort(answer_.rows.begin(), answer_.rows.end(),
                   [](const CheckRow& a, const CheckRow& b) {
                     return std::pair(a.over(), !a.value) > std::pair(b.over(), !b.value);
                   });
  answer_.unknown = static_cast<std::size_t>(std::count_if(
      answer_.rows.begin(), answer_.rows.end(), [](const CheckRow& row) { return !row.value; }));
  answer_.broken = static_cast<std::size_t>(std::count_if(
      answer_.rows.begin(), answer_.rows.end(), [](const CheckRow& row) { return row.broken(); }));
  return std::move(answer_);
}

namespace {

Value BecauseValue(const CheckRow& row) {
  Value::List list;
  for (const CheckCause& cause : row.because) {
    list.push_back(Value::Object{{"name", cause.name},
                                 {"file", cause.file},
                                 {"base", Value(cause.base)},
                                 {"now", cause.now}});
  }
  return list;
}

constexpr auto kCheckFields = Fields<CheckRow>({
    {"ok", "VERDICT", Unit::kOrdinal,
     [](const CheckRow& row) { return row.value ? Value(!row.broken()) : Value(); },
     "whether it holds; null where the value is unknown", kFixed | kLeft, "boolean|null"},
    {"what", "WHAT", Unit::kText, [](const CheckRow& row) { return Value(ToName(row.what)); },
     "what is limited", kPlain, R"("peak"|"total"|"reserved"|"device"|"bucket"|"function")"},
    {"name", "", Unit::kText,
     [](const CheckRow& row) { return row.name.empty() ? Value() : Value(row.name); }, "which one",
     kPlain, "string|null"},
    {"value", "VALUE", Unit::kBytes, &CheckRow::value, "what it is now", kOrUnknown},
    {"limit", "LIMIT", Unit::kBytes, &CheckRow::limit, "what it may be"},
    {"over", "OVER", Unit::kBytes, [](const CheckRow& row) { return Value(row.over()); },
     "by how much it is more", Drop(2), "natural"},
    {"base", "BASELINE", Unit::kBytes, &CheckRow::base, "what it was in the baseline", Drop(3)},
    {"from", "", Unit::kText,
     [](const CheckRow& row) { return Value(row.base ? "baseline" : "budget"); },
     "where the limit comes from", kPlain, R"("budget"|"baseline")"},
    {"because", "", Unit::kNested, &BecauseValue, "rows that grew most", kPlain,
     "{name: string, file: string, base: integer|null, now: integer}[]"},
    {"input", "INPUT", Unit::kText, &CheckRow::input, "the file", Drop(1) | kPath},
});

}  // namespace

std::span<const Field<CheckRow>> CheckFields() {
  return kCheckFields;
}

AnswerView MakeView(const CheckAnswer& answer) {
  return ViewRows(answer.head,
                  {{"broken", answer.broken},
                   {"unknown", answer.unknown},
                   {"notes", Value::List(answer.notes.begin(), answer.notes.end())}},
                  answer.rows, kCheckFields);
}

}  // namespace memtool
