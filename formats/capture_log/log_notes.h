// What a log says about its own making, as diagnostics: what was left out or lost and why, what the
// reader could not match, and what no log contains.
#pragma once

#include <cstdint>

#include "../../capture/wire.h"
#include "capture_log/calls/call.h"
#include "capture_log/calls/history_builder.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::capture_log {

// `events`: how many were readable.
void NoteHeader(RecordingBuilder& builder, const wire::Header& header, std::uint64_t events);
// For a log that has Python frames.
void NotePython(RecordingBuilder& builder, const wire::Header& header);
// Native addresses without names because libdw is not installed.
void NoteSymbols(RecordingBuilder& builder, std::uint64_t without_libdw);
void NoteCalls(RecordingBuilder& builder, const CallCounts& counts);
// Not where events lost their threads: then it would be less than it is.
void NoteThreads(RecordingBuilder& builder, const wire::Header& header,
                 const HistoryBuilder::InFlight& in_flight);
// Metadata, settings and blind spots.
void Describe(RecordingBuilder& builder, const wire::Header& header);

}  // namespace memtool::formats::capture_log
