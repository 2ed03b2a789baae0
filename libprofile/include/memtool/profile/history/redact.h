// A recording without its names, so that it can be shown to strangers.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/model/recording.h"

namespace memtool {

// What stands for a name: a letter for its kind, '_', and the first 12 hexadecimal digits of
// the SHA-256 of the salt, a NUL byte and the name. Equal names have equal stand-ins, in every
// recording that is redacted with the same salt. Without a secret salt, anyone who guesses a name
// can test the guess.
std::string StandIn(char kind, std::string_view name, std::string_view salt);

// Stand-ins for names of functions (f), of files, mappings and build ids (p, with the ending of a
// source file or library kept), values of labels (t) and names of marks (m). Kept: "??" and empty
// names, line numbers, the keys of labels and the values of those that a reader makes from numbers
// (pool, stream, device), steps of profilers, "snapshot" marks, sample types, the allocator's
// settings, and functions of public frameworks and of Python itself, with the part of their path
// that is the same everywhere ("site-packages/torch/nn/modules/module.py"). Comments, what a file
// asks to drop, its documentation URL, diagnostics (they quote), and the host and process of
// Metadata::origin are left out. The result's string table holds no original that is not kept.
// Untouched: the rest of the origin (rank, device names), blind spots, and the names of traces and
// domains.
Recording Redact(Recording recording, std::string_view salt);

}  // namespace memtool
