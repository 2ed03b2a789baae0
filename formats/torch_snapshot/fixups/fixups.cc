#include "torch_snapshot/fixups/fixups.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::torch_snapshot {

namespace {

std::span<Event> GetEvents(History& history, const Trace& trace) {
  return std::span(history.events).subspan(trace.first_event, trace.event_count);
}

bool Has(std::span<const Event> events, Action action) {
  return std::any_of(events.begin(), events.end(),
                     [action](const Event& event) { return event.action == action; });
}

class Annotator {
 public:
  Annotator(History& history, RecordingBuilder& builder)
      : history_(history), builder_(builder), key_(builder.Intern("annotation")) {
    history_.labels.resize(history_.events.size(), LabelSetId(0U));
  }

  void Take(const Trace& trace) {
    KeyMap<std::uint64_t, std::uint64_t> live;  // address -> row of its allocation
    for (std::uint64_t row = trace.first_event; row < trace.first_event + trace.event_count;
         ++row) {
      const Event& event = history_.events[row];
      if (event.action == Action::kAlloc) {
        live[event.key] = row;
      } else if (event.action == Action::kFreeCompleted) {
        live.erase(event.key);
      } else if (event.action == Action::kAnnotate) {
        if (const auto at = live.find(event.key); at != live.end()) {
          Join(history_.labels[row], history_.labels[at->second]);
        }
      }
    }
  }

 private:
  // Joins two label sets; what is in both is kept once.
  void Join(LabelSetId said, LabelSetId& of) {
    const auto before = builder_.Labels(of);
    std::vector<Label> set(before.begin(), before.end());
    for (Label label : builder_.Labels(said)) {
      const std::string_view key = builder_.Text(label.key);
      constexpr std::string_view kMetadata = "user_metadata";
      if (!key.starts_with(kMetadata)) {
        continue;
      }
      label.key = key == kMetadata
                      ? key_
                      : builder_.Intern("annotation" + std::string(key.substr(kMetadata.size())));
      if (std::find(set.begin(), set.end(), label) == set.end() && set.size() < kMaxLabels) {
        set.push_back(label);
      }
    }
    of = builder_.InternLabels(set);
  }

  static constexpr std::size_t kMaxLabels = 64;

  History& history_;
  RecordingBuilder& builder_;
  StringId key_;
};

}  // namespace

void JoinAnnotations(History& history, RecordingBuilder& builder) {
  if (!Has(history.events, Action::kAnnotate)) {
    return;
  }
  Annotator annotator(history, builder);
  for (const Trace& trace : history.traces) {
    annotator.Take(trace);
  }
}

bool CountRequestsAsFrees(History& history, const AllocatorState& state) {
  bool any = false;
  std::set<std::uint64_t> waiting;
  for (const Block& block : state.blocks) {
    if (block.state == BlockState::kPendingFree) {
      waiting.insert(block.address);
    }
  }
  for (const Trace& trace : history.traces) {
    const std::span<Event> events = GetEvents(history, trace);
    if (!Has(events, Action::kFreeRequested) || Has(events, Action::kFreeCompleted)) {
      continue;
    }
    std::set<std::uint64_t> left = waiting;
    for (std::size_t i = events.size(); i-- > 0;) {
      Event& event = events[i];
      // A block that is pending at the end is still waiting after its last request.
      if (event.action == Action::kFreeRequested && left.erase(event.key) == 0) {
        event.action = Action::kFreeCompleted;
        any = true;
      }
    }
  }
  return any;
}

}  // namespace memtool::formats::torch_snapshot
