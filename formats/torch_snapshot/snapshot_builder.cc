#include "torch_snapshot/snapshot_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr std::uint64_t kTopKeys = Bit(Word::kSegments) | Bit(Word::kDeviceTraces) |
                                   Bit(Word::kHostSegments) | Bit(Word::kHostTraces);

std::uint64_t GetKeys(std::span<const Value> pairs) {
  std::uint64_t keys = 0;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const auto word = static_cast<std::uint32_t>(GetWord(pairs[i]));
    keys |= word < 64 ? std::uint64_t{1} << word : 0;
  }
  return keys;
}

constexpr bool HasAll(std::uint64_t keys, Word a, Word b) {
  return (keys & Bit(a)) != 0 && (keys & Bit(b)) != 0;
}

// The kind of a list by the kind of its items; kNone where a list of such items means nothing.
ValueKind ToList(ValueKind item) {
  constexpr std::array<std::pair<ValueKind, ValueKind>, 5> kLists{
      {{kind::kEvent, kind::kEvents},
       {kind::kSegment, kind::kSegments},
       {kind::kBlock, kind::kBlocks},
       {kind::kAnnotation, kind::kAnnotations},
       {kind::kHistoryEntry, kind::kHistory}}};
  for (const auto& [row, list] : kLists) {
    if (row == item) {
      return list;
    }
  }
  return ValueKind::kNone;
}

