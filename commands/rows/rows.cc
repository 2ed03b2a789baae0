#include "rows/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/select/operation_name.h"
#include "words/words.h"

namespace memtool::commands {

std::string ViaText(std::string_view via) {
  const std::string_view operation = OperationName(via);
  return operation.empty() ? NameText(via) : std::string(operation);
}

std::string InputsText(const InputReader& input_reader, bool apart) {
  const auto& notes = input_reader.notes();
  if (notes.size() == 1) {
    return notes[0].path + " · " + input_reader.displays()[0];
  }
  constexpr std::size_t kListed = 3;
  std::string text = fmt::format("{} inputs{}:", notes.size(), apart ? "" : " merged");
  for (std::size_t i = 0; i < std::min(kListed, notes.size()); ++i) {
    text += " " + notes[i].path;
  }
  return notes.size() > kListed ? text + " …" : text;
}

Amount MakeAmount(const InputReader& input_reader, std::int64_t value, bool sign) {
  return {.value = value, .bytes = input_reader.is_bytes(), .sign = sign};
}

std::string AmountText(const InputReader& input_reader, std::int64_t value, bool sign) {
  const std::string& unit = input_reader.choice().unit;
  return input_reader.is_bytes()           ? FormatSize(value, SizeUnit::kAuto, sign)
         : NanosOf(unit) > 0               ? TimeText(value, NanosOf(unit), sign)
         : unit.empty() || unit == "count" ? FormatCount(value, sign)
                                           : FormatCount(value, sign) + " " + unit;
}

std::vector<std::string> FootNotes(std::int64_t unknown) {
  std::vector<std::string> notes;
  if (unknown > 0) {
    notes.push_back(
        fmt::format("{} executable{} of unknown size (the runtime wrote -1): not in the "
                    "sums",
                    FormatCount(unknown), PluralS(unknown)));
  }
  return notes;
}

std::string ReturnableText(const FreeMemory& gives) {
  const auto counted = [](std::int64_t count, std::string_view what) {
    return Counted(count, what);
  };
  std::string text = FormatSize(gives.returnable);
  const char* before = " in ";
  if (gives.unused_segments > 0) {
    text += before + counted(gives.unused_segments, "unused segment");
    before = " and ";
  }
  if (gives.pages > 0) {
    text += before + counted(gives.pages, "whole page") + " of " +
            counted(gives.paged_segments, "expandable segment") + " in use";
  }
  return text;
}

std::string PrivatePoolText(const FreeMemory& gives) {
  return fmt::format(
      "{} is free in {} segment{} of private pools (graphs, MemPools): not given back while "
      "these live",
      FormatSize(gives.private_pool), FormatCount(gives.private_segments),
      PluralS(gives.private_segments));
}

}  // namespace memtool::commands
