// The columns of tables whose rows are structs, once for both directions. `code(number, name,
// member)` is called for each column, code.Whole() where a row is one value. Numbers are part of
// the format and never change their meaning; an optional value has two, of which the first says
// whether it is there. Names are for errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memtool/profile/model/recording.h"

namespace memtool::formats::memtool_file {

// Metadata without its lists, and what else there is one of.
struct About {
  std::string format;
  std::string display;
  std::string packing;
  std::uint64_t unpacked_bytes = 0;
  Framework framework = Framework::kUnknown;
  RecordingKind kind = RecordingKind::kProfile;
  std::string platform;
  std::string schema;
  std::string host;
  std::string rank;
  std::optional<std::int64_t> process;
  std::string default_by;
  bool frames_are_scopes = false;
  std::int64_t time_nanos = 0;
  std::int64_t duration_nanos = 0;
  StringId period_type{};
  StringId period_unit{};
  Role period_role = Role::kOther;
  std::int64_t period = 0;
  StringId drop_frames{};
  StringId keep_frames{};
  StringId doc_url{};
  bool has_profile = false;
  StringId default_type{};
  bool has_history = false;
  Clock clock = Clock::kAbsent;
  bool has_event_labels = false;
  bool has_state = false;
  std::string log_text;
};

template <class Code>
void Describe(Code& code, const About* /*row*/) {
  code(1, "format", &About::format);
  code(2, "display", &About::display);
  code(3, "packing", &About::packing);
  code(4, "unpacked_bytes", &About::unpacked_bytes);
  code(5, "framework", &About::framework);
  code(6, "kind", &About::kind);
  code(7, "platform", &About::platform);
  code(8, "schema", &About::schema);
  code(9, "host", &About::host);
  code(10, "rank", &About::rank);
  code(11, "process", &About::process);
  code(13, "default_by", &About::default_by);
  code(14, "frames_are_scopes", &About::frames_are_scopes);
  code(15, "time_nanos", &About::time_nanos);
  code(16, "duration_nanos", &About::duration_nanos);
  code(17, "period_type", &About::period_type);
  code(18, "period_unit", &About::period_unit);
  code(19, "period_role", &About::period_role);
  code(20, "period", &About::period);
  code(21, "drop_frames", &About::drop_frames);
  code(22, "keep_frames", &About::keep_frames);
  code(23, "doc_url", &About::doc_url);
  code(24, "has_profile", &About::has_profile);
  code(25, "default_type", &About::default_type);
  code(26, "has_history", &About::has_history);
  code(27, "clock", &About::clock);
  code(28, "has_event_labels", &About::has_event_labels);
  code(29, "has_state", &About::has_state);
  code(30, "log_text", &About::log_text);
}

// Rows of one value: strings, handles of streams, numbers of samples.
template <class Code>
void Describe(Code& code, const std::string* /*row*/) {
  code.Whole(1, "text");
}

template <class Code>
void Describe(Code& code, const std::uint64_t* /*row*/) {
  code.Whole(1, "handle");
}

template <class Code>
void Describe(Code& code, const std::uint32_t* /*row*/) {
  code.Whole(1, "sample");
}

template <class Code>
void Describe(Code& code, const StringId* /*row*/) {
  code.Whole(1, "string");
}

template <class Code>
void Describe(Code& code, const Mapping* /*row*/) {
  code(1, "start", &Mapping::start);
  code(2, "limit", &Mapping::limit);
  code(3, "offset", &Mapping::offset);
  code(4, "filename", &Mapping::filename);
  code(5, "build_id", &Mapping::build_id);
  code(6, "has_functions", &Mapping::has_functions);
  code(7, "has_filenames", &Mapping::has_filenames);
  code(8, "has_line_numbers", &Mapping::has_line_numbers);
  code(9, "has_inline_frames", &Mapping::has_inline_frames);
}

template <class Code>
void Describe(Code& code, const Function* /*row*/) {
  code(1, "name", &Function::name);
  code(2, "system_name", &Function::system_name);
  code(3, "filename", &Function::filename);
  code(4, "start_line", &Function::start_line);
}

// Column 1 of a table of lists is the length of each list.
template <class Code>
void Describe(Code& code, const Location* /*row*/) {
  code(2, "mapping", &Location::mapping);
  code(3, "address", &Location::address);
  code(4, "folded", &Location::folded);
}

template <class Code>
void Describe(Code& code, const Line* /*row*/) {
  code(5, "function", &Line::function);
  code(6, "line", &Line::line);
  code(7, "column", &Line::column);
}

template <class Code>
void Describe(Code& code, const LocationId* /*row*/) {
  code.Whole(2, "location");
}

template <class Code>
void Describe(Code& code, const Label* /*row*/) {
  code(2, "key", &Label::key);
  code(3, "text", &Label::text);
  code(4, "number", &Label::number);
  code(5, "unit", &Label::unit);
  code(6, "numeric", &Label::numeric);
}

template <class Code>
void Describe(Code& code, const Diagnostic* /*row*/) {
  code(1, "severity", &Diagnostic::severity);
  code(2, "code", &Diagnostic::code);
  code(3, "message", &Diagnostic::message);
  code(4, "offset", &Diagnostic::offset);
  code(6, "count", &Diagnostic::count);
}

template <class Code>
void Describe(Code& code, const BlindSpot* /*row*/) {
  code(1, "what", &BlindSpot::what);
  code(2, "why", &BlindSpot::why);
}

template <class Code>
void Describe(Code& code, const Counter* /*row*/) {
  code(1, "kind", &Counter::kind);
  code(2, "device", &Counter::device);
  code(3, "value", &Counter::value);
}

template <class Code>
void Describe(Code& code, const Setting* /*row*/) {
  code(1, "name", &Setting::name);
  code(2, "value", &Setting::value);
}

template <class Code>
void Describe(Code& code, const Statement* /*row*/) {
  code(1, "line", &Statement::line);
  code(2, "time", &Statement::time);
  code(3, "value", &Statement::value);
  code(4, "below", &Statement::below);
  code(5, "above", &Statement::above);
  code(6, "producer", &Statement::producer);
  code(7, "process", &Statement::process);
  code(8, "device", &Statement::device);
  code(9, "stage", &Statement::stage);
  code(10, "rank", &Statement::rank);
  code(11, "amount", &Statement::amount);
  code(12, "kind", &Statement::kind);
  code(13, "adds", &Statement::adds);
  code(14, "host", &Statement::host);
  code(15, "run", &Statement::run);
}

template <class Code>
void Describe(Code& code, const UnreadLine* /*row*/) {
  code(1, "line", &UnreadLine::line);
  code(2, "text", &UnreadLine::text);
}

template <class Code>
void Describe(Code& code, const SampleType* /*row*/) {
  code(1, "type", &SampleType::type);
  code(2, "unit", &SampleType::unit);
  code(3, "role", &SampleType::role);
}

template <class Code>
void Describe(Code& code, const MemoryDomain* /*row*/) {
  code(1, "name", &MemoryDomain::name);
  code(2, "device", &MemoryDomain::device);
  code(3, "kind", &MemoryDomain::kind);
  code(4, "level", &MemoryDomain::level);
  code(5, "parent", &MemoryDomain::parent);
  code(6, "capacity", &MemoryDomain::capacity);
}

template <class Code>
void Describe(Code& code, const Trace* /*row*/) {
  code(1, "device", &Trace::device);
  code(2, "name", &Trace::name);
  code(3, "first_event", &Trace::first_event);
  code(4, "event_count", &Trace::event_count);
  code(5, "blocks", &Trace::blocks);
  code(6, "segments", &Trace::segments);
  code(7, "overflowed", &Trace::overflowed);
  code(8, "preexisting_bytes", &Trace::preexisting_bytes);
  code(9, "preexisting_reserved", &Trace::preexisting_reserved);
  code(10, "listed_before", &Trace::listed_before);
  code(11, "checked_changes", &Trace::checked_changes);
  code(12, "agreeing_changes", &Trace::agreeing_changes);
  code(13, "lifetime_peak", &Trace::lifetime_peak);
}

template <class Code>
void Describe(Code& code, const Mark* /*row*/) {
  code(1, "name", &Mark::name);
  code(2, "device", &Mark::device);
  code(3, "begin", &Mark::begin);
  code(4, "end", &Mark::end);
}

template <class Code>
void Describe(Code& code, const AddressRange* /*row*/) {
  code(1, "event", &AddressRange::event);
  code(2, "address", &AddressRange::address);
  code(3, "size", &AddressRange::size);
  code(4, "begin", &AddressRange::begin);
  code(5, "end", &AddressRange::end);
}

template <class Code>
void Describe(Code& code, const Breakdown* /*row*/) {
  code(2, "stack", &Breakdown::stack);
  code(3, "size", &Breakdown::size);
}

template <class Code>
void Describe(Code& code, const BreakdownPart* /*row*/) {
  code(4, "part_stack", &BreakdownPart::stack);
  code(5, "part_labels", &BreakdownPart::labels);
  code(6, "part_bytes", &BreakdownPart::bytes);
}

template <class Code>
void Describe(Code& code, const Segment* /*row*/) {
  code(1, "address", &Segment::address);
  code(2, "size", &Segment::size);
  code(3, "allocated", &Segment::allocated);
  code(4, "active", &Segment::active);
  code(5, "requested", &Segment::requested);
  code(6, "device", &Segment::device);
  code(7, "stream", &Segment::stream);
  code(8, "stack", &Segment::stack);
  code(9, "first_block", &Segment::first_block);
  code(10, "block_count", &Segment::block_count);
  code(11, "small", &Segment::small);
  code(12, "expandable", &Segment::expandable);
  code(13, "pool_owner", &Segment::pool_owner);
  code(14, "pool_id", &Segment::pool_id);
  code(15, "host", &Segment::host);
}

template <class Code>
void Describe(Code& code, const Block* /*row*/) {
  code(1, "address", &Block::address);
  code(2, "size", &Block::size);
  code(3, "requested", &Block::requested);
  code(4, "stack", &Block::stack);
  code(5, "state", &Block::state);
}

}  // namespace memtool::formats::memtool_file
