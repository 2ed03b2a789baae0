#include "session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "rows/rows.h"

namespace memtool::commands {

namespace {

// One input being read, perhaps on another thread.
struct Reading {
  std::string name;
  std::future<Result<Recording>> result;
};

std::launch Policy(std::size_t jobs, std::size_t inputs) {
  return jobs > 1 && inputs > 1 ? std::launch::async : std::launch::deferred;
}

}  // namespace

bool Session::LeavesOut(const Error& error) const {
  if (inputs_.keep_going()) {
    Warn(streams_, "left out: " + ToString(error));
  }
  return inputs_.keep_going();
}

void Session::Note(const std::string& name, const Recording& recording) {
  notes_.push_back(
      {.path = name == "-" ? "standard input" : name, .format = recording.metadata.format});
  displays_.push_back(recording.metadata.format_display);
  for (Diagnostic diagnostic : recording.diagnostics) {
    const auto known = std::find_if(diagnostics_.begin(), diagnostics_.end(),
                                    [&](const Diagnostic& d) { return d.code == diagnostic.code; });
    if (known == diagnostics_.end()) {
      diagnostics_.push_back(std::move(diagnostic));
    } else {
      known->count += diagnostic.count;
    }
  }
}

Result<void> Session::ForEachRecording(
    const std::vector<std::string>& names,
    const std::function<Result<void>(std::string, Recording)>& take) {
  std::deque<Reading> ahead;
  std::size_t next = 0;
  std::size_t taken = 0;
  Error last;
  const auto start_more = [&] {
    while (next < names.size() && ahead.size() < inputs_.jobs()) {
      ahead.push_back({names[next],
                       std::async(Policy(inputs_.jobs(), names.size()), [name = names[next], this] {
                         return formats::LoadFile(name, inputs_.load());
                       })});
      ++next;
    }
  };
  for (start_more(); !ahead.empty(); start_more()) {
    Reading reading = std::move(ahead.front());
    ahead.pop_front();
    Result<Recording> recording = reading.result.get();
    if (!recording) {
      last = std::move(recording.error());
      if (!LeavesOut(last)) {
        return Fail(std::move(last));
      }
      continue;
    }
    Note(reading.name, *recording);
    ++taken;
    if (auto done = take(reading.name, *std::move(recording)); !done) {
      if (done.error().input.empty()) {
        done.error().input = reading.name;
      }
      return done;
    }
  }
  return taken == 0 ? Result<void>(Fail(std::move(last))) : Result<void>();
}

Result<Recording> StandAt(Recording recording, const MomentSpec& moment, const std::string& device,
                          std::vector<MomentOfTrace>* moments) {
  if (recording.history) {
    return AtMoment(std::move(recording), moment, device, moments);
  }
  if (moment.kind != MomentSpec::Kind::kEnd) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--at {}: a {} is one moment and has no history to stand in",
                            moment.text, recording.metadata.format_display),
                "leave --at out; to compare two moments, give two files to memtool diff");
  }
  return recording;
}

Result<std::unique_ptr<Loaded>> Session::Prepare(std::string name, Recording recording,
                                                 const ViewOptions& view, const Standing& at) {
  if (auto chosen = view.ChooseKeywords(recording); !chosen) {
    return Fail(std::move(chosen.error()));
  }
  auto loaded = std::make_unique<Loaded>();
  auto standing = StandAt(std::move(recording), at.moment, at.device, &loaded->moments);
  if (!standing) {
    return Fail(std::move(standing.error()));
  }
  auto choice =
      choice_ ? MatchValue(*standing, *choice_) : ChooseValue(*standing, view.sample_index());
  if (!choice) {
    return Fail(std::move(choice.error()));
  }
  if (!choice_) {
    choice_ = *choice;
  }
  notes_[at.note].moment = at.moment.text;
  loaded->name = std::move(name);
  loaded->recording = *std::move(standing);
  for (std::string& line : MomentLines(*loaded)) {
    moment_lines_.push_back(std::move(line));
  }
  loaded->choice = *std::move(choice);
  loaded->view = std::make_unique<View>(loaded->recording, view.filter());
  loaded->sums = SumByStack(*loaded->view, loaded->choice);
  NoteUnmatched(loaded->view->Unmatched());
  return loaded;
}

void Session::NoteUnmatched(const std::vector<std::string_view>& unmatched) {
  if (!any_view_) {
    unmatched_ = unmatched;
    any_view_ = true;
  }
  std::erase_if(unmatched_, [&](std::string_view option) {
    return std::find(unmatched.begin(), unmatched.end(), option) == unmatched.end();
  });
}