bool SmallNumber(const Value& value) {
  return value.kind == ValueKind::kInt && value.payload >> 32U == 0;
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(const Limits& limits, std::string form)
    : context_(limits, std::move(form)),
      opaque_values_(context_),
      frames_(context_),
      events_(context_, opaque_values_),
      state_(context_) {}

Value SnapshotBuilder::String(std::string_view text, std::uint64_t offset) {
  if (text.size() > context_.limits.string_bytes) {
    ThrowRead(ErrorCode::kLimit, offset, {},
              fmt::format("a string of {} bytes, over the limit of {}", text.size(),
                          context_.limits.string_bytes),
              "lift it with --max string-bytes=SIZE");
  }
  return Value::Of(ValueKind::kString, context_.builder.Intern(text).value());
}

std::string_view SnapshotBuilder::Text(const Value& value) const {
  return value.kind == ValueKind::kString ? context_.builder.Text(StringId(value.Low()))
                                          : std::string_view("?");
}

Value SnapshotBuilder::Dict(const Value& dict, std::span<const Value> pairs, std::uint64_t offset) {
  const std::uint64_t keys = GetKeys(pairs);
  if ((keys & Bit(Word::kAction)) != 0 && dict.kind == ValueKind::kEmptyDict) {
    return events_.Add(pairs, KeySet{keys}, offset);
  }
  if ((keys & kTopKeys) != 0 || dict.kind == kind::kSnapshot) {
    return Top(dict, pairs, offset);
  }
  if (dict.kind != ValueKind::kEmptyDict) {
    return Generic(dict, pairs, offset, true);
  }
  if (HasAll(keys, Word::kName, Word::kFilename)) {
    return frames_.Frame(pairs, offset);
  }
  if (HasAll(keys, Word::kState, Word::kSize)) {
    return state_.AddBlock(pairs, offset);
  }
  if (HasAll(keys, Word::kTotalSize, Word::kBlocks)) {
    return state_.AddSegment(pairs, offset);
  }
  if (HasAll(keys, Word::kStage, Word::kName)) {
    return AddAnnotation(pairs, offset);
  }
  if ((keys & Bit(Word::kRealSize)) != 0) {
    return state_.AddHistory(pairs, offset);
  }
  return Generic(dict, pairs, offset, true);
}

// Of events, which are millions, and have few orders of keys.
std::optional<std::uint32_t> SnapshotBuilder::Plan(std::span<const Value> pairs) {
  constexpr std::size_t kMostPlans = 64;
  EventTable::Keys keys{.list = {}, .set = KeySet{GetKeys(pairs)}};
  if (!keys.set.Has(Word::kAction)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    keys.list.push_back({GetWord(pairs[i]), pairs[i]});
  }
  const auto same = [&keys](const EventTable::Keys& known) {
    return std::equal(known.list.begin(), known.list.end(), keys.list.begin(), keys.list.end(),
                      [](const auto& a, const auto& b) {
                        return a.value.kind == b.value.kind && a.value.payload == b.value.payload;
                      });
  };
  const auto known = std::find_if(plans_.begin(), plans_.end(), same);
  const auto number = static_cast<std::uint32_t>(known - plans_.begin());
  if (known == plans_.end()) {
    if (plans_.size() == kMostPlans) {
      return std::nullopt;
    }
    plans_.push_back(std::move(keys));
  }
  return number;
}

Value SnapshotBuilder::PlannedDict(std::uint32_t plan, std::span<const Value> pairs,
                                   std::uint64_t offset) {
  return events_.Add(pairs, plans_[plan], offset);
}

Value SnapshotBuilder::List(const Value& list, std::span<const Value> items, std::uint64_t offset) {
  const Value& first = items.front();
  const auto same = [&first](const Value& item) { return item.kind == first.kind; };
  const bool empty = list.kind == ValueKind::kEmptyList;
  if (first.kind == kind::kFrame && (empty || list.kind == kind::kStack)) {
    if (std::all_of(items.begin(), items.end(), same)) {
      return frames_.Stack(list, items, offset);
    }
  } else if (ToList(first.kind) != ValueKind::kNone && (empty || list.kind == ToList(first.kind))) {
    if (std::all_of(items.begin(), items.end(), same)) {
      return RowList(list, items, offset);
    }
  } else if ((first.kind == kind::kEvents || first.kind == ValueKind::kEmptyList) &&
             (empty || list.kind == kind::kTraces)) {
    return Traces(list, items, offset);
  } else if (empty && items.size() == 2 && SmallNumber(items[0]) && SmallNumber(items[1])) {
    return Value::Of(kind::kPair, items[0].payload | items[1].payload << 32U);
  }
  return Generic(list, items, offset, false);
}

Value SnapshotBuilder::Tuple(std::span<const Value> items, std::uint64_t offset) {
  const Value empty = Value::Of(ValueKind::kEmptyList, 0);
  return items.empty() ? empty : List(empty, items, offset);
}

// A list of rows must be rows that follow each other: then the list is a place in its table. Only a
// file that refers to one dict from two places breaks that.
Value SnapshotBuilder::RowList(const Value& list, std::span<const Value> items,
                               std::uint64_t offset) {
  const bool empty = list.kind == ValueKind::kEmptyList;
  const std::uint32_t first = empty ? items.front().Low() : list.Low();
  std::uint64_t end = empty ? first : std::uint64_t{list.Low()} + list.High();
  for (const Value& item : items) {
    if (item.Low() != end) {
      ThrowRead(ErrorCode::kUnsupported, offset, {},
                fmt::format("a list that holds {} which also lies elsewhere in the file",
                            KindName(item.kind)));
    }
    end += item.High();
  }
  return Value::OfRows(ToList(items.front().kind), first, static_cast<std::uint32_t>(end - first));
}

// One list of events per device; those of devices without events are empty.
Value SnapshotBuilder::Traces(const Value& list, std::span<const Value> items,
                              std::uint64_t offset) {
  if (list.kind == ValueKind::kEmptyList) {
    trace_lists_.emplace_back();
  }
  const std::size_t at =
      list.kind == ValueKind::kEmptyList ? trace_lists_.size() - 1 : std::size_t{list.Low()};
  constexpr std::size_t kMaxTraces = 65536;
  if (trace_lists_[at].size() + items.size() > kMaxTraces) {
    ThrowRead(ErrorCode::kLimit, offset, "device_traces", "more than 65,536 lists");
  }
  for (const Value& item : items) {
    if (item.kind == kind::kEvents) {
      trace_lists_[at].push_back({item.Low(), item.High()});
    } else if (item.kind == ValueKind::kEmptyList) {
      trace_lists_[at].emplace_back();
    } else {
      ThrowRead(ErrorCode::kMalformed, offset, "device_traces",
                fmt::format("item {} is {} where a list of events belongs", trace_lists_[at].size(),
                            KindName(item.kind)));
    }
  }
  return Value::Of(kind::kTraces, at);
}

Value SnapshotBuilder::Generic(const Value& base, std::span<const Value> values,
                               std::uint64_t offset, bool dict) {
  if (IsContainer(base.kind) && base.kind != kind::kOpaqueValue &&
      base.kind != ValueKind::kEmptyDict && base.kind != ValueKind::kEmptyList) {
    ThrowRead(
        ErrorCode::kMalformed, offset, {},
        fmt::format("{} that also holds {}", KindName(base.kind), KindName(values.back().kind)));
  }
  for (std::size_t i = values.size(); i-- > 0;) {
    events_.Forget(values[i]);
    const ValueKind kind = values[i].kind;
    if (!dict && (kind == kind::kFrame || ToList(kind) != ValueKind::kNone)) {
      const auto other = std::find_if(values.begin(), values.end(),
                                      [kind](const Value& item) { return item.kind != kind; });
      ThrowRead(ErrorCode::kMalformed, offset, {},
                fmt::format("a list that holds {} and {}", KindName(kind),
                            other == values.end() ? "another" : KindName(other->kind)));
    }
  }
  return opaque_values_.Add(base, values, dict);
}

Value SnapshotBuilder::AddAnnotation(std::span<const Value> pairs, std::uint64_t offset) {
  Annotation annotation;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const Word word = GetWord(pairs[i]);
    const Value& value = pairs[i + 1];
    const Field field(value, word, offset);
    if (word == Word::kName) {
      annotation.name = field.String();
    } else if (word == Word::kStage) {
      annotation.stage = GetWord(value);
    } else if (word == Word::kDevice) {
      annotation.device = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(field.Int(), -1, std::numeric_limits<std::int32_t>::max()));
    } else if (word == Word::kTimeUs) {
      annotation.time = field.Nanos();
    } else {
      context_.UnknownKey("an annotation", pairs[i], offset);
    }
  }
  annotations_.push_back(annotation);
  Value value =
      Value::OfRows(kind::kAnnotation, static_cast<std::uint32_t>(annotations_.size() - 1), 1);
  value.row = true;
  return value;
}

