#include "ascend/static_ops.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "memtool/profile/base/numbers.h"
#include "support/history/name_stacks.h"
#include "support/history/tensor_ledger.h"

namespace memtool::formats::ascend {

namespace {

constexpr std::uint32_t kToTheEnd = UINT32_MAX;  // of the graph

class StaticReader {
 public:
  StaticReader(CsvRows& rows, const Limits& limits, RecordingBuilder& builder)
      : rows_(rows), builder_(builder), stacks_(builder, limits) {}

  void Read() {
    while (rows_.Next()) {
      if (!Take()) {
        rows_.SkipBad();
      }
    }
    rows_.AddDiagnostics(builder_);
    builder_.AddDiagnostic(Severity::kDamage, "skipped_row", "rows of graphs beyond the first 250",
                           left_out_);
    AddTraces();
  }

 private:
  // (device, model, graph)
  using Place = std::tuple<std::int32_t, std::string, std::string>;

  bool Take() {
    const auto size = rows_.GetAmount(Column::kSize);
    const auto begin = ParseNumber<std::uint32_t>(rows_.Get(Column::kNodeStart));
    const auto end = ParseNumber<std::uint32_t>(rows_.Get(Column::kNodeEnd));
    if (!rows_.good() || !size || size->bytes < 0 || !begin || !end || *end < *begin) {
      return false;
    }
    Place place{ParseDevice(rows_.Get(Column::kDevice)).value_or(-1),
                std::string(rows_.Get(Column::kModel)), std::string(rows_.Get(Column::kGraph))};
    if (!ledgers_.contains(place) && ledgers_.size() == kMaxLedgers) {
      ++left_out_;
      return true;
    }
    // Its last node still has it.
    ledgers_[std::move(place)].Add(
        rows_.row(),
        {.size = size->bytes,
         .allocated_at = *begin,
         .released_at = *end == kToTheEnd ? std::optional<std::int64_t>() : std::int64_t{*end} + 1,
         .stack = stacks_.Of(rows_.Get(Column::kName))});
    return true;
  }

  void AddTraces() {
    History history;
    history.streams = {0};
    for (auto& [place, ledger] : ledgers_) {
      const auto& [device, model, graph] = place;
      const DomainId domain(history.domains.size());
      std::string name = device < 0 ? "NPU" : fmt::format("NPU:{}", device);
      name += model.empty() ? "" : " " + model;
      name += graph.empty() ? "" : " graph " + graph;
      history.domains.push_back({.name = "static graph", .device = device});
      Trace trace{.device = device, .name = std::move(name), .blocks = domain, .segments = domain};
      ledger.MoveTo(history, trace, static_cast<std::uint8_t>(domain.value()));
      history.traces.push_back(std::move(trace));
    }
    for (Event& event : history.events) {
      event.time = kNoTime;
    }
    builder_.SetHistory(std::move(history));
  }

  CsvRows& rows_;
  RecordingBuilder& builder_;
  NameStacks stacks_;
  std::map<Place, TensorLedger> ledgers_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void ReadStaticOps(CsvRows& rows, const Limits& limits, RecordingBuilder& builder) {
  StaticReader(rows, limits, builder).Read();
  builder.AddBlindSpot("when", "the table counts nodes of the graph, not time");
  builder.AddBlindSpot("what the run took beside the graph",
                       "memory_record.csv and npu_module_mem.csv of the same run have it");
}

}  // namespace memtool::formats::ascend
