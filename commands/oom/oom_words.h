// What `memtool oom` found, in sentences with numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/oom.h"

namespace memtool::commands {

// "WHY", "fragmentation: …"
struct OomSentence {
  std::string_view word;  // WHY, NOT, KNOWN, ON, TRY, NOTE, NEXT
  std::string text;
};

// "2.00 GiB"; 0 for a figure that is not known.
std::string SizeOf(const std::optional<Quantity>& quantity);
// "GPU 0 of rank 3"; empty when it is not known.
std::string WhereText(const OomPlace& place);
std::string Headline(const OomCase& found);
std::string Headline(const OomAnswer& answer);
// Why it failed and what it is not: the answer.
std::vector<OomSentence> Reasons(const OomCase& found);
// What the log says was held. Requires a ledger.
std::string LedgerText(const OomAnswer& answer);
// A piece of advice; commands to go on with are a sentence each. `rest`: the arguments with which a
// command looks at the same moment: "--at oom FILE".
std::vector<OomSentence> Sentences(const OomAdvice& advice, const OomCase& found,
                                   std::string_view rest);
// What a part of the whole is, or who a holder is.
std::string RowText(const OomAnswer& answer, const OomRow& row);
// "capacity 23.56 GiB", "known 23.5 GiB"; for a case with a ladder.
std::string WholeText(const OomCase& found);
// Which of the figures contradict each other.
std::vector<std::string> Doubts(const OomCase& found);

// "rank 3 first, 4.2 s before rank 0"
std::string OrderText(const OomOrder& order);
// "2 more messages in this log, shown by --message K: 2 (line 12, GPU 3, asked for 2.00 GiB) · …"
std::string OtherMessagesText(const OomAnswer& answer);
// What a log without a message says of a process that was killed.
inline constexpr std::string_view kWasKilled = "was killed (signal 9)";
std::string KilledText(const OomAnswer& answer);
// "3 tries failed at first and were made again; the last (line 12) asked 2.00 GiB and had 1.00 GiB
// free"
std::string RetriesText(const OomAnswer& answer);
// "out of memory elsewhere in this file, shown by --device and --at oom:K: device 1 at event 12
// (asked for 2.00 GiB)"
std::string OtherEventsText(const OomAnswer& answer);

}  // namespace memtool::commands
