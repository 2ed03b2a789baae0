#include "options/range_options.h"

#include <array>
#include <boost/program_options/value_semantic.hpp>

#include "words/choice.h"

namespace memtool::commands {

namespace {

constexpr std::array<Choice<bool>, 2> kAxes{{{"event", false}, {"time", true}}};

}  // namespace

void RangeOptions::Declare(po::options_description_easy_init add, const std::string& of) {
  add("from", ToValue(&from_text_, MomentWords())->value_name("MOMENT"),
      (of + "where it begins: an event's number, or a moment as in --at of memtool top (default "
            "start)")
          .c_str());
  add("to", ToValue(&to_text_, MomentWords())->value_name("MOMENT"),
      (of + "where it ends (default end)").c_str());
}

Result<void> RangeOptions::Resolve() {
  auto from = ParseMoment(from_text_, "--from");
  auto to = ParseMoment(to_text_, "--to");
  if (!from || !to) {
    return Fail(std::move(!from ? from.error() : to.error()));
  }
  range_ = {*std::move(from), *std::move(to)};
  return {};
}

KnownWords AxisWords() {
  return ToWords(kAxes);
}

Result<bool> ChooseAxis(std::string_view word) {
  return Choose("--axis", word, kAxes);
}

}  // namespace memtool::commands
