// `memtool check` as people and CI systems read it.
#pragma once

#include <string>
#include <vector>

#include "memtool/profile/answers/check.h"
#include "output/sentences.h"
#include "output/sink.h"
#include "output/text_table.h"

namespace memtool::commands {

// `against`: what the limits come from.
Sentences CheckSentences(const CheckAnswer& answer, const std::string& against);
// Verdict first, then a row per limit.
TextTable CheckTable(const CheckAnswer& answer, Sentences said, std::size_t limit);

// "peak is 129.00 MiB, 9.82 MiB above the 119.18 MiB allowed (118.00 MiB in the baseline)"
std::string BrokenText(const CheckRow& row);

// A line per broken limit, as GitHub and the systems that follow it annotate pull requests.
std::vector<std::string> Annotations(const CheckAnswer& answer);

// JUnit's XML: a test case per limit.
std::string JunitXml(const CheckAnswer& answer);

}  // namespace memtool::commands
