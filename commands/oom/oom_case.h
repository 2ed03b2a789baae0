// One allocation that failed, or one moment at which none did: the figures that `memtool oom` found
// in a log or a snapshot, and what it says about them. Each sentence has its number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/formats/oom_text.h"
#include "memtool/profile/account/oom.h"
#include "memtool/profile/model/recording.h"
#include "session/session.h"

namespace memtool::commands {

struct OomCase {
  bool failed = false;     // an allocation failed
  bool snapshot = false;   // the figures come from a snapshot, not from a log
  bool elsewhere = false;  // no allocation failed at this moment, but at others
  std::string where;       // "GPU 0"; empty when it is not told
  std::string moment;      // of a snapshot: "event 12,000", "the end"
  std::string at;          // of a snapshot: what --at calls the moment
  OomFacts facts;
  std::optional<OomState> state;  // of a snapshot
  std::optional<OomLadder> ladder;
  OomVerdict verdict;
  std::vector<Setting> settings;               // of a snapshot; empty when it does not tell
  std::optional<formats::OomMessage> message;  // of a log
  // The processes that a message names hold more than the device has.
  bool processes_contradict = false;
};

// What things are called on the platform of a failure.
struct OomPlatform {
  std::string framework;  // whose allocator it is
  std::string device;     // "GPU", "NPU"
  std::string context;    // of this process outside the allocator
  std::string outside;    // that, and what others hold
  std::string variable;   // where the allocator's settings are set
  bool cuda = true;
};
OomPlatform PlatformOf(const OomCase& found);
// The figures are those of a pool that XLA took from the driver at the start.
bool IsPool(const OomCase& found);
// What the program holds: without what is free in private pools.
std::optional<Quantity> LiveOf(const OomCase& found);

// Fills ladder and verdict in from the figures.
void Conclude(OomCase& found);

OomCase CaseOf(const formats::OomMessage& message);
// The moment that `loaded` stands at. `at`: how the command line names it, or empty.
OomCase CaseOf(const Selection& loaded, const std::string& at);
// The device that ran out last, as --device names it: by time where there is one, else by the order
// of the file. Nothing when none did, or not `device` (empty = any).
std::optional<std::string> LastOom(const Recording& recording, const std::string& device);

// "out of memory elsewhere in this file: device 1 at event 12 (asked 2.00 GiB)": other failures
// than the one that `loaded` stands at; empty when there are none.
std::string OtherFailures(const Selection& loaded);

// "WHY", "fragmentation: …"
struct OomSentence {
  std::string word;  // WHY, NOT, ON, TRY, NEXT
  std::string text;
};
std::string Headline(const OomCase& found);
// Why it failed and what it is not: the answer.
std::vector<OomSentence> Reasons(const OomCase& found);
// What to do, in the order of what it brings.
std::vector<OomSentence> Advice(const OomCase& found, const std::string& path);
// "fragmentation", "full", "limit", "too-large", "unexplained", "unknown"; "none" when nothing
// failed.
std::string VerdictName(const OomCase& found);
// What a part of the ladder is.
std::string PartText(const OomCase& found, const OomPart& part);
// "capacity 23.56 GiB", "known 23.5 GiB"; for a case with a ladder.
std::string WholeText(const OomCase& found);

}  // namespace memtool::commands
