#include "support/make_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool::test {

namespace {

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return parts;
}

std::int64_t Number(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

template <class T>
T Take(Result<T> result) {
  if (!result) {
    throw std::runtime_error(ToString(result.error()));
  }
  return *std::move(result);
}

}  // namespace

ProfileMaker::ProfileMaker(const Types& types, std::string_view default_type) {
  std::vector<SampleType> made;
  for (const auto& [type, unit] : types) {
    made.push_back({builder_.Intern(type), builder_.Intern(unit), GetRole(type, unit)});
  }
  builder_.StartProfile(std::move(made), builder_.Intern(default_type));
}

Line ProfileMaker::MakeLine(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string name(text.substr(0, at));
  std::string file;
  Line line;
  if (at != std::string_view::npos) {
    const std::string_view place = text.substr(at + 1);
    const std::size_t colon = place.rfind(':');
    file = place.substr(0, colon);
    line.line = colon == std::string_view::npos ? 0 : Number(place.substr(colon + 1));
  }
  const auto [known, added] = functions_.try_emplace({name, file});
  if (added) {
    const StringId id = builder_.Intern(name);
    known->second =
        builder_.AddFunction({.name = id, .system_name = id, .filename = builder_.Intern(file)});
  }
  line.function = known->second;
  return line;
}

LocationId ProfileMaker::Location(std::string_view frame) {
  const auto [known, added] = locations_.try_emplace(std::string(frame));
  if (!added) {
    return known->second;
  }
  memtool::Location location{.address = 0};
  if (const std::size_t mark = frame.find('!'); mark != std::string_view::npos) {
    const std::string mapping(frame.substr(mark + 1));
    frame = frame.substr(0, mark);
    const auto [row, fresh] = mappings_.try_emplace(mapping);
    if (fresh) {
      row->second = builder_.AddMapping({.start = 0x1000,
                                         .limit = 0x9000,
                                         .offset = mappings_.size(),
                                         .filename = builder_.Intern(mapping),
                                         .build_id = builder_.Intern("")});
    }
    location.mapping = row->second;
    // Equal frames of different profiles must have equal addresses.
    location.address = 0x1000 + std::hash<std::string_view>{}(frame) % 0x8000;
  }
  std::vector<Line> lines;
  for (const std::string_view part : Split(frame, '+')) {
    lines.insert(lines.begin(), MakeLine(part));
  }
  known->second = builder_.AddLocation(location, lines);
  return known->second;
}

ProfileMaker& ProfileMaker::Sample(std::string_view stack, const std::vector<std::int64_t>& values,
                                   std::string_view labels) {
  const auto [known, added] = stacks_.try_emplace(std::string(stack));
  if (added) {
    std::vector<LocationId> locations;
    for (const std::string_view frame : Split(stack, ';')) {
      locations.insert(locations.begin(), Location(frame));
    }
    known->second = builder_.AddStack(locations);
  }
  std::vector<Label> set;
  for (const std::string_view text : Split(labels, ' ')) {
    const std::size_t equals = text.find('=');
    const std::string_view value = text.substr(equals + 1);
    Label label{.key = builder_.Intern(text.substr(0, equals)),
                .text = builder_.Intern(""),
                .unit = builder_.Intern("")};
    if (value.starts_with('#')) {
      label.numeric = true;
      label.number = Number(value.substr(1));
      const std::size_t unit = value.find_first_not_of("#-0123456789");
      label.unit = builder_.Intern(unit == std::string_view::npos ? "" : value.substr(unit));
    } else {
      std::string words(value);
      std::replace(words.begin(), words.end(), '~', ' ');
      label.text = builder_.Intern(words);
    }
    set.push_back(label);
  }
  builder_.AddSample(known->second, builder_.InternLabels(set), values);
  return *this;
}

Recording ProfileMaker::Finish() {
  return Take(std::move(builder_).Finish());
}

FilterOptions AllFrames() {
  FilterOptions options;
  options.frames = FrameMode::kAll;
  return options;
}

