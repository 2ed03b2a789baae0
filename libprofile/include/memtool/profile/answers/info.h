// What an input is, what it holds and what it cannot know: one card each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/ledger_check.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/model/history.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

struct SampleTypeTotal {
  std::string type;
  std::string unit;
  std::int64_t total = 0;
  bool bytes = false;
  bool saturated = false;  // the total may be clamped to the end of the 64-bit range
};

// Which bytes of a moment have stacks, and why others have none.
struct StackCoverage {
  std::int64_t with_stack = 0;
  std::int64_t before_recording = 0;  // no stack: allocated before the recording began
  std::int64_t without_stack = 0;     // recorded, but no frames were taken
};

struct TraceCard {
  Trace trace;
  TraceSummary summary;
  StackCoverage at_peak;
  bool peak_known = false;  // more was recorded than the end, or its last event
};

// Of an input with a history.
struct HistoryCard {
  std::vector<TraceCard> traces;
  std::vector<MemoryDomain> domains;
  std::vector<Mark> marks;
  // Which moments can be asked for besides the end; without events none.
  bool has_events = false;
  bool has_times = false;
  bool has_ooms = false;
};

// Of an input that lists segments and blocks.
struct StateCard {
  std::size_t segments = 0;
  std::size_t blocks = 0;
};

// A text that the input has so many times.
struct Repeated {
  std::string text;
  std::size_t count = 1;
};

// An amount that a line of a log states.
struct StatementCard {
  Statement statement;  // its texts are those below
  std::string producer;
  std::string process;  // may be empty, as the next two
  std::string device;
  std::string stage;
};

// Of a log: what its lines say about memory.
struct LogCard {
  std::vector<StatementCard> statements;
  std::vector<LedgerCheck> checks;
  std::vector<UnreadLine> unread;  // the first lines that seem to, and that no pattern knows
};

struct InputCard {
  std::string format_display;             // for people: "JAX device memory profile (pprof)"
  bool program = false;                   // a compiler's plan: nothing was recorded
  std::optional<Diagnostic> lacking;      // NoteLacking
  std::vector<std::string_view> answers;  // the questions that it can answer
  std::string packing;                    // "gzip", "zlib", "zstd", or empty
  std::uint64_t unpacked_bytes = 0;
  std::int64_t time_nanos = 0;      // unix; 0 = unknown
  std::int64_t duration_nanos = 0;  // 0 = unknown
  std::vector<SampleTypeTotal> types;
  std::optional<std::size_t> samples;  // none: the input is not a profile
  std::size_t stacks = 0;              // distinct
  std::size_t functions = 0;
  std::vector<std::string> label_keys;  // by name
  std::string default_by;               // Metadata::default_by
  std::vector<Repeated> mappings;       // files
  std::vector<Repeated> comments;       // each text once: an input of a few bytes may have millions
  std::vector<BlindSpot> blind_spots;
  std::vector<Setting> settings;
  std::vector<Diagnostic> diagnostics;
  std::optional<HistoryCard> history;
  std::optional<StateCard> state;
  std::optional<LogCard> log;
};

// `index`: of the recording's history, where one is there already.
InputCard MakeCard(const std::shared_ptr<const Recording>& read,
                   const HistoryIndex* index = nullptr);
// As keys of the input's object.
Value::Object MakeValueObject(const InputCard& card);

struct InfoAnswer {
  AnswerHead head{.question = "info"};  // each input's details are its card
  std::vector<InputCard> cards;         // one per input
};

// Takes any number of inputs, one after the other.
class InfoMaker {
 public:
  // `name`: the input's, a path. `index`: of its history, where one is there already.
  void Add(const std::shared_ptr<const Recording>& recording, std::string_view name,
           const HistoryIndex* index = nullptr);
  InfoAnswer Make() && { return std::move(answer_); }

 private:
  InfoAnswer answer_;
};

// Without rows: each input's details say it all.
AnswerView MakeView(const InfoAnswer& answer);

InfoAnswer Info(const std::shared_ptr<const Recording>& recording, std::string_view name);

}  // namespace memtool
