// memtool fit of recordings, in words: what is predicted, how it was found, what grows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memtool/profile/answers/fit.h"
#include "output/sentences.h"
#include "output/text_table.h"

namespace memtool::commands {

// How the inputs are called.
struct FitNames {
  std::string parameter = "x";  // what differs between them
  std::vector<double> x;        // its value in each
  std::vector<std::string> files;
  std::string card_note;  // what of a card counts; may be empty
};

// Why there is no prediction.
std::string FitRefusal(const FitAnswer& answer, const FitNames& names);
Sentences FitSentences(const FitAnswer& answer, const FitNames& names);
// `limit`: rows of what grows, 0 = all.
TextTable FitTable(const FitAnswer& answer, const FitNames& names, std::size_t limit);

}  // namespace memtool::commands