std::vector<std::string> Top(const Recording& recording, std::string_view by,
                             const FilterOptions& options, std::string_view sample_index) {
  const Filter filter = Take(Filter::Compile(options));
  const View view(recording, filter);
  const ValueChoice choice = Take(ChooseValue(recording, sample_index));
  const StackSums sums = SumByStack(view, choice);
  NodeSpace space;
  Tabulator table(Take(ParseBy(by)), space);
  table.Add({.view = &view, .sums = &sums, .choice = &choice, .name = "input"});
  std::vector<std::string> rows;
  for (const Row& row : table.Rows(SortBy::kFlat)) {
    rows.push_back(fmt::format("{} {} {}", row.name, row.value.flat, row.value.cum));
  }
  return rows;
}

std::vector<std::string> Stacks(const Recording& recording, const FilterOptions& options) {
  std::vector<std::string> rows;
  for (const std::string& row : Top(recording, "stack", options)) {
    rows.push_back(row.substr(0, row.rfind(' ')));
  }
  return rows;
}

std::string Canonical(const Recording& r) {
  const Profile& profile = *r.profile;
  const Metadata& m = r.metadata;
  std::string head =
      fmt::format("time {} duration {} period {} {} {} drop {} keep {} url {} default {}\n",
                  m.time_nanos, m.duration_nanos, m.period, r.Text(m.period_type.type),
                  r.Text(m.period_type.unit), r.Text(m.drop_frames), r.Text(m.keep_frames),
                  r.Text(m.doc_url), r.Text(profile.default_type));
  for (const StringId comment : m.comments) {
    head += fmt::format("comment {}\n", r.Text(comment));
  }
  for (const SampleType& type : profile.types) {
    head += fmt::format("type {} {}\n", r.Text(type.type), r.Text(type.unit));
  }
  const auto location_text = [&r](const Location& location) {
    std::string text = fmt::format("{:x}{}", location.address, location.folded ? " folded" : "");
    if (location.mapping.valid()) {
      const Mapping& map = r.mappings[location.mapping.value()];
      text += fmt::format(" in {} {} {:x} {:x} {:x} {}{}{}{}", r.Text(map.filename),
                          r.Text(map.build_id), map.start, map.limit, map.offset, map.has_functions,
                          map.has_filenames, map.has_line_numbers, map.has_inline_frames);
    }
    for (const Line& line : r.Lines(location)) {
      if (line.function.valid()) {
        const Function& f = r.functions[line.function.value()];
        text += fmt::format(" | {} {} {} {} : {} {}", r.Text(f.name), r.Text(f.system_name),
                            r.Text(f.filename), f.start_line, line.line, line.column);
      }
    }
    return text;
  };
  std::vector<std::string> samples;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    std::string text = "sample";
    for (const auto& column : profile.values) {
      text += fmt::format(" {}", column[i]);
    }
    std::vector<std::string> labels;
    for (const Label& label : r.Labels(profile.label_sets[i])) {
      labels.push_back(fmt::format("\n  {}={} {} {} {}", r.Text(label.key), r.Text(label.text),
                                   label.number, r.Text(label.unit), label.numeric));
    }
    std::sort(labels.begin(), labels.end());
    for (const std::string& label : labels) {
      text += label;
    }
    for (const LocationId id : r.Stack(profile.stacks[i])) {
      text += "\n    " + location_text(r.At(id));
    }
    samples.push_back(text + "\n");
  }
  std::sort(samples.begin(), samples.end());
  for (const std::string& sample : samples) {
    head += sample;
  }
  return head;
}

Recording RandomProfile(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint32_t end) {
    return static_cast<std::uint32_t>(random() % end);
  };
  ProfileMaker maker;
  for (int sample = 0; sample < 40; ++sample) {
    std::string stack;
    const std::uint32_t depth = below(7);
    for (std::uint32_t i = 0; i < depth; ++i) {
      stack += fmt::format("{}f{}@m{}.py:{}", i > 0 ? ";" : "", below(5), below(2), 1 + below(3));
      stack += below(4) == 0 ? fmt::format("+g{}@m.h:{}", below(2), 1 + below(2)) : "";
      stack += below(5) == 0 ? "!/lib/a.so" : "";
    }
    constexpr std::array<std::string_view, 5> kLabels{"", "device=cuda:0 kind=buffer",
                                                      "device=cuda:1", "bytes=#64bytes", "step=#3"};
    const auto value = [&] { return static_cast<std::int64_t>(below(5000)) - 1000; };
    maker.Sample(stack, {value(), value()}, kLabels[below(5)]);
  }
  return maker.Finish();
}

}  // namespace memtool::test
