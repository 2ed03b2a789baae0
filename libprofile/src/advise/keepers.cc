#include "memtool/profile/advise/keepers.h"

#include "memtool/profile/advise/edits.h"
#include "memtool/profile/whatif/fidelity.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool {

std::vector<ForwardKeeper> FindForwardKeepers(const HistoryIndex& index, const Trace& trace,
                                              std::size_t most) {
  const Recording& recording = index.recording();
  std::vector<ForwardKeeper> keepers;
  if (whatif::FindObstacle(recording, trace) != whatif::Obstacle::kNone) {
    return keepers;
  }
  const whatif::Requests requests =
      whatif::CollectRequests(index, trace, whatif::RecordedSettings(recording));
  const advise::Editor editor(index, trace, requests);
  for (const advise::Editor::Candidate& candidate : editor.Candidates(most)) {
    const advise::Site& site = editor.sites().all()[candidate.site];
    keepers.push_back({.function = std::string(recording.Text(site.function)),
                       .file = std::string(recording.Text(site.caller_file)),
                       .line = site.caller_line,
                       .calls = candidate.calls,
                       .bytes = site.kept});
  }
  return keepers;
}

}  // namespace memtool
