// The wordings of out-of-memory messages, beginning where a log has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "memtool/formats/oom_text.h"

namespace memtool::formats::oom_text {

// Where the next message of a line begins, at or after `from`; npos for none. What is found may
// fail to parse.
std::size_t FindStart(std::string_view line, std::size_t from);

struct Parsed {
  OomMessage message{};
  std::size_t consumed = 0;  // characters that belong to it for certain
  bool starved = false;      // the text ended inside it: further lines may complete it
};

// A form of message: the words that it begins with, and the function that reads the rest.
class Phrases;
struct Form {
  std::string_view words;
  std::optional<Parsed> (*read)(Phrases& in);
};

// Reads the message that `text` begins with. None when it is no such message after all.
std::optional<Parsed> ParseMessage(std::string_view text);

}  // namespace memtool::formats::oom_text