Value SnapshotBuilder::Top(const Value& dict, std::span<const Value> pairs, std::uint64_t offset) {
  if (dict.kind == kind::kOpaqueValue) {
    ThrowRead(ErrorCode::kUnsupported, offset, {}, "a snapshot whose keys come in several steps");
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const Word word = GetWord(pairs[i]);
    Value* part = nullptr;
    switch (word) {
      case Word::kSegments:
        part = &parts_.segments;
        break;
      case Word::kDeviceTraces:
        part = &parts_.traces;
        break;
      case Word::kHostSegments:
        part = &parts_.host_segments;
        break;
      case Word::kHostTraces:
        part = &parts_.host_traces;
        break;
      case Word::kExternalAnnotations:
        part = &parts_.annotations;
        break;
      case Word::kAllocatorSettings:
        part = &parts_.settings;
        break;
      case Word::kTraceAllocOverflowed:
        part = &parts_.overflowed;
        break;
      case Word::kTraceAllocMaxEntries:
        part = &parts_.max_entries;
        break;
      case Word::kMemtool:
        part = &parts_.cut;
        break;
      default:
        context_.UnknownKey("a snapshot", pairs[i], offset);
        continue;
    }
    if (KeySet{context_.seen}.Has(word)) {
      ThrowRead(ErrorCode::kMalformed, offset, std::string(Text(pairs[i])),
                "occurs twice: this holds more than one snapshot");
    }
    context_.seen.bits |= Bit(word);
    *part = pairs[i + 1];
  }
  return Value::Of(kind::kSnapshot, 0);
}

}  // namespace memtool::formats::torch_snapshot