Result<std::unique_ptr<Loaded>> Session::Take(const std::string& name, Recording recording,
                                              const ViewOptions& view, const MomentSpec& moment,
                                              const std::string& device) {
  Note(name, recording);
  return Prepare(name, std::move(recording), view, {moment, device, notes_.size() - 1});
}

Result<void> Session::Give(std::string name, Recording recording, const ViewOptions& view,
                           const Standing& at, const Visit& visit) {
  auto loaded = Prepare(std::move(name), std::move(recording), view, at);
  if (!loaded) {
    return Fail(std::move(loaded.error()));
  }
  return visit(*std::move(loaded));
}

void Session::Note(InputNote note, std::string display) {
  notes_.push_back(std::move(note));
  displays_.push_back(std::move(display));
}

Result<void> Session::ForEach(const std::vector<std::string>& names, const ViewOptions& view,
                              const Visit& visit, std::size_t bases) {
  std::size_t index = 0;
  const auto give = [&](std::string name, Recording recording) -> Result<void> {
    const MomentSpec& moment = index++ < bases ? view.base_moment() : view.moment();
    return Give(std::move(name), std::move(recording), view,
                {moment, view.device(), notes_.size() - 1}, visit);
  };
  if (bases > 0 || names.size() < 2) {
    return ForEachRecording(names, give);
  }
  struct Waiting {
    std::string name;
    Recording recording;
    std::size_t note = 0;
  };
  std::vector<Waiting> waiting;
  joins_ = JoinInputs(names);
  auto done = ForEachRecording(names, [&](std::string name, Recording recording) -> Result<void> {
    if (JoinInputs::Waits(recording)) {
      waiting.push_back({std::move(name), std::move(recording), notes_.size() - 1});
      return {};
    }
    auto remembered = joins_.Remember(name, recording, view);
    return remembered ? give(std::move(name), std::move(recording)) : remembered;
  });
  for (auto it = waiting.begin(); done && it != waiting.end(); ++it) {
    MomentSpec moment = view.moment();
    if (auto note = joins_.TakeFrom(it->name, it->recording, moment)) {
      moment_lines_.push_back(note->message);
      diagnostics_.push_back(*std::move(note));
    }
    done = Give(std::move(it->name), std::move(it->recording), view,
                {moment, view.device(), it->note}, visit);
  }
  return done;
}

void Session::Finish() {
  for (const std::string_view option : unmatched_) {
    Warn(streams_, fmt::format("--{} matched nothing", option));
  }
  std::uint64_t damages = 0;
  std::string first;
  for (const Diagnostic& diagnostic : diagnostics_) {
    if (diagnostic.severity != Severity::kNote) {
      damages += diagnostic.count;
      first = first.empty() ? diagnostic.message : first;
    }
  }
  if (damages > 0) {
    Warn(streams_, fmt::format("read around {} fault{}: {} (--format json lists all)", damages,
                               damages == 1 ? "" : "s", first));
  }
}

ExitCode Session::exit_code() const {
  const bool damaged = std::any_of(
      diagnostics_.begin(), diagnostics_.end(),
      [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kDamage; });
  return damaged && inputs_.strict() ? ExitCode::kDamage : ExitCode::kOk;
}

void Session::Describe(Report& report) const {
  report.inputs = notes_;
  report.diagnostics = diagnostics_;
  if (choice_) {
    report.sample_type = choice_->name;
    report.unit = IsBytes(choice_->role) ? "bytes" : choice_->unit;
  }
}

Result<ExitCode> OnOneRecording(const InputOptions& input, Streams& streams, std::string_view one,
                                const std::function<Result<void>(Session&, Recording)>& take) {
  auto names = input.Names(streams);
  if (!names) {
    return Fail(std::move(names.error()));
  }
  if (names->size() != 1) {
    return Fail(ErrorCode::kUsage, std::string(one));
  }
  Session session(input, streams);
  auto done = session.ForEachRecording(*names, [&](const std::string&, Recording recording) {
    return take(session, std::move(recording));
  });
  if (!done) {
    return Fail(std::move(done.error()));
  }
  session.Finish();
  return session.exit_code();
}

Result<std::vector<std::unique_ptr<Loaded>>> LoadAll(Session& session,
                                                     const std::vector<std::string>& names,
                                                     const ViewOptions& view, std::size_t bases) {
  std::vector<std::unique_ptr<Loaded>> all;
  auto done = session.ForEach(
      names, view,
      [&all](std::unique_ptr<Loaded> loaded) -> Result<void> {
        all.push_back(std::move(loaded));
        return {};
      },
      bases);
  if (!done) {
    return Fail(std::move(done.error()));
  }
  return all;
}

}  // namespace memtool::commands
