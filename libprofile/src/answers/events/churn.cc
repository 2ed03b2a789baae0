#include "memtool/profile/answers/churn.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/label_text.h"

namespace memtool {

namespace {

std::optional<double> PerSecond(std::int64_t amount, const std::optional<std::int64_t>& nanos) {
  return nanos && *nanos > 0
             ? std::optional(static_cast<double>(amount) / (static_cast<double>(*nanos) / 1e9))
             : std::nullopt;
}

// Those that allocate most first; ties by name.
std::vector<ChurnRow> GetRows(const ChurnSums& sums, const AllocationGroups& groups,
                              StackNames* stacks) {
  std::vector<ChurnRow> rows;
  for (std::size_t group = 0; group < sums.groups.size(); ++group) {
    if (sums.groups[group].allocations == 0) {
      continue;
    }
    if (group < groups.names.size()) {
      const AllocationGroups::Name& name = groups.names[group];
      rows.push_back({name.name, name.file, name.line, sums.groups[group],
                      stacks == nullptr ? nullptr : &stacks->Of(name.stack)});
    } else {
      rows.push_back({std::string(kNoStack),
                      {},
                      0,
                      sums.groups[group],
                      stacks == nullptr ? nullptr : &stacks->Of(StackId())});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const ChurnRow& x, const ChurnRow& y) {
    return std::tuple(SaturatingSubtract(0, x.churn.bytes), -x.churn.allocations,
                      std::tie(x.name, x.file, x.line)) <
           std::tuple(SaturatingSubtract(0, y.churn.bytes), -y.churn.allocations,
                      std::tie(y.name, y.file, y.line));
  });
  return rows;
}

}  // namespace

Result<ChurnAnswer> ComputeChurn(const HistoryIndex& index, const View& view,
                                 const ChurnQuery& query) {
  const auto ranges = EventsBetween(index, query.range, query.device);
  MEMTOOL_TRY(ranges);
  auto groups = GroupAllocations(view, query.by);
  MEMTOOL_TRY(groups);
  const ChurnSums sums = SumChurn(index, view, *ranges, query.filter, *groups, query.limit);
  const auto stacks =
      query.by.kind == By::Kind::kStack ? std::make_shared<StackNames>(view) : nullptr;
  ChurnAnswer answer{.stacks = stacks,
                     .rows = GetRows(sums, *groups, stacks.get()),
                     .total = sums.total,
                     .limit = query.limit,
                     .nanos = sums.nanos,
                     .allocations_per_second = PerSecond(sums.total.allocations, sums.nanos),
                     .bytes_per_second = PerSecond(sums.total.bytes, sums.nanos)};
  answer.head.Add(index.recording(), query.name, RangeText(query.range), &index);
  answer.head.sample_type = "space";
  answer.head.unit = "bytes";
  return answer;
}

AnswerView MakeView(const ChurnAnswer& answer) {
  const Churn& all = answer.total;
  const ShortLived& limit = answer.limit;
  std::vector<Field<ChurnRow>> fields(kChurnFields.begin(), kChurnFields.end());
  if (!answer.stacks) {
    std::erase_if(fields, [](const Field<ChurnRow>& field) { return field.key == "frames"; });
  }
  return ViewRows<ChurnRow>(answer.head,
                            {{"total", all.bytes},
                             {"allocations", all.allocations},
                             {"duration_us", InMicroseconds(answer.nanos)},
                             {"allocations_per_second", answer.allocations_per_second},
                             {"bytes_per_second", answer.bytes_per_second},
                             {"short_lived_events", limit.nanos ? Value() : Value(limit.events)},
                             {"short_lived_us", InMicroseconds(limit.nanos)},
                             {"short_lived", all.short_lived},
                             {"short_bytes", all.short_bytes},
                             {"kept", all.kept},
                             {"kept_bytes", all.kept_bytes},
                             {"median_events", all.median_events},
                             {"median_us", InMicroseconds(all.median_nanos)}},
                            answer.rows, std::move(fields));
}

}  // namespace memtool
