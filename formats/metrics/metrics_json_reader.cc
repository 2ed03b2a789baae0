// JSON with metrics: objects of numbers by tag, one after the other or in a list (log_history of
// HF's trainer_state.json), the stages of all_results.json, and xprof's memory_profile.json.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/profile/base/numbers.h"
#include "metrics/memory_profile.h"
#include "metrics/metrics_readers.h"
#include "metrics/series.h"
#include "metrics/trainer_stages.h"
#include "support/byte_cursor.h"
#include "support/json_stream.h"

namespace memtool::formats {

namespace {

using metrics::MemoryProfile;
using metrics::Moment;
using metrics::Series;
using Where = MemoryProfile::Where;

constexpr std::string_view kTrainerHint =
    "HF's Trainer logs memory with skip_memory_metrics=False (--skip_memory_metrics False)";

// RapidJSON's names.
class Handler {
 public:
  Handler(JsonStream& stream, const Limits& limits) : stream_(stream), limits_(limits) {}

  // NOLINTBEGIN(readability-identifier-naming)
  bool Null() { return Ended(); }
  bool Bool(bool /*value*/) { return Ended(); }
  bool Int(int value) { return Number(value); }
  bool Uint(unsigned value) { return Number(value); }
  bool Int64(std::int64_t value) { return Number(static_cast<double>(value)); }
  bool Uint64(std::uint64_t value) { return Number(static_cast<double>(value)); }
  bool Double(double value) { return Number(value); }
  bool RawNumber(const char* /*text*/, unsigned /*size*/, bool /*copy*/) { return Ended(); }
  bool String(const char* text, unsigned size, bool /*copy*/) {
    // Integers of 64 bits in JSON that protobuf writes.
    if (where() > Where::kRoot) {
      if (const auto value = ParseNumber<std::int64_t>(std::string_view(text, size))) {
        return Number(static_cast<double>(*value));
      }
    }
    return Ended();
  }
  bool Key(const char* text, unsigned size, bool /*copy*/) {
    key_.assign(text, size);
    stream_.TokenEnded();
    return true;
  }
  bool StartObject() { return Start(); }
  bool EndObject(unsigned /*members*/) { return End(); }
  bool StartArray() { return Start(); }
  bool EndArray(unsigned /*elements*/) { return End(); }
  // NOLINTEND(readability-identifier-naming)

  Series& series() { return series_; }
  [[nodiscard]] const metrics::TrainerStages& stages() const { return stages_; }

 private:
  // An object or a list that is open.
  struct Frame {
    Where where = Where::kElsewhere;
    std::size_t first_value = 0;  // of its own, in values_
    std::optional<std::int64_t> step;
    std::int64_t time = kNoTime;
  };

  [[nodiscard]] Where where() const {
    return frames_.empty() ? Where::kElsewhere : frames_.back().where;
  }

  bool Ended() {
    stream_.TokenEnded();
    key_.clear();
    return true;
  }

  bool Start() {
    if (frames_.size() >= limits_.depth) {
      ThrowRead(ErrorCode::kLimit, stream_.Offset(), {}, "nested deeper than the limit on depth",
                "--max depth=N raises it");
    }
    const Where inside =
        frames_.empty() ? Where::kRoot : MemoryProfile::Below(frames_.back().where, key_);
    profile_.Start(inside, key_);
    frames_.push_back({.where = inside, .first_value = values_.size(), .step = {}});
    return Ended();
  }

  bool End() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    profile_.End(frame.where, series_);
    if (values_.size() > frame.first_value) {
      const Moment moment{.place = series_.NextPlace(), .time = frame.time, .step = frame.step};
      for (std::size_t at = frame.first_value; at < values_.size(); ++at) {
        series_.Add(moment, values_[at].first, {values_[at].second, 0});
      }
      values_.resize(frame.first_value);
    }
    return Ended();
  }

  bool Number(double value) {
    if (frames_.empty() || key_.empty()) {
      return Ended();
    }
    Frame& frame = frames_.back();
    profile_.Take(frame.where, key_, value);
    if (metrics::IsStep(key_)) {
      constexpr double kMost = 9e18;
      frame.step = std::abs(value) < kMost ? std::optional(std::llround(value)) : std::nullopt;
    } else if (metrics::IsTime(key_)) {
      frame.time = metrics::TimeOf(value);
    } else if (frame.where <= Where::kRoot && !stages_.Take(key_, value) &&
               series_.Wants(key_, series_.NextPlace())) {
      values_.emplace_back(key_, value);
    }
    return Ended();
  }

  JsonStream& stream_;
  const Limits& limits_;
  Series series_;
  metrics::TrainerStages stages_;
  MemoryProfile profile_;
  std::vector<Frame> frames_;
  std::vector<std::pair<std::string, double>> values_;  // of open objects
  std::string key_;
};

// Whether an object's key in the text is a tag about memory.
bool HasTag(std::string_view text) {
  std::vector<std::uint32_t> chosen;
  metrics::BuiltinTags().Choose(text, chosen);
  if (chosen.empty()) {
    return false;
  }
  Series series;
  for (std::size_t at = text.find('"'); at < text.size(); at = text.find('"', at)) {
    const std::size_t end = text.find('"', ++at);
    if (end == std::string_view::npos) {
      return false;
    }
    const std::string_view name = text.substr(at, end - at);
    at = end + 1;
    if (AfterSpace(text.substr(at)).starts_with(':') && series.Wants(name, 1)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Match MetricsJsonReader::Sniff(std::span<const std::byte> head) const {
  const std::string_view text = AfterSpace(AsText(head));
  const auto has = [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  };
  if (!text.starts_with('{') && !text.starts_with('[')) {
    return Match::kNo;
  }
  const bool trainer = has("_mem_gpu_alloc_delta\"") || has("_mem_cpu_alloc_delta\"") ||
                       (has("\"log_history\"") && has("\"global_step\""));
  const bool steps = has("\"step\"") || has("\"_step\"") || has("\"global_step\"");
  return trainer || has("\"memoryProfilePerAllocator\"") || (steps && HasTag(text))
             ? Match::kCertain
             : Match::kNo;
}

Result<Recording> MetricsJsonReader::Read(ByteWindow& in, const Limits& limits) const {
  JsonStream stream(in, limits);
  Handler handler(stream, limits);
  const auto skip_space = [&in] {
    while (!in.AtEnd() && AfterSpace(AsText(in.Fill(1).first(1))).empty()) {
      in.Advance(1);
    }
    return !in.AtEnd();
  };
  while (skip_space()) {
    ParseJson(stream, handler);
  }
  handler.stages().GiveTo(handler.series());
  return handler.series().Finish({.display = "metrics",
                                  .noun = "a file of metrics",
                                  .rows_by_stage = !handler.stages().empty()},
                                 in.offset(), kTrainerHint);
}

}  // namespace memtool::formats
