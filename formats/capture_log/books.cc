#include "capture_log/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "memtool/profile/base/arithmetic.h"
#include "support/read_error.h"

namespace memtool::formats::capture_log {

namespace {

constexpr std::size_t kMostLedgers = 250;  // an event names its ledger with one byte
constexpr std::size_t kMostStreams = 65000;

LedgerKind KindOf(wire::Kind kind) {
  switch (kind) {
    case wire::Kind::kManaged:
      return LedgerKind::kManaged;
    case wire::Kind::kPinned:
      return LedgerKind::kPinned;
    case wire::Kind::kHost:
      return LedgerKind::kHost;
    case wire::Kind::kVmm:
      return LedgerKind::kVmm;
    default:
      return LedgerKind::kDevice;
  }
}

LedgerLevel LevelOf(wire::Level level) {
  return level == wire::Level::kDriver ? LedgerLevel::kDriver
         : level == wire::Level::kUser ? LedgerLevel::kUser
                                       : LedgerLevel::kAllocator;
}

Label TextLabel(RecordingBuilder& builder, std::string_view key, std::string_view text) {
  return {.key = builder.Intern(key), .text = builder.Intern(text), .unit = StringId(0U)};
}

}  // namespace

Books::Books(RecordingBuilder& builder, const Definitions& definitions, std::int64_t start_unix)
    : builder_(builder), definitions_(definitions), start_unix_(start_unix) {}

std::int64_t Books::TimeOf(const Call& call) const {
  constexpr std::uint64_t kMostTime = std::uint64_t{1} << 61U;
  return SaturatingAdd(start_unix_, static_cast<std::int64_t>(std::min(call.time, kMostTime)));
}

const LaneRow* Books::Lane(const Call& call) {
  const LaneRow* lane = definitions_.lanes.Find(call.lane);
  counts_.unknown_lanes += lane == nullptr ? 1 : 0;
  return lane;
}

const LedgerRow* Books::LedgerOf(const LaneRow& lane) {
  const LedgerRow* ledger = definitions_.ledgers.Find(lane.ledger);
  counts_.unknown_lanes += ledger == nullptr ? 1 : 0;
  return ledger;
}

const LedgerRow* Books::OnPoolDevice(const LaneRow& lane, const LedgerRow* ledger,
                                     LedgerRow& moved) {
  const auto pool = lane.pool == 0 ? pool_devices_.end() : pool_devices_.find(lane.pool);
  if (ledger == nullptr || pool == pool_devices_.end() || pool->second == ledger->device) {
    return ledger;
  }
  moved = *ledger;
  moved.device = pool->second;
  return &moved;
}

std::uint32_t Books::BookOf(const LedgerRow& ledger) {
  const bool user = ledger.level == wire::Level::kUser;
  std::string name = ledger.device < 0 ? "host" : std::to_string(ledger.device);
  if (user) {
    name = fmt::format("{}@{}", ledger.name, name);
  }
  const auto [found, added] = book_index_.emplace(name, static_cast<std::uint32_t>(books_.size()));
  if (added) {
    books_.push_back({.name = name, .device = ledger.device, .level = LevelOf(ledger.level)});
  }
  return found->second;
}

std::uint8_t Books::LedgerIndex(const LedgerRow& ledger, std::uint32_t book) {
  const auto [found, added] = ledger_index_.emplace(std::pair(book, ledger.name),
                                                    static_cast<std::uint8_t>(ledgers_.size()));
  if (added) {
    if (ledgers_.size() >= kMostLedgers) {
      ThrowRead(ErrorCode::kLimit, 0, {}, "more than 250 ledgers");
    }
    ledgers_.push_back({.name = ledger.name,
                        .device = ledger.device,
                        .kind = KindOf(ledger.kind),
                        .level = LevelOf(ledger.level)});
    if (!books_[book].first_ledger.valid()) {
      books_[book].first_ledger = LedgerId(std::uint32_t{found->second});
    }
  }
  return found->second;
}

std::uint16_t Books::StreamIndex(std::uint64_t stream) {
  const auto [found, added] =
      stream_index_.emplace(stream, static_cast<std::uint16_t>(streams_.size()));
  if (added) {
    if (streams_.size() >= kMostStreams) {
      ThrowRead(ErrorCode::kLimit, 0, {}, "more than 65,000 streams");
    }
    streams_.push_back(stream);
  }
  return found->second;
}

LabelSetId Books::Labels(const Call& call, const LaneRow& lane, const LedgerRow& ledger) {
  if (const auto known = label_index_.find(call.lane); known != label_index_.end()) {
    return known->second;
  }
  std::vector<Label> labels{TextLabel(builder_, "ledger", ledger.name)};
  if (const ThreadRow* thread = definitions_.threads.Find(lane.thread); thread != nullptr) {
    labels.push_back(
        TextLabel(builder_, "thread", fmt::format("{} {}", lane.thread, thread->name)));
  }
  if (const std::string* tag = definitions_.tags.Find(lane.tag); tag != nullptr) {
    labels.push_back(TextLabel(builder_, "tag", *tag));
  }
  if (lane.pool != 0) {
    labels.push_back(TextLabel(builder_, "pool", fmt::format("{:#x}", lane.pool)));
  }
  const LabelSetId set = builder_.InternLabels(labels);
  label_index_.emplace(call.lane, set);
  return set;
}

Books::Place Books::Add(const Call& call, const LaneRow& lane, const LedgerRow& ledger,
                        Action action) {
  const std::uint32_t book = BookOf(ledger);
  const std::uint8_t index = LedgerIndex(ledger, book);
  std::vector<Row>& rows = books_[book].rows;
  if (rows.size() >= std::numeric_limits<std::uint32_t>::max()) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "more than 4,294,967,295 events");
  }
  rows.push_back({.event = {.key = call.key,
                            .size = call.size,
                            .time = TimeOf(call),
                            .stream = StreamIndex(lane.stream),
                            .ledger = index,
                            .action = action},
                  .stack = call.stack,
                  .labels = Labels(call, lane, ledger)});
  return {book, static_cast<std::uint32_t>(rows.size() - 1)};
}

