#include "log/place_events.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats::log {

namespace {

bool Is(const Statement& statement, std::string_view name) {
  return statement.what().name == name;
}

}  // namespace

void PlaceEvents::Expect(const Statement& statement) {
  if (statement.kind != StatementKind::kMeasured) {
    return;
  }
  static constexpr std::array<std::string_view, 7> kLevels = {
      "allocated", "process", "used", "peak_allocated", "peak_used", "reserved", "peak_reserved"};
  const AmountRole role = statement.what().role;
  if (role == AmountRole::kPart) {
    rows_ = Rows::kParts;
  }
  const auto level = std::find(kLevels.begin(), kLevels.end(), statement.what().name);
  const auto rank = static_cast<std::size_t>(level - kLevels.begin());
  if (level != kLevels.end() && rank < level_rank_) {
    level_rank_ = rank;
    level_ = statement.amount;
    used_is_level_ = *level == "used";
    rows_ = rows_ == Rows::kNone ? Rows::kLevel : rows_;
  }
  reserved_said_ = reserved_said_ || Is(statement, "reserved");
}

void PlaceEvents::Take(const Statement& statement) {
  if (statement.run != run_ || statement.process != process_) {
    EndRun(statement.time);
    run_ = statement.run;
    process_ = statement.process;
  }
  if (Is(statement, "total")) {
    total_ = statement.value;
  }
  if (statement.kind != StatementKind::kMeasured || statement.value < 0) {
    return;
  }
  const AmountRole role = statement.what().role;
  if (role == AmountRole::kPart) {
    TakePart(statement);
  } else if (rows_ == Rows::kLevel && statement.amount == level_) {
    TakeLevel(statement);
  } else if (Is(statement, "reserved")) {
    Reserve(statement, statement.value);
    // What the driver has free counts where nothing says what was reserved.
  } else if (Is(statement, "free") && !reserved_said_ && !used_is_level_) {
    if (!first_free_) {
      first_free_ = SaturatingAdd(statement.value, live_bytes_);
    }
    Reserve(statement, SaturatingSubtract(*first_free_, statement.value));
  }
}

void PlaceEvents::Fail(std::int64_t requested, std::optional<std::int64_t> free,
                       std::int64_t time) {
  Add({.key = free ? static_cast<std::uint64_t>(*free) : kUnknownBytes,
       .size = requested,
       .time = time,
       .stack = {},
       .action = Action::kOom});
}

std::string_view PlaceEvents::driver_figure() const {
  const std::string_view figure =
      rows_ == Rows::kLevel && level_ ? AmountKinds()[*level_].name : std::string_view();
  return figure == "process" ? figure : figure.ends_with("used") ? "used" : std::string_view();
}

PlaceEvents::LiveKey PlaceEvents::KeyOf(const Statement& statement) {
  return {statement.amount, statement.device.valid() ? statement.device.value() + 1 : 0};
}

// A part is called by its title, a level by the stage at which it rose, where it has rows by stage.
StackId PlaceEvents::StackOf(const Statement& statement) {
  const bool staged =
      rows_by_stage_ && statement.what().role != AmountRole::kPart && statement.stage.valid();
  const std::string_view name = staged ? strings_[statement.stage] : statement.what().title;
  const auto [at, added] = stacks_.try_emplace(name, StackId());
  if (added) {
    const StringId id = builder_.Intern(name);
    const std::array<Line, 1> line{
        {{.function = builder_.AddFunction(
              {.name = id, .system_name = id, .filename = builder_.Intern({})})}}};
    at->second = builder_.AddStack(std::array{builder_.AddLocation({}, line)});
  }
  return at->second;
}

// The buffer, and the stage, where the line names them.
LabelSetId PlaceEvents::LabelsOf(const Statement& statement) {
  std::vector<Label> labels;
  for (const auto& [key, text] :
       {std::pair("buffer", statement.device), {"stage", statement.stage}}) {
    if (text.valid()) {
      labels.push_back({.key = builder_.Intern(key),
                        .text = builder_.Intern(strings_[text]),
                        .unit = builder_.Intern({})});
    }
  }
  return builder_.InternLabels(labels);
}

void PlaceEvents::Alloc(const Statement& statement, std::int64_t size, StackId stack,
                        LabelSetId labels) {
  if (size <= 0) {
    return;
  }
  live_[KeyOf(statement)].push_back({++keys_, size, stack, labels});
  held_[statement.amount] = SaturatingAdd(held_[statement.amount], size);
  live_bytes_ = SaturatingAdd(live_bytes_, size);
  Add({.key = keys_,
       .size = size,
       .time = statement.time,
       .stack = stack,
       .action = Action::kAlloc},
      labels);
}

void PlaceEvents::Add(const Event& event, LabelSetId labels) {
  events_.push_back(event);
  labels_.push_back(labels);
}

// The last one under `key`.
void PlaceEvents::Free(const LiveKey& key, std::int64_t time) {
  std::vector<Live>& live = live_[key];
  const Live gone = live.back();
  live.pop_back();
  held_[key.first] = SaturatingSubtract(held_[key.first], gone.size);
  live_bytes_ = SaturatingSubtract(live_bytes_, gone.size);
  Add({.key = gone.key,
       .size = gone.size,
       .time = time,
       .stack = gone.stack,
       .action = Action::kFreeCompleted},
      gone.labels);
}

void PlaceEvents::TakePart(const Statement& statement) {
  std::int64_t size = statement.value;
  Statement part = statement;
  if (Is(statement, "consumed")) {
    // Weights and what is outside: the weights stand there already.
    size = SaturatingSubtract(size, held_[*FindAmount("weights")]);
    if (size != statement.value) {
      part.amount = *FindAmount("non_framework");
    }
  }
  if (const LiveKey key = KeyOf(part); !statement.adds) {
    if (live_[key].size() == 1 && live_[key].front().size == size) {
      return;  // said again
    }
    while (!live_[key].empty()) {
      Free(key, statement.time);
    }
  }
  Alloc(part, size, StackOf(part), LabelsOf(part));
}

void PlaceEvents::TakeLevel(const Statement& statement) {
  StackId stack = StackOf(statement);
  LabelSetId labels = LabelsOf(statement);
  const LiveKey key = KeyOf(statement);
  while (!live_[key].empty() && live_bytes_ > statement.value) {
    stack = live_[key].back().stack;  // of the last one freed a part stays
    labels = live_[key].back().labels;
    Free(key, statement.time);
  }
  Alloc(statement, SaturatingSubtract(statement.value, live_bytes_), stack, labels);
  if (said_reserved_ < reserved_) {  // said on the same line, before what is live fell
    Reserve(statement, said_reserved_);
  }
}

void PlaceEvents::Reserve(const Statement& statement, std::int64_t bytes) {
  said_reserved_ = bytes;
  bytes = std::max(bytes, live_bytes_);  // rounding
  const std::int64_t change = SaturatingSubtract(bytes, reserved_);
  if (change != 0) {
    Add({.size = change > 0 ? change : -change,
         .time = statement.time,
         .action = change > 0 ? Action::kSegmentAlloc : Action::kSegmentFree});
  }
  reserved_ = bytes;
}

void PlaceEvents::EndRun(std::int64_t time) {
  for (const auto& [key, live] : live_) {
    while (!live.empty()) {
      Free(key, time);
    }
  }
  if (reserved_ > 0) {
    Add({.size = reserved_, .time = time, .action = Action::kSegmentFree});
  }
  reserved_ = said_reserved_ = 0;
  first_free_.reset();
}

}  // namespace memtool::formats::log
