// W&B's run file: what a monitor saw of the devices (stats) and what the job logged (history), each
// with values as JSON.
#include <cstdint>
#include <string>
#include <string_view>

#include "memtool/profile/base/numbers.h"
#include "metrics/log_blocks.h"
#include "metrics/metrics_readers.h"
#include "metrics/series.h"
#include "support/byte_cursor.h"
#include "support/wire.h"

namespace memtool::formats {

namespace {

using metrics::Moment;
using metrics::Series;

constexpr std::int64_t kNanos = 1'000'000'000;
constexpr std::string_view kWandbHint =
    "W&B writes gpu.N.memoryAllocatedBytes by itself where it finds a GPU";

enum RecordField : std::uint8_t { kHistory = 2, kStats = 7 };
enum HistoryField : std::uint8_t { kHistoryItem = 1, kHistoryStep = 2 };
enum StatsField : std::uint8_t { kStatsTime = 2, kStatsItem = 3 };
enum ItemField : std::uint8_t { kKey = 1, kNestedKey = 2, kValueJson = 16 };

struct Item {
  std::string_view key;
  std::string_view json;
};

class RunFile {
 public:
  RunFile(ByteWindow& in, const Limits& limits) : blocks_(in, limits) {}

  Result<Recording> Read() {
    while (const auto bytes = blocks_.Next()) {
      ++record_;
      for (ByteCursor cursor(*bytes, blocks_.offset()); !cursor.done();) {
        const wire::Field field = wire::Next(cursor);
        if (field.number == kHistory) {
          TakeHistory(field.Message("history"));
        } else if (field.number == kStats) {
          TakeStats(field.Message("stats"));
        }
      }
    }
    auto recording =
        series_.Finish({.display = "W&B run", .noun = "a run file of W&B", .rows_by_stage = false},
                       blocks_.end(), kWandbHint);
    if (recording) {
      blocks_.AddDiagnostics(*recording);
    }
    return recording;
  }

 private:
  // The key of an item, its parts with points between them.
  Item ReadItem(ByteCursor cursor) {
    Item item;
    nested_.clear();
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == kKey) {
        item.key = AsText(field.Message("key").rest());
      } else if (field.number == kNestedKey) {
        nested_.append(nested_.empty() ? "" : ".").append(AsText(field.Message("key").rest()));
      } else if (field.number == kValueJson) {
        item.json = AsText(field.Message("value").rest());
      }
    }
    item.key = item.key.empty() ? std::string_view(nested_) : item.key;
    return item;
  }

  void TakeStats(ByteCursor cursor) {
    Moment moment{.place = record_, .step = {}};
    for (ByteCursor first = cursor; !first.done();) {
      const wire::Field field = wire::Next(first);
      if (field.number == kStatsTime) {
        moment.time = ReadTime(field.Message("timestamp"));
      }
    }
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == kStatsItem) {
        Add(moment, ReadItem(field.Message("item")));
      }
    }
  }

  // Step and time of a history are two of its items, and may come last.
  void TakeHistory(ByteCursor cursor) {
    Moment moment{.place = record_, .step = {}};
    for (ByteCursor first = cursor; !first.done();) {
      FindMoment(wire::Next(first), moment);
    }
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      if (field.number == kHistoryItem) {
        Add(moment, ReadItem(field.Message("item")));
      }
    }
  }

  void FindMoment(const wire::Field& field, Moment& moment) {
    if (field.number == kHistoryStep) {
      for (ByteCursor step = field.Message("step"); !step.done();) {
        const wire::Field number = wire::Next(step);
        moment.step = number.number == 1 ? number.Int("num") : moment.step;
      }
      return;
    }
    if (field.number != kHistoryItem) {
      return;
    }
    const Item item = ReadItem(field.Message("item"));
    if (item.key == "_step") {
      moment.step = ParseNumber<std::int64_t>(item.json);
    } else if (item.key == "_timestamp") {
      const auto seconds = ParseNumber<double>(item.json);
      moment.time = seconds ? metrics::TimeOf(*seconds) : kNoTime;
    }
  }

  void Add(const Moment& moment, const Item& item) {
    if (!series_.Wants(item.key, moment.place)) {
      return;
    }
    if (const auto number = metrics::NumberInText(item.json)) {
      // A number that Python or Go printed of a double is all of it.
      series_.Add(moment, item.key, {number->value, 0});
    } else {
      series_.AddBad();
    }
  }

  static std::int64_t ReadTime(ByteCursor cursor) {
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    while (!cursor.done()) {
      const wire::Field field = wire::Next(cursor);
      seconds = field.number == 1 ? field.Int("seconds") : seconds;
      nanos = field.number == 2 ? field.Int("nanos") : nanos;
    }
    const std::int64_t whole = metrics::TimeOf(static_cast<double>(seconds));
    return whole != kNoTime && nanos >= 0 && nanos < kNanos ? whole + nanos : kNoTime;
  }

  metrics::LogBlocks blocks_;
  Series series_;
  std::string nested_;
  std::uint64_t record_ = 0;
};

}  // namespace

Match WandbReader::Sniff(std::span<const std::byte> head) const {
  return metrics::LogBlocks::StartsFile(head) ? Match::kCertain : Match::kNo;
}

Result<Recording> WandbReader::Read(ByteWindow& in, const Limits& limits) const {
  return RunFile(in, limits).Read();
}

}  // namespace memtool::formats
