// Rows of a report: a profile's bytes split by function, line, file, label, size, input …
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/selection.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

class Keywords;

struct By {
  enum class Kind : std::uint8_t { kFrame, kStack, kTag, kSize, kInput, kLabel, kBucket };
  Kind kind = Kind::kFrame;
  bool automatic = false;  // nobody chose: an input may have its own default (Metadata::default_by)
  Granularity granularity = Granularity::kFileFunction;  // of frames and stacks
  std::string label;                                     // key, for kLabel
  std::string axis;                                      // of kBucket; empty = the first
  const Keywords* keywords = nullptr;                    // of kBucket, set by the caller
};

// "function", "filefunction", "line", "file", "module", "stack", "tag", "size", "input",
// "label:KEY", "bucket" or "bucket:AXIS", which need keywords. Errors: kUsage.
Result<By> ParseBy(std::string_view text);

struct Row {
  SharedText name;
  SharedText file;              // empty where a row has no place
  std::int64_t line = 0;        // 0 likewise
  std::int64_t more_lines = 0;  // Place::more
  SharedText via;               // the call into a framework, when frames were hidden
  NodeValue value;
  NodeId node;  // rows of frames
};

// One input, as every analysis takes it; all by reference.
struct Input {
  const View* view = nullptr;
  const StackSums* sums = nullptr;
  const ValueChoice* choice = nullptr;
  std::string_view name;       // as the user gave it
  double scale = 1.0;          // what the sums were scaled by
  std::string_view process{};  // that wrote it, where several did (TextOfProcess)
};

Input MakeInput(const Selection& selection, std::string_view process = {});

enum class SortBy : std::uint8_t { kFlat, kCum };

// The order of rows of one size.
template <class Named>
bool ByName(const Named& a, const Named& b) {
  const int names = SharedText::CompareHeads(a.name, b.name);
  const int files = names != 0 ? 0 : SharedText::CompareHeads(a.file, b.file);
  return std::tuple(names, files, a.line) < std::tuple(0, 0, b.line);
}

// Adds up inputs; rows of equal key are one row.
class Tabulator {
 public:
  // `space` may be shared between tabulators, so that their rows join by node.
  Tabulator(By by, NodeSpace& space);

  void Add(const Input& input);
  // Sorted by size, ties by the other size (flat or cum), then by name; rows that hold nothing are
  // left out.
  [[nodiscard]] std::vector<Row> Rows(SortBy sort) const;
  // What rows stand for, once the first input has been added.
  [[nodiscard]] const By& by() const { return by_; }
  [[nodiscard]] std::int64_t total() const { return total_; }  // signed sum of the rows
  [[nodiscard]] std::int64_t unfiltered() const { return unfiltered_; }
  [[nodiscard]] std::int64_t total_abs() const { return total_abs_; }
  [[nodiscard]] std::int64_t unknown() const { return unknown_; }
  [[nodiscard]] bool saturated() const { return saturated_; }

 private:
  void AddStacks(const Input& input);
  void AddSamples(const Input& input);
  void AddBuckets(const Input& input);
  [[nodiscard]] std::string KeyText(const Recording& recording, std::int64_t key) const;
  struct Keyed {
    std::int64_t order = 0;
    NodeValue value;
  };
  void AddKeyed(SharedText name, std::int64_t order, std::int64_t bytes, std::int64_t unknown);
  void AddTo(Keyed& row, std::int64_t order, std::int64_t bytes, std::int64_t unknown);
  [[nodiscard]] std::vector<Row> FrameRows() const;

  By by_;
  NodeSpace& space_;
  FlatCum flat_cum_;
  std::map<SharedText, Keyed> keyed_;
  std::map<std::vector<StringId>, Keyed> stacks_;  // by the names of their frames
  std::int64_t total_ = 0;
  std::int64_t unfiltered_ = 0;
  std::int64_t total_abs_ = 0;
  std::int64_t unknown_ = 0;
  bool saturated_ = false;
};

}  // namespace memtool
