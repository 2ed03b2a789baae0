// Which part of a recording changes are tried on: whole steps, and not all of very many.
#pragma once

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool {

struct EditedPart {
  whatif::Requests requests;
  bool cut = false;           // at a failure: what follows is left out
  bool failed_early = false;  // before a step was complete: nothing is left out
};

// A step that failed was not recorded to its end. What is complete before it says what one needs; a
// failure in the first step of an optimizer, what that one needed, because gradients tell what
// state was still to be made. Of a long recording the step with its peak and those beside it.
EditedPart ChoosePart(const HistoryIndex& index, const Trace& trace, whatif::Requests requests);

}  // namespace memtool