Books::Place Books::AddEnd(const Call& call, Place place, Action action) {
  const Row opened = At(place);
  std::vector<Row>& rows = books_[place.book].rows;
  if (rows.size() >= std::numeric_limits<std::uint32_t>::max()) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "more than 4,294,967,295 events");
  }
  Row row = opened;
  row.event.time = TimeOf(call);
  row.event.action = action;
  row.stack = 0;
  rows.push_back(row);
  return {place.book, static_cast<std::uint32_t>(rows.size() - 1)};
}

void Books::Alloc(const Call& call) {
  const LaneRow* lane = Lane(call);
  LedgerRow moved;
  const LedgerRow* ledger = lane == nullptr ? nullptr : OnPoolDevice(*lane, LedgerOf(*lane), moved);
  if (ledger == nullptr) {
    return;
  }
  counts_.estimated += call.estimated ? 1 : 0;
  const Key key(ledger->space, call.key);
  const bool is_handle = ledger->space == wire::Space::kVmmHandle;
  // Its free was not recorded (the capture was off, or a chunk is lost): it must have gone.
  if (const auto old = live_.find(key); !is_handle && old != live_.end()) {
    ++counts_.reopened;
    if (!old->second.imported) {
      AddEnd(call, old->second.place, Action::kFreeCompleted);
    }
    live_.erase(old);
  }
  Call row = call;
  // Keys of one trace come from several spaces: arrays and handles are kept apart from pointers.
  const bool pointer =
      ledger->space <= wire::Space::kHostPointer || ledger->space >= wire::Space::kUser;
  row.key = pointer ? call.key : call.key ^ static_cast<std::uint64_t>(ledger->space) << 56U;
  if (is_handle) {
    // A handle that is given out again while its memory is still mapped.
    row.key ^= key_in_use_[call.key]++ << 48U;
  }
  const Live live{.place = Add(row, *lane, *ledger, Action::kAlloc), .context = lane->context};
  if (is_handle) {
    handle_of_[call.key] = handles_.size();
    handles_.push_back({.live = live, .value = call.key});
  } else {
    live_.emplace(key, live);
  }
}

void Books::Free(const Call& call) {
  const LaneRow* lane = Lane(call);
  const LedgerRow* ledger = lane == nullptr ? nullptr : LedgerOf(*lane);
  if (ledger == nullptr) {
    return;
  }
  Undo& undo = undo_[lane->thread];
  undo = Undo{.space = ledger->space, .key = call.key};
  const auto found = live_.find({ledger->space, call.key});
  if (found == live_.end()) {
    // Memory of a graph goes with the graphs' own.
    const bool of_graph =
        ledger->space == wire::Space::kDevicePointer && graph_pointers_.erase(call.key) > 0;
    undo.of_graph = of_graph;
    counts_.unknown_frees += of_graph ? 0 : 1;
    return;
  }
  undo.known = true;
  undo.live = found->second;
  if (!found->second.imported) {
    undo.freed = AddEnd(call, found->second.place, Action::kFreeCompleted);
    undo.has_row = true;
  }
  live_.erase(found);
}

