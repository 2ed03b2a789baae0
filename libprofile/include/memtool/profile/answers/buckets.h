// Bytes by category: what the words of a dictionary split the inputs into, what no word matches
// (Others), and what the device has beyond what the inputs track (Untrackable).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/account.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/replay/base_kinds.h"
#include "memtool/profile/rows/buckets.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct BucketsQuery {
  Multi multi = Multi::kFirst;
  std::optional<Quantity> expected{};  // bytes in use, as reported by the device
  // shares are of what the inputs track, even where `expected` is known
  bool share_of_tracked = false;
  std::size_t entries = 0;  // how many to list per bucket, the largest
  bool apart = false;       // also keep every input separately: BucketsAnswer::parts
  std::string explain{};    // a bucket, or a part of a row's name: for Explain()
};

// Amounts are in the unit of the answer.
struct BucketRow {
  enum class Kind : std::uint8_t {
    kCategory,
    kUnmatched,  // Others
    kUntracked,  // Untrackable
  };
  std::string axis;  // empty when the dictionary's only axis has no name
  std::string name;
  Kind kind = Kind::kCategory;
  BucketSum sum;                     // for Untrackable only the bytes are known
  std::vector<BucketEntry> entries;  // the largest, as many as were asked for
  std::uint64_t more_entries = 0;    // that are not listed
  std::int64_t more_bytes = 0;       // in these

  // True when nothing at all belongs to it; a bucket of unknown sizes has no bytes but entries.
  [[nodiscard]] bool is_empty() const {
    return kind != Kind::kUntracked && entries.empty() && more_entries == 0;
  }
};

struct BucketsAxis {
  // Whether much of the total belongs to no category, and why.
  enum class Lost : std::uint8_t {
    kLittle,
    kUnmatched,  // its names contain no word
    kUnnamed,    // most of it has no name that a word could be in
  };
  std::string name;
  std::int64_t others = 0;
  std::int64_t ambiguous = 0;  // see BucketAxis
  std::int64_t repeated = 0;
  Lost lost = Lost::kLittle;
};

// More is tracked than was expected.
struct OverAccount {
  enum class Reason : std::uint8_t {
    kInputs,     // several are added up, while the expected sum may be of one
    kDevices,    // the inputs hold several, while the expected sum may be of one
    kNeverFree,  // a log lists allocations and not what was freed since
    kElsewhere,  // the expected sum may be of another moment, process or device
  };
  std::int64_t bytes = 0;
  Reason reason = Reason::kElsewhere;
};

struct WordShare {
  std::string word;  // as written
  double share = 0;  // of all bytes
};

// One input on its own.
struct BucketsPart {
  std::string input;
  std::int64_t total = 0;
  std::int64_t whole = 0;       // what its shares are of
  std::vector<BucketRow> rows;  // by axis in the dictionary's order, without entries
};

// What divides the blocks from before the recording of one device, and how sure it is.
struct BaseEvidence {
  std::string device;
  BaseKinds kinds;
};

struct BucketsAnswer {
  AnswerHead head{.question = "buckets"};
  std::string dictionary;
  std::vector<BucketsAxis> axes;
  std::vector<BucketRow> rows;  // by axis, then size; Others and Untrackable are last
  std::int64_t total = 0;       // tracked; every axis sums to it
  std::int64_t whole = 0;       // what shares are of
  std::optional<std::int64_t> expected{};
  std::optional<std::int64_t> untrackable{};  // negative: more is tracked than was expected
  std::optional<OverAccount> over{};          // by more than rounding explains
  std::size_t devices = 0;                    // how many the inputs name
  std::int64_t unnamed = 0;                   // bytes without a name
  std::int64_t unknown = 0;                   // allocations of unknown size
  // Usually mistakes in the dictionary: words that match nearly everything, and words that match
  // nothing.
  std::vector<WordShare> greedy_words;
  std::vector<std::string> idle_words;
  std::vector<BucketsPart> parts;
  std::vector<BaseEvidence> bases;  // of devices where sizes decide something
};

