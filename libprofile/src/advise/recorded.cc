#include "memtool/profile/advise/recorded.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "memtool/profile/whatif/recorded.h"
#include "whatif/model_state.h"
#include "whatif/player.h"
#include "whatif/run_driver.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// A changed program, request by request: what the model does for it becomes events.
class ProgramWriter {
 public:
  ProgramWriter(const HistoryIndex& index, const Trace& trace, const Program& program,
                const whatif::Requests& requests, const whatif::AllocatorSettings& settings,
                History& history)
      : index_(index),
        trace_(trace),
        events_(GetEvents(index.recording(), trace)),
        program_(program),
        requests_(requests),
        expandable_(settings.expandable_segments),
        player_(requests, settings, whatif::MakeDriver(requests, {})),
        addresses_(requests.tags, 0),
        owners_(requests.tags),
        history_(history) {}

  AllocatorState Write() {
    player_.LayAnew();
    for (const whatif::BaseBlock& block : requests_.blocks) {
      if (block.laid.tag != whatif::CachingAllocator::kFreeTag) {
        owners_[block.laid.tag] = {block.stack, block.requested};
        NoteAddress(block.laid.tag);
      }
    }
    for (std::size_t i = 0; i < requests_.rows.size(); ++i) {
      Send(requests_.rows[i], program_.operations[i]);
    }
    return whatif::ToState(player_.allocator(), owners_, trace_.device);
  }

 private:
  void Send(const whatif::Request& request, const Operation& operation) {
    const bool allocates = request.kind == Kind::kAllocate;
    if (allocates) {
      owners_[request.tag] = {program_.blocks[operation.block].stack, request.size};
    }
    if (request.kind == Kind::kFailed) {
      return;  // no limit, no failure
    }
    if (request.kind == Kind::kFreeCompleted) {
      Push(request, Action::kFreeRequested);
      Push(request, Action::kFreeCompleted);
    }
    player_.Send(request);
    for (const whatif::SegmentChange& change : player_.allocator().changes()) {
      Append(whatif::SegmentEvent(At(request), change, trace_, expandable_), request);
    }
    if (allocates) {
      NoteAddress(request.tag);
      Push(request, Action::kAlloc);
    }
  }

  void NoteAddress(std::uint32_t tag) {
    const auto block = player_.GetBlock(tag);
    addresses_[tag] = block == whatif::CachingAllocator::kNoBlock
                          ? kUnknownBytes
                          : player_.allocator().GetAddress(block);
  }

  [[nodiscard]] Event At(const whatif::Request& request) const {
    Event event = events_[request.event];
    event.stack = request.kind == Kind::kAllocate ? owners_[request.tag].first : StackId();
    return event;
  }

  void Push(const whatif::Request& request, Action action) {
    Event event = whatif::BlockEvent(At(request), addresses_[request.tag],
                                     owners_[request.tag].second, action, trace_);
    event.stream = request.stream;
    Append(event, request);
  }

  void Append(const Event& event, const whatif::Request& request) {
    history_.events.push_back(event);
    if (!index_.history().labels.empty()) {
      history_.labels.push_back(index_.history().labels[trace_.first_event + request.event]);
    }
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  std::span<const Event> events_;
  const Program& program_;
  const whatif::Requests& requests_;
  bool expandable_;
  whatif::Player player_;
  std::vector<std::uint64_t> addresses_;  // by tag
  whatif::Owners owners_;
  History& history_;
};

}  // namespace

Result<Recording> RecordedChanged(const HistoryIndex& index, const Edits& edits) {
  const whatif::AllocatorSettings own = whatif::RecordedSettings(index.recording());
  return whatif::Rebuilt(
      index,
      fmt::format("requests are those of the program changed by {}, segments those of a model of "
                  "the allocator",
                  ToText(edits)),
      [&](const Trace& trace, History& history) -> Result<AllocatorState> {
        const whatif::Requests requests = whatif::CollectRequests(index, trace, own);
        const Editor editor(index, trace, requests);
        auto changed = editor.Apply(edits);
        MEMTOOL_TRY(changed);
        const whatif::Requests made = ToRequests(changed->early, requests);
        return ProgramWriter(index, trace, changed->early, made, changed->settings.value_or(own),
                             history)
            .Write();
      });
}

}  // namespace memtool::advise
