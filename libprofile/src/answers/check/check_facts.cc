// What a check compares of one input.
#include <algorithm>

#include "memtool/profile/answers/buckets.h"
#include "memtool/profile/answers/check.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/replay/moment.h"

namespace memtool {

namespace {

// A few KB, so that a change of it can be read in a review.
constexpr std::size_t kMaxBaselineRows = 48;

Result<void> AddBuckets(const std::shared_ptr<const Recording>& recording, const Keywords& keywords,
                        CheckFacts& facts) {
  const Digest& digest = facts.digest;
  SelectOptions options;
  if (digest.fullest) {
    options.moment = *ParseMoment("peak");
    options.device = digest.devices.size() == 1 ? "" : digest.devices[*digest.fullest].name;
  }
  auto selection = Select(recording, options);
  MEMTOOL_TRY(selection);
  BucketsMaker maker(keywords, BucketsQuery{});
  MEMTOOL_TRY(maker.Add(*selection));
  for (const BucketRow& row : maker.Make().rows) {
    if (row.kind != BucketRow::Kind::kUntracked) {
      facts.buckets.push_back(
          {row.axis.empty() ? row.name : row.axis + "/" + row.name, row.sum.bytes});
    }
  }
  return {};
}

}  // namespace

Result<CheckFacts> MakeCheckFacts(const std::shared_ptr<const Recording>& recording,
                                  const std::string& path, const Keywords* keywords,
                                  std::string_view dictionary) {
  auto digest = MakeDigest(recording, {.path = path});
  MEMTOOL_TRY(digest);
  CheckFacts facts{.digest = *std::move(digest)};
  if (keywords != nullptr) {
    facts.dictionary = dictionary;
    MEMTOOL_TRY(AddBuckets(recording, *keywords, facts));
  }
  return facts;
}

CheckFacts ForBaseline(CheckFacts facts) {
  Digest& digest = facts.digest;
  digest.path = std::string(BaseName(digest.path));
  digest.hash.clear();
  digest.bytes = 0;
  digest.host.clear();
  digest.process.reset();
  digest.since_epoch = false;
  digest.grid = {};
  digest.ooms.clear();
  std::erase_if(digest.diagnostics,
                [](const auto& each) { return !LeavesPeakUnknown(each.first); });
  for (DigestDevice& device : digest.devices) {
    device.begin = device.last = device.peak_time = kNoTime;
  }
  while (digest.rows.size() > kMaxBaselineRows) {
    const DigestRow& row = digest.rows.back();
    ++digest.cut_rows;
    digest.cut_peak = SaturatingAdd(digest.cut_peak, row.peak);
    digest.cut_end = SaturatingAdd(digest.cut_end, row.end);
    digest.cut_largest = std::max({digest.cut_largest, row.peak, row.end});
    digest.rows.pop_back();
  }
  facts.dictionary = std::string(BaseName(facts.dictionary));
  return facts;
}

}  // namespace memtool