inline constexpr auto kBucketFields = Fields<BucketRow>({
    {"axis", "AXIS", Unit::kText, &BucketRow::axis, "the axis of the dictionary", kFixed},
    {"bucket", "BUCKET", Unit::kText, &BucketRow::name, "the category"},
    {"bytes", "SIZE", Unit::kAmount, [](const BucketRow& row) { return Value(row.sum.bytes); },
     "what is in it"},
    {"share", "SHARE", Unit::kRatio, kInWords, "SIZE as a share of the whole"},
    {"bar", "OF ALL", Unit::kText, kInWords, "the share as a bar", Drop(2) | kFixed},
    {"count", "COUNT", Unit::kCount,
     [](const BucketRow& row) {
       return row.kind == BucketRow::Kind::kUntracked ? Value() : Value(row.sum.count);
     },
     "how many allocations are", Drop(1), "integer|null"},
    {"unknown", "", Unit::kCount, [](const BucketRow& row) { return Value(row.sum.unknown); },
     "allocations of unknown size; they are in no sum"},
    {"entries", "", Unit::kNested,
     [](const BucketRow& row) {
       Value::List entries;
       for (const BucketEntry& entry : row.entries) {
         entries.push_back(Value::Object{{"name", entry.name},
                                         {"file", entry.file},
                                         {"line", LineValue(entry.line)},
                                         {"bytes", entry.sum.bytes},
                                         {"count", entry.sum.count}});
       }
       return Value(std::move(entries));
     },
     "the largest rows in it", kPlain,
     "{name: string, file: string, line: integer|null, bytes: integer, count: integer}[]"},
});

AnswerView MakeView(const BucketsAnswer& answer);

// Which word matched what.
struct ExplainAnswer {
  AnswerHead head{.question = "buckets"};
  std::string dictionary;
  std::int64_t total = 0;  // of all buckets
  std::vector<Explanation> rows;
};

inline constexpr auto kExplanationFields = Fields<Explanation>({
    {"bytes", "SIZE", Unit::kAmount, [](const Explanation& row) { return Value(row.sum.bytes); },
     "what the word puts into the category"},
    {"count", "COUNT", Unit::kCount, [](const Explanation& row) { return Value(row.sum.count); },
     "how many allocations these are", Drop(3)},
    {"axis", "AXIS", Unit::kText, &Explanation::axis, "the axis of the dictionary", Drop(2)},
    {"bucket", "BUCKET", Unit::kText, &Explanation::bucket, "the category", kFixed},
    {"word", "WORD", Unit::kText, &Explanation::word, "the word of the dictionary that matches"},
    {"matched", "FOUND IN", Unit::kText, &Explanation::matched, "the text that it was found in"},
    {"entry", "ROW", Unit::kText, &Explanation::entry, "the row that the allocations belong to",
     Drop(4)},
    {"also", "ALSO IN", Unit::kText, &Explanation::also, "other categories that match, too",
     Drop(5)},
});

AnswerView MakeView(const ExplainAnswer& answer);

// Adds up any number of inputs.
class BucketsMaker {
 public:
  // The dictionary is kept by reference.
  BucketsMaker(const Keywords& keywords, BucketsQuery query);
  BucketsMaker(const BucketsMaker&) = delete;
  BucketsMaker& operator=(const BucketsMaker&) = delete;

  // Errors: with Multi::kError, kUsage naming a row that matches several categories.
  Result<void> Add(const Selection& selection);
  [[nodiscard]] BucketsAnswer Make() const;
  // For what the query asks to explain.
  [[nodiscard]] ExplainAnswer Explain() const;

 private:
  void NoteDevices(const Recording& recording);
  void AddAxis(const BucketAxis& axis, BucketsAnswer& answer) const;
  void AddWords(BucketsAnswer& answer) const;
  [[nodiscard]] std::int64_t GetWhole(std::int64_t tracked) const;
  [[nodiscard]] OverAccount::Reason OverReason() const;
  [[nodiscard]] BucketsPart MakePart(std::size_t input) const;

  BucketsQuery query_;
  AnswerHead head_{.question = "buckets"};
  NodeSpace space_;
  BucketTable table_;
  std::vector<BucketTable> parts_;  // one for each input, when they are kept apart
  std::set<std::string> devices_;
  bool one_device_ = false;  // the last selection is of one
  std::vector<BaseEvidence> bases_;
  bool never_frees_ = false;  // an input lists allocations only
};

// Errors: those of BucketsMaker::Add.
Result<BucketsAnswer> Buckets(const Selection& selection, const Keywords& keywords,
                              BucketsQuery query = {});

}  // namespace memtool
