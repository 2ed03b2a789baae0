// The same requests under other settings of the caching allocator, or on another card: what they
// would have needed, and whether they would have passed. Every figure rests on how true the model
// is to the recording, which the answer says first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/advise/edits.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/fidelity.h"
#include "memtool/profile/whatif/limit.h"
#include "memtool/profile/whatif/scenario.h"

namespace memtool {

struct WhatifQuery {
  // Empty: the file's own, PyTorch's defaults, and what is mostly tried.
  std::vector<whatif::AllocatorSettings> settings;
  std::optional<std::int64_t>
      limit{};  // bytes that the process may get; none: what the file reports
  std::optional<std::int64_t> total{};  // of the card
  bool fit = false;                     // look for the smallest limit of each setting
  std::optional<MomentSpec> until{};    // requests up to here
  std::string device{};
  // The program, changed.
  std::function<bool(StackId)> without{};  // which stacks never allocate
  double scale = 1;
  // Each a row of its own under the recording's settings, and all together where there are several.
  std::vector<advise::Edits> changes{};
  std::vector<MomentSpec> empty_cache_at{};
  bool no_empty_cache = false;

  [[nodiscard]] bool changes_program() const {
    return without != nullptr || scale != 1 || !empty_cache_at.empty() || no_empty_cache;
  }
};

// One trace.
struct WhatifDevice {
  std::int32_t device = -1;
  std::string name;  // of the trace
  whatif::AllocatorSettings own;
  whatif::Fidelity fidelity;
  whatif::Limit limit;                       // inferred
  std::optional<std::int64_t> used_limit{};  // of the rows; none: no limit
  std::int64_t base_reserved = 0;            // before the first event
  std::uint64_t own_empty_caches = 0;
  std::uint64_t double_allocations = 0;
};

// A setting on a device; bytes, events of the trace (-1 = before the first).
struct WhatifRow {
  std::int32_t device = -1;
  std::string setting;    // as PYTORCH_CUDA_ALLOC_CONF says it; empty = PyTorch's defaults
  bool own = false;       // the file's own settings,
  bool edited = false;    // of another program: `setting` is the change
  bool recorded = false;  // and its peak is what the file says
  bool estimate = false;  // the model is not true to the recording
  std::int64_t reserved_peak = 0;
  std::int64_t reserved_peak_low = 0;
  // What is reserved with the file's own settings beyond it; none of these themselves.
  std::optional<std::int64_t> saves{};
  std::int64_t reserved_peak_event = -1;
  std::int64_t live_at_peak = 0;
  std::int64_t live_peak = 0;
  std::int64_t waste_peak = 0;
  // Under the limit, where there is one.
  std::optional<std::int64_t> retries{};
  std::optional<bool> oom{};
  bool oom_unsure = false;  // passes or fails by how the past is laid
  std::optional<std::int64_t> oom_event{};
  std::int64_t oom_size = 0;
  std::optional<std::int64_t> fits{};  // where it was asked for
  std::optional<std::int64_t> fit_retries{};
  std::vector<Setting> not_modelled{};
  bool cut_short = false;  // the setting itself is a limit at which the run ended
  bool grows = false;      // a pair of settings with which reserved memory can grow without bound

  [[nodiscard]] bool interval() const {
    constexpr std::int64_t kHundred = 100;
    return reserved_peak - reserved_peak_low > reserved_peak / kHundred;  // NOLINT: not negative
  }
};

struct WhatifAnswer {
  AnswerHead head{.question = "whatif"};
  std::vector<WhatifDevice> devices;
  // By device; the best first: what passes, with the fewest retries, at the smallest fit where it
  // was asked for, with the lowest peak.
  std::vector<WhatifRow> rows;
  bool limit_given = false;
  bool changed = false;  // another program's requests
  std::string platform;  // as Origin::platform
};

inline constexpr auto kWhatifFields = Fields<WhatifRow>({
    {"device", "DEV", Unit::kOrdinal, &WhatifRow::device, "the device"},
    {"setting", "SETTING", Unit::kText, &WhatifRow::setting, "the settings of the allocator"},
    {"reserved_peak", "RESERVED", Unit::kBytes,
     [](const WhatifRow& row) { return row.cut_short ? Value() : Value(row.reserved_peak); },
     "the most that the allocator holds; none where the setting ended the run", kPlain,
     "natural|null"},
    {"reserved_peak_low", "LOW", Unit::kBytes,
     [](const WhatifRow& row) { return row.cut_short ? Value() : Value(row.reserved_peak_low); },
     "the same at least, where it is estimated", Drop(1), "natural|null"},
    {"saves", "SAVES", Unit::kBytes, &WhatifRow::saves,
     "RESERVED with the settings of the file minus RESERVED with these", Drop(2)},
    {"reserved_low", "", Unit::kBytes, &WhatifRow::reserved_peak_low,
     "the same at least, by the name that memtool advise has for it", kPlain, "natural"},
    {"reserved_high", "", Unit::kBytes, &WhatifRow::reserved_peak,
     "the most that the allocator holds, by that name", kPlain, "natural"},
    {"reserved_peak_event", "AT EVENT", Unit::kOrdinal, &WhatifRow::reserved_peak_event,
     "when that was", Drop(3)},
    {"live_at_peak", "LIVE THEN", Unit::kBytes, &WhatifRow::live_at_peak, "what is in blocks then",
     Drop(4), "natural"},
    {"live_peak", "", Unit::kBytes, &WhatifRow::live_peak, "the most that is in blocks", kPlain,
     "natural"},
    {"waste_peak", "MOST WASTE", Unit::kBytes, &WhatifRow::waste_peak,
     "the most that the allocator holds beyond what is in blocks", Drop(5)},
    {"retries", "RETRIES", Unit::kCount,
     [](const WhatifRow& row) { return Value(row.retries.value_or(0)); },
     "how often the allocator had to give back what it had cached", Drop(2), "natural"},
    {"oom", "OUT OF MEMORY", Unit::kText,
     [](const WhatifRow& row) { return Value(row.oom.value_or(false)); },
     "whether the run ends for want of memory", kFixed, "boolean"},
    {"oom_unsure", "", Unit::kText, &WhatifRow::oom_unsure,
     "whether that depends on what no file says"},
    {"oom_event", "", Unit::kOrdinal, &WhatifRow::oom_event, "when it ends"},
    {"fits", "FITS IN", Unit::kBytes, &WhatifRow::fits,
     "the smallest card on which the run comes to its end"},
    {"fit_retries", "", Unit::kCount, &WhatifRow::fit_retries,
     "how often the allocator gives back there"},
    {"own", "", Unit::kText, &WhatifRow::own, "whether these are the settings of the file"},
    {"recorded", "", Unit::kText, &WhatifRow::recorded,
     "whether these are the figures of the recording"},
    {"estimate", "", Unit::kText, &WhatifRow::estimate, "whether the figures are estimates"},
});

// Errors: kUnsupported for a recording without a history; kUsage for a device or a moment that it
// does not have. Devices that cannot be replayed have an obstacle and no rows.
Result<WhatifAnswer> Whatif(const HistoryIndex& index, const WhatifQuery& query);

std::vector<NamedValue> MakeFigures(const WhatifAnswer& answer);
AnswerView MakeView(const WhatifAnswer& answer);

}  // namespace memtool