void Books::GraphNode(const Call& call) {
  if (call.numbers[0] == static_cast<std::uint64_t>(wire::GraphOp::kFree)) {
    graph_pointers_.erase(call.numbers[1]);
    return;
  }
  ++counts_.graph_nodes;
  counts_.graph_bytes += std::min(call.numbers[2], UINT64_MAX - counts_.graph_bytes);
  graph_pointers_.insert(call.numbers[1]);
}

void Books::Mark(const Call& call, const std::string& name, std::int64_t value) {
  marks_.push_back(
      {.name = value == 0 ? name : fmt::format("{}#{}", name, value), .begin = TimeOf(call)});
}

void Books::Failed(const Call& call) {
  const LaneRow* lane = Lane(call);
  LedgerRow moved;
  const LedgerRow* ledger = lane == nullptr ? nullptr : OnPoolDevice(*lane, LedgerOf(*lane), moved);
  if (ledger == nullptr) {
    return;
  }
  constexpr std::uint64_t kOutOfMemory = 2;
  const bool oom = call.numbers[1] == kOutOfMemory;
  counts_.failed_calls += oom ? 0 : 1;
  Call row = call;
  row.key = call.numbers[2] == 0 ? 0 : call.numbers[2] - 1;
  row.size = static_cast<std::int64_t>(
      std::min<std::uint64_t>(call.numbers[0], std::numeric_limits<std::int64_t>::max()));
  Add(row, *lane, *ledger, oom ? Action::kOom : Action::kOther);
}

// The handle's memory goes with its last reference and its last mapping.
bool Books::DropHandle(const Call& call, std::size_t handle, Undo& undo) {
  Handle& row = handles_[handle];
  if (row.gone || row.references > 0 || row.mappings > 0) {
    return false;
  }
  row.gone = true;
  if (const auto found = handle_of_.find(row.value);
      found != handle_of_.end() && found->second == handle) {
    handle_of_.erase(found);
  }
  if (!row.live.imported) {
    undo.handles.emplace_back(handle, AddEnd(call, row.live.place, Action::kFreeCompleted));
  }
  return true;
}

void Books::Release(const Call& call) {
  const LaneRow* lane = Lane(call);
  if (lane == nullptr) {
    return;
  }
  Undo& undo = undo_[lane->thread];
  undo = Undo{.space = wire::Space::kVmmHandle, .key = call.numbers[0]};
  const auto found = handle_of_.find(call.numbers[0]);
  if (found == handle_of_.end()) {
    ++counts_.unknown_frees;
    return;
  }
  const std::size_t handle = found->second;
  undo.known = true;
  undo.handle = handle;
  --handles_[handle].references;
  if (!DropHandle(call, handle, undo) && handles_[handle].references == 0 &&
      !handles_[handle].live.imported) {
    // Given up, but still mapped.
    undo.freed = AddEnd(call, handles_[handle].live.place, Action::kFreeRequested);
    undo.has_row = true;
  }
}

void Books::Unmap(const Call& call) {
  const LaneRow* lane = Lane(call);
  if (lane == nullptr) {
    return;
  }
  const std::uint64_t begin = call.numbers[0];
  Undo& undo = undo_[lane->thread];
  undo = Undo{.space = wire::Space::kVirtual, .key = begin, .known = true};
  auto at = mapped_.lower_bound(begin);
  while (at != mapped_.end() && at->first - begin < call.numbers[1]) {
    undo.mappings.emplace_back(*at);
    if (!handles_[at->second.handle].live.imported) {
      ranges_[at->second.range].range.end = TimeOf(call);
    }
    --handles_[at->second.handle].mappings;
    DropHandle(call, at->second.handle, undo);
    at = mapped_.erase(at);
  }
}

void Books::Map(const Call& call) {
  const auto found = handle_of_.find(call.numbers[0]);
  if (found == handle_of_.end()) {
    return;
  }
  Handle& handle = handles_[found->second];
  const MapRow row{.size = call.numbers[2], .handle = found->second, .range = ranges_.size()};
  if (!mapped_.emplace(call.numbers[1], row).second) {
    return;
  }
  ++handle.mappings;
  if (!handle.live.imported) {
    ranges_.push_back({.place = handle.live.place,
                       .range = {.address = call.numbers[1],
                                 .size = static_cast<std::int64_t>(std::min<std::uint64_t>(
                                     row.size, std::numeric_limits<std::int64_t>::max())),
                                 .begin = TimeOf(call)}});
  }
}

void Books::TakeBackHandles(const Undo& undo) {
  for (const auto& [handle, place] : undo.handles) {
    handles_[handle].gone = false;
    handle_of_.emplace(handles_[handle].value, handle);
    At(place).event.action = Action::kOther;
  }
  for (const auto& [address, row] : undo.mappings) {
    ++handles_[row.handle].mappings;
    mapped_.emplace(address, row);
    if (!handles_[row.handle].live.imported) {
      ranges_[row.range].range.end = kNoTime;
    }
  }
  if (undo.space == wire::Space::kVmmHandle && undo.known) {
    ++handles_[undo.handle].references;
  }
}

