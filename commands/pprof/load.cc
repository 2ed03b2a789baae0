#include "pprof/load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/memory_bound.h"
#include "memtool/formats/open.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/select/at_moment.h"
#include "pprof/edits.h"
#include "pprof/merge.h"
#include "pprof/text/go_text.h"
#include "session/input_reader.h"

namespace memtool::commands::pprof {

namespace {

// What the command line says about the program that was profiled.
struct Program {
  std::string file;
  std::string build_id;
};

// Looks at a file's first bytes; never at a pipe's, which would then be gone.
bool IsElf(const std::string& path) {
  if (formats::GetStream(path)) {
    return false;
  }
  constexpr std::array<char, 4> kMagic{'\x7f', 'E', 'L', 'F'};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  std::array<char, 4> head{};
  const bool read = fd >= 0 && ::read(fd, head.data(), head.size()) == 4;
  if (fd >= 0) {
    ::close(fd);
  }
  return read && head == kMagic;
}

// The first of several arguments may be the program or its build id.
Program TakeProgram(std::vector<std::string>& sources, const Settings& settings) {
  Program program{.file = {}, .build_id = settings.build_id};
  if (sources.size() < 2) {
    return program;
  }
  const std::string& first = sources[0];
  const bool hex = first.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (IsElf(first)) {
    program.file = first;
  } else if (hex && program.build_id.empty() && ::access(first.c_str(), F_OK) != 0) {
    program.build_id = first;
  } else {
    return program;
  }
  sources.erase(sources.begin());
  return program;
}

// The program is the first mapping; a profile without mappings gets one, which stands for it.
Result<Recording> WithProgram(Recording recording, const Program& program) {
  if (program.file.empty() && program.build_id.empty() && !recording.mappings.empty()) {
    return recording;
  }
  RecordingBuilder builder(std::move(recording));
  if (builder.mappings().empty()) {
    builder.AddMapping({.filename = StringId(0U), .build_id = StringId(0U)});
    for (Location& location : builder.locations()) {
      location.mapping = MappingId(0U);
    }
  }
  Mapping& first = builder.mappings()[0];
  first.filename = program.file.empty() ? first.filename : builder.Intern(program.file);
  first.build_id = program.build_id.empty() ? first.build_id : builder.Intern(program.build_id);
  return std::move(builder).Finish();
}

// What is live at the moment that other commands show too. Samples are handed on: copied, they
// would be held twice.
Result<Recording> WithSamples(Recording recording) {
  if (recording.history) {
    const MomentSpec moment = DefaultMoment(recording);
    const auto live =
        RecordingAt(std::make_shared<const Recording>(std::move(recording)), moment, {});
    MEMTOOL_TRY(live);
    recording = **live;
  }
  if (!recording.profile) {
    return Fail(ErrorCode::kUnsupported, "holds no samples");
  }
  return recording;
}

Result<Recording> LoadOne(const std::string& name, const Program& program) {
  if (name.find("://") != std::string::npos) {
    return Fail(Error{.code = ErrorCode::kUsage,
                      .input = name,
                      .message = "memtool fetches nothing",
                      .hint = "download it first: curl -o profile.pb.gz URL"});
  }
  BoundMemory(DefaultMemoryBound());
  auto loaded =
      formats::OpenRecording(name).and_then(WithSamples).and_then([&program](Recording recording) {
        return WithProgram(std::move(recording), program);
      });
  if (!loaded) {
    Error error = std::move(loaded.error());
    error.input = error.input.empty() ? name : error.input;
    return Fail(std::move(error));
  }
  return loaded;
}

// Merging one source with nothing changes the order of rows and joins equal samples. Reports that
// sum over samples show neither, unless a sample is negative or zero.
bool NeedsMerge(const Recording& recording, const std::string& report) {
  if (report == "raw" || report == "proto" || report == "traces") {
    return true;
  }
  const auto& values = recording.profile->values;
  std::vector<char> holds(recording.profile->size(), 0);
  for (const auto& column : values) {
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] < 0) {
        return true;
      }
      holds[i] = static_cast<char>(holds[i] != 0 || column[i] != 0);
    }
  }
  return std::find(holds.begin(), holds.end(), 0) != holds.end();
}

Result<Recording> LoadSeveral(const std::vector<std::string>& names, const Program& program,
                              const Settings& settings) {
  std::vector<Recording> recordings;
  for (const std::string& name : names) {
    auto recording = LoadOne(name, program);
    if (!recording) {
      return recording;
    }
    recordings.push_back(*std::move(recording));
  }
  if (recordings.size() == 1 && settings.bases.empty() &&
      !NeedsMerge(recordings[0], settings.report)) {
    return std::move(recordings[0]);
  }
  return Combine(std::move(recordings));
}

Result<Recording> TakeAway(Recording recording, Recording base, const Settings& settings) {
  if (settings.diff_base) {
    auto labelled = SetLabel(std::move(base), "pprof::base", "true");
    if (!labelled) {
      return labelled;
    }
    base = *std::move(labelled);
  }
  if (settings.normalize) {
    auto normalized = Normalize(std::move(recording), base);
    if (!normalized) {
      return normalized;
    }
    recording = *std::move(normalized);
  }
  const std::vector<double> minus(base.profile->types.size(), -1.0);
  auto negative = ScaleValues(std::move(base), minus);
  if (!negative) {
    return negative;
  }
  std::vector<Recording> both;
  both.push_back(std::move(recording));
  both.push_back(*std::move(negative));
  return Combine(std::move(both));
}

}  // namespace

Result<Recording> LoadProfile(const Settings& settings) {
  std::vector<std::string> sources = settings.sources;
  const Program program = TakeProgram(sources, settings);
  auto recording = LoadSeveral(sources, program, settings);
  if (recording && !settings.bases.empty()) {
    auto base = LoadSeveral(settings.bases, program, settings);
    if (!base) {
      return base;
    }
    recording = TakeAway(*std::move(recording), *std::move(base), settings);
  }
  if (recording) {
    recording = DropUninteresting(*std::move(recording));
  }
  if (!recording) {
    return recording;
  }
  RecordingBuilder builder(*std::move(recording));
  for (Mapping& mapping : builder.mappings()) {
    // A source's URL that stood in for the program's name.
    if (builder.Text(mapping.build_id).empty() && IsAbsoluteUrl(builder.Text(mapping.filename))) {
      mapping.filename = StringId(0U);
    }
  }
  if (!settings.add_comment.empty()) {
    const StringId comment = builder.Intern(settings.add_comment);
    builder.metadata().comments.push_back(comment);
  }
  return std::move(builder).Finish();
}

}  // namespace memtool::commands::pprof
