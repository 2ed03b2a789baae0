#include "pprof/load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "memtool/formats/load.h"
#include "pprof/go_text.h"
#include "pprof/merge.h"
#include "session.h"

namespace memtool::commands::pprof {

namespace {

// What the command line says about the program that was profiled.
struct Program {
  std::string file;
  std::string build_id;
};

bool IsElf(const std::string& path) {
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

Result<MutableProfile> LoadOne(const std::string& name, const Program& program) {
  if (name.find("://") != std::string::npos) {
    return Fail(Error{.code = ErrorCode::kUsage,
                      .input = name,
                      .message = "memtool fetches nothing",
                      .hint = "download it first: curl -o profile.pb.gz URL"});
  }
  const auto named = [&name](Error error) {
    error.input = error.input.empty() ? name : error.input;
    return Fail(std::move(error));
  };
  auto recording = formats::LoadFile(name, {});
  if (!recording) {
    return named(std::move(recording.error()));
  }
  std::vector<MomentOfTrace> moments;
  auto standing = StandAt(*std::move(recording), {}, {}, &moments);
  if (!standing) {
    return named(std::move(standing.error()));
  }
  auto profile = Import(*std::move(standing));
  if (!profile) {
    return named(std::move(profile.error()));
  }
  if (!program.file.empty()) {
    profile->mappings[0].filename = profile->strings.Intern(program.file);
  }
  if (!program.build_id.empty()) {
    profile->mappings[0].build_id = profile->strings.Intern(program.build_id);
  }
  return profile;
}

Result<MutableProfile> LoadSeveral(const std::vector<std::string>& names, const Program& program) {
  std::vector<MutableProfile> profiles;
  for (const std::string& name : names) {
    auto profile = LoadOne(name, program);
    if (!profile) {
      return profile;
    }
    profiles.push_back(*std::move(profile));
  }
  return Combine(std::move(profiles));
}

Result<MutableProfile> TakeAway(MutableProfile profile, MutableProfile base,
                                const Settings& settings) {
  if (settings.diff_base) {
    SetLabel(base, "pprof::base", "true");
  }
  if (settings.normalize) {
    if (auto normalized = Normalize(profile, base); !normalized) {
      return Fail(std::move(normalized.error()));
    }
  }
  ScaleValues(base, std::vector<double>(base.types.size(), -1.0));
  std::vector<MutableProfile> both;
  both.push_back(std::move(profile));
  both.push_back(std::move(base));
  return Combine(std::move(both));
}

}  // namespace

Result<MutableProfile> LoadProfile(const Settings& settings) {
  std::vector<std::string> sources = settings.sources;
  const Program program = TakeProgram(sources, settings);
  auto profile = LoadSeveral(sources, program);
  if (profile && !settings.bases.empty()) {
    auto base = LoadSeveral(settings.bases, program);
    if (!base) {
      return base;
    }
    profile = TakeAway(*std::move(profile), *std::move(base), settings);
  }
  if (!profile) {
    return profile;
  }
  DropUninteresting(*profile);
  for (Mapping& mapping : profile->mappings) {
    // A source's address that stood in for the program's name.
    if (profile->Text(mapping.build_id).empty() && IsAbsoluteUrl(profile->Text(mapping.filename))) {
      mapping.filename = StringId(0U);
    }
  }
  if (!settings.add_comment.empty()) {
    profile->comments.push_back(settings.add_comment);
  }
  return profile;
}

}  // namespace memtool::commands::pprof
