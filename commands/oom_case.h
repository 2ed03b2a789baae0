// One allocation that failed, or one moment at which none did: the figures that `memtool oom` found
// in a log or a snapshot, and what it says about them. Each sentence has its number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/formats/oom_text.h"
#include "memtool/profile/analysis/oom.h"
#include "memtool/profile/recording.h"
#include "session.h"

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
};

// Fills ladder and verdict in from the figures.
void Conclude(OomCase& found);

OomCase CaseOf(const formats::OomMessage& message);
// The moment that `loaded` stands at. `at`: how the command line names it, or empty.
OomCase CaseOf(const Loaded& loaded, const std::string& at);
// The device that ran out last, as --device names it: by time where there is one, else by the order
// of the file. Nothing when none did, or not `device` (empty = any).
std::optional<std::string> LastOom(const Recording& recording, const std::string& device);

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
// "fragmentation", "full", "limit", "unexplained", "unknown"; "none" when nothing failed.
std::string VerdictName(const OomCase& found);
// What a part of the ladder is.
std::string PartText(const OomCase& found, const OomPart& part);
// "capacity 23.56 GiB", "known 23.5 GiB"
std::string WholeText(const OomLadder& ladder);

}  // namespace memtool::commands