void Books::TakeBackContext(const Undo& undo) {
  --counts_.ended_contexts;
  for (const Ended& ended : undo.ended) {
    live_.emplace(ended.key, ended.live);
    if (!ended.live.imported) {
      At(ended.row).event.action = Action::kOther;
    }
  }
}

void Books::FreeFailed(const Call& call) {
  const LaneRow* lane = Lane(call);
  if (lane == nullptr) {
    return;
  }
  ++counts_.refused_frees;
  Undo& undo = undo_[lane->thread];
  if (undo.key != call.numbers[0]) {
    return;
  }
  if (undo.of_context) {
    TakeBackContext(undo);
  } else if (undo.of_graph) {
    graph_pointers_.insert(undo.key);
  } else if (!undo.known) {
    counts_.unknown_frees -= counts_.unknown_frees > 0 ? 1 : 0;
  } else if (undo.space == wire::Space::kVmmHandle || undo.space == wire::Space::kVirtual) {
    TakeBackHandles(undo);
  } else {
    live_.emplace(Key(undo.space, undo.key), undo.live);
  }
  if (undo.has_row) {
    At(undo.freed).event.action = Action::kOther;
  }
  undo = Undo{};
}

void Books::Import(const Call& call) {
  const LaneRow* lane = Lane(call);
  const LedgerRow* ledger = lane == nullptr ? nullptr : LedgerOf(*lane);
  if (ledger == nullptr) {
    return;
  }
  ++counts_.imports;
  if (ledger->space == wire::Space::kVmmHandle) {
    handle_of_[call.numbers[0]] = handles_.size();
    handles_.push_back({.live = {.imported = true}, .value = call.numbers[0]});
  } else {
    live_[{ledger->space, call.numbers[0]}] = {.imported = true};
  }
}

// Pools and handles belong to the device and stay.
void Books::ContextEnd(const Call& call) {
  const std::uint64_t context = call.numbers[0];
  const LaneRow* lane = Lane(call);
  if (context == 0 || lane == nullptr) {
    return;
  }
  ++counts_.ended_contexts;
  Undo& undo = undo_[lane->thread];
  undo = Undo{.key = context, .known = true, .of_context = true};
  std::vector<Key> gone;
  for (const auto& [key, live] : live_) {
    const bool pooled = !live.imported && ledgers_[At(live.place).event.ledger].name == "async";
    if (live.context == context && !pooled && key.first < wire::Space::kUser) {
      gone.push_back(key);
    }
  }
  std::sort(gone.begin(), gone.end());
  for (const Key& key : gone) {
    const auto found = live_.find(key);
    Ended& ended = undo.ended.emplace_back(Ended{.key = key, .live = found->second, .row = {}});
    if (!ended.live.imported) {
      ended.row = AddEnd(call, ended.live.place, Action::kFreeCompleted);
    }
    live_.erase(found);
  }
}

void Books::Other(wire::Tag tag, const Call& call) {
  switch (tag) {
    case wire::Tag::kFailed:
      return Failed(call);
    case wire::Tag::kFreeFailed:
      return FreeFailed(call);
    case wire::Tag::kRelease:
      return Release(call);
    case wire::Tag::kUnmap:
      return Unmap(call);
    case wire::Tag::kImport:
      return Import(call);
    case wire::Tag::kContextEnd:
      return ContextEnd(call);
    case wire::Tag::kRetain:
      if (const auto found = handle_of_.find(call.numbers[0]); found != handle_of_.end()) {
        ++handles_[found->second].references;
      }
      return;
    case wire::Tag::kMap:
      return Map(call);
    case wire::Tag::kUnreserve:
      // No memory moves; but it is what a refusal speaks of, not the unmapping before it.
      if (const LaneRow* lane = Lane(call); lane != nullptr) {
        undo_[lane->thread] =
            Undo{.space = wire::Space::kVirtual, .key = call.numbers[0], .known = true};
      }
      return;
    case wire::Tag::kPool:
      // A destroyed pool's handle is given out again at the earliest by the next creation.
      if (call.numbers[1] == static_cast<std::uint64_t>(wire::PoolOp::kCreate)) {
        pool_devices_[call.numbers[0]] =
            static_cast<std::int32_t>(std::min<std::uint64_t>(call.numbers[2], INT32_MAX)) - 1;
      }
      return;
    default:
      return;  // addresses: no memory moves
  }
}

}  // namespace memtool::formats::capture_log
