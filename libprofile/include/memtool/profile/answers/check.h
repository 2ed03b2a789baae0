// Whether inputs stay within limits: those of a budget, and those that follow from a baseline, an
// earlier recording of the same program. Memory is deterministic, so bands are tight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/ranks/digest.h"
#include "memtool/profile/select/name_pattern.h"

namespace memtool {

struct BucketBytes {
  std::string name;
  std::int64_t bytes = 0;
};

// What is compared of an input. A history counts at the peak of the device with the highest one,
// anything else as it is.
struct CheckFacts {
  Digest digest;
  std::string dictionary;  // whose buckets they are; empty = there are none
  std::vector<BucketBytes> buckets;
};

// `keywords`: for buckets; null = none. Errors: kUnsupported for what is not measured in bytes;
// those of buckets.
Result<CheckFacts> MakeCheckFacts(const std::shared_ptr<const Recording>& recording,
                                  const std::string& path, const Keywords* keywords,
                                  std::string_view dictionary);

// As a baseline keeps them: without what differs from one run to the next of the same program (the
// path, the hash, the process, times), and only the largest rows.
CheckFacts ForBaseline(CheckFacts facts);

// Limits in bytes that a user sets.
struct Budget {
  struct Function {
    std::string text;  // as the user wrote the pattern
    NamePattern pattern;
    std::int64_t limit = 0;
  };
  std::optional<std::int64_t> peak;                           // live, of any device
  std::optional<std::int64_t> total;                          // live at the end, of all devices
  std::optional<std::int64_t> reserved;                       // of any device, at its most
  std::vector<std::pair<std::string, std::int64_t>> devices;  // by name: the peak of each
  std::vector<std::pair<std::string, std::int64_t>> buckets;
  std::vector<Function> functions;  // rows whose name matches, together
};

// How much more than in the baseline is allowed: the larger of both.
struct GrowthBand {
  double ratio = 0.01;
  std::int64_t amount = std::int64_t{16} << 20U;

  [[nodiscard]] std::int64_t Limit(std::int64_t base) const;
};

enum class CheckWhat : std::uint8_t { kPeak, kTotal, kReserved, kDevice, kBucket, kFunction };
// "peak", "total", "reserved", "device", "bucket", "function"
std::string_view ToName(CheckWhat what);

// A row that grew.
struct CheckCause {
  SharedText name;
  SharedText file;
  std::optional<std::int64_t> base;  // none: it was not there, or too small to be in the baseline
  std::int64_t now = 0;

  [[nodiscard]] std::int64_t growth() const { return SaturatingSubtract(now, base.value_or(0)); }
};

// One limit and what an input holds of it. Bytes.
struct CheckRow {
  std::string input;
  CheckWhat what = CheckWhat::kPeak;
  std::string name;                   // of the device, the bucket or the function
  std::optional<std::int64_t> value;  // none: the input does not tell it
  std::int64_t limit = 0;
  std::optional<std::int64_t> base;  // from the baseline; none: the limit is a budget's
  std::vector<CheckCause> because;   // where it is broken: the rows that hold or grew most

  [[nodiscard]] bool broken() const { return value && *value > limit; }
  [[nodiscard]] std::int64_t over() const {
    return broken() ? SaturatingSubtract(*value, limit) : 0;
  }
};

struct CheckAnswer {
  AnswerHead head{.question = "check", .unit = "bytes"};
  // The broken ones first, by how much, then those whose value is unknown; the others in order.
  std::vector<CheckRow> rows;
  std::size_t broken = 0;
  std::size_t unknown = 0;
  std::vector<std::string> notes;  // what else differs from the baseline
};

class CheckMaker {
 public:
  // `budget` and `baseline` may be null; they outlive the maker.
  CheckMaker(const Budget* budget, const CheckFacts* baseline, const GrowthBand& band)
      : budget_(budget), baseline_(baseline), band_(band) {}

  void Add(const CheckFacts& facts);
  CheckAnswer Make() &&;

 private:
  void AddBudget(const CheckFacts& facts);
  void AddBaseline(const CheckFacts& facts);
  void AddRow(CheckRow row, const CheckFacts& facts);
  void NoteDifferences(const CheckFacts& facts);

  const Budget* budget_;
  const CheckFacts* baseline_;
  GrowthBand band_;
  CheckAnswer answer_;
};

std::span<const Field<CheckRow>> CheckFields();
AnswerView MakeView(const CheckAnswer& answer);

}  // namespace memtool
