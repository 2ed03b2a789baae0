#include "options/event_options.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/result.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

// "A:B", "A:", ":B" or "A", which is A:A.
std::pair<std::string, std::string> SplitRange(const std::string& text) {
  const std::size_t colon = text.find(':');
  return colon == std::string::npos ? std::pair(text, text)
                                    : std::pair(text.substr(0, colon), text.substr(colon + 1));
}

// "0x7f064c000000", or the same without 0x.
Result<std::uint64_t> ParseAddress(std::string_view text) {
  std::string_view digits = text;
  digits.remove_prefix(digits.starts_with("0x") ? 2 : 0);
  const auto address = ParseNumber<std::uint64_t>(digits, 16);
  if (!address) {
    return Fail(ErrorCode::kUsage, fmt::format("--address: '{}' is not an address", text),
                "hexadecimal, such as 0x7f064c000000");
  }
  return *address;
}

}  // namespace

void EventOptions::Declare(po::options_description_easy_init add) {
  range_.Declare(add);
  add("time", po::value(&time_text_)->value_name("A:B"),
      "from A to B seconds after the first event of the file (or @EPOCH); one may be left out");
  add("size", po::value(&size_text_)->value_name("A:B"),
      "of A to B bytes: 1MB:2MB, 64KiB:, :512; one number is exactly that");
  add("action",
      ToValue(&action_text_, {.words = {"alloc", "free", "free_requested", "free_completed",
                                        "segment", "segment_alloc", "segment_free", "segment_map",
                                        "segment_unmap", "oom", "snapshot"},
                              .list = true})
          ->value_name("NAME,..."),
      "alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, "
      "segment_unmap, oom, snapshot; free and segment stand for all of theirs");
  add("address", po::value(&address_text_)->value_name("ADDRESS"),
      "about the block or segment in which this address lies");
  add("id", po::value(&id_text_)->value_name("ID"),
      "about this block, as PyTorch's viewer names it: b7f064c000000_0");
}

Result<void> EventOptions::ResolveSizes(SizeBase base) {
  if (size_text_.empty()) {
    return {};
  }
  const auto [least, most] = SplitRange(size_text_);
  for (const auto& [text, bound] :
       {std::pair(least, &filter_.least), std::pair(most, &filter_.most)}) {
    if (text.empty()) {
      continue;
    }
    auto size = ParseSize(text, base);
    if (!size) {
      size.error().message.insert(0, "--size: ");
      return Fail(std::move(size.error()));
    }
    *bound = *size;
  }
  if (filter_.least > filter_.most) {
    return Fail(ErrorCode::kUsage, "--size: " + size_text_ + " is an empty range");
  }
  return {};
}

Result<void> EventOptions::ResolveTimes() {
  if (time_text_.empty()) {
    return {};
  }
  const auto [since, until] = SplitRange(time_text_);
  for (const auto& [text, bound] : {std::pair(since, &since_), std::pair(until, &until_)}) {
    if (text.empty()) {
      continue;
    }
    auto moment = ParseMoment("time:" + text);
    if (!moment) {
      return Fail(ErrorCode::kUsage, "--time: '" + text + "' is not a time",
                  "seconds, such as 1.5:2s, or @1700000000.5:");
    }
    *bound = *std::move(moment);
  }
  return {};
}

Result<void> EventOptions::Resolve(SizeBase base) {
  for (auto resolved : {range_.Resolve(), ResolveSizes(base), ResolveTimes()}) {
    if (!resolved) {
      return resolved;
    }
  }
  if (!action_text_.empty()) {
    auto actions = ParseActions(action_text_);
    if (!actions) {
      actions.error().message.insert(0, "--action: ");
      return Fail(std::move(actions.error()));
    }
    filter_.actions = *actions;
  }
  if (!address_text_.empty()) {
    auto address = ParseAddress(address_text_);
    MEMTOOL_TRY(address);
    filter_.address = *address;
  }
  if (!id_text_.empty()) {
    auto id = ParseBlockId(id_text_);
    if (!id) {
      id.error().message.insert(0, "--id: ");
      return Fail(std::move(id.error()));
    }
    filter_.id = *id;
  }
  return {};
}

Result<EventFilter> EventOptions::FilterFor(const Recording& recording) const {
  EventFilter filter = filter_;
  if (!since_ && !until_) {
    return filter;
  }
  const std::int64_t first = GetFirstTime(*recording.history);
  if (first == kNoTime) {
    return Fail(ErrorCode::kUsage, "--time: the events of this file carry no times",
                "--from and --to take event numbers");
  }
  const auto at = [first](const MomentSpec& moment) {
    return moment.epoch ? moment.nanos : SaturatingAdd(first, moment.nanos);
  };
  filter.since = since_ ? at(*since_) : filter.since;
  filter.until = until_ ? at(*until_) : filter.until;
  return filter;
}

}  // namespace memtool::commands
