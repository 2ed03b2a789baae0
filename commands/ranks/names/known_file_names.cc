#include "ranks/names/known_file_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "ranks/names/path_words.h"
#include "ranks/names/word_fields.h"

namespace memtool::commands {

namespace {

using Components = std::span<const std::string_view>;
constexpr std::size_t kIdDigits = 6;      // of ranks and tasks
constexpr std::size_t kLongDigits = 18;   // of jobs, pids and times
constexpr std::size_t kStampDigits = 12;  // a time since 1970, at least of milliseconds

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool Ends(std::string_view& text, std::string_view ending) {
  if (!text.ends_with(ending) || text.size() == ending.size()) {
    return false;
  }
  text.remove_suffix(ending.size());
  return true;
}

bool HasRank(std::string_view text) {
  const auto words = PathWords(text);
  const auto fields = FindWordFields(words);
  return std::any_of(fields.begin(), fields.end(), [](const WordField& field) {
    return field.field == IdentityField::kRank && field.trust == WordTrust::kMade;
  });
}

// Splits at the last `separator`; what is behind it must be digits.
std::optional<std::string_view> TakeNumber(std::string_view& text, char separator) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string_view::npos || at == 0 || !AllDigits(text.substr(at + 1))) {
    return std::nullopt;
  }
  const std::string_view number = text.substr(at + 1);
  text = text.substr(0, at);
  return number;
}

// ".../ID/attempt_0/3/stderr.log"
bool Torchrun(Components all, KnownFileName& name) {
  constexpr std::array<std::string_view, 3> kFiles{"stdout.log", "stderr.log", "error.json"};
  if (all.size() < 3 || std::find(kFiles.begin(), kFiles.end(), all.back()) == kFiles.end() ||
      !AllDigits(all[all.size() - 2])) {
    return false;
  }
  std::string_view attempt = all[all.size() - 3];
  const auto number = TakeNumber(attempt, '_');
  if (!number || attempt != "attempt") {
    return false;
  }
  name.found.attempt = ToNumber(*number, kIdDigits);
  name.found.local_rank = ToNumber(all[all.size() - 2], kIdDigits);
  name.found.how = IdentityHow::kPath;
  name.components = 3;
  return true;
}

bool IsDate(std::string_view digits) {
  return digits.size() == 8 && digits.starts_with("20") && digits.substr(4, 2) <= "12" &&
         digits.substr(6, 2) <= "31";
}

// "slurm-123.out", "slurm-123_7.out" (task 7, or element 7 of an array), "slurm-123_4_7.out", and
// "gpu-07_123456_3.err" by the pattern %N_%j_%t.
bool Slurm(std::string_view text, KnownFileName& name) {
  if (!Ends(text, ".out") && !Ends(text, ".err") && !Ends(text, ".log")) {
    return false;
  }
  constexpr std::string_view kSlurm = "slurm-";
  std::optional<std::string_view> task;
  if (text.starts_with(kSlurm)) {
    text.remove_prefix(kSlurm.size());
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    if (end == 0) {
      return false;
    }
    std::string_view rest = text.substr(end);
    std::string_view job = text.substr(0, end);
    task = rest.starts_with('_') ? TakeNumber(text, '_') : std::nullopt;
    if (task) {
      job = text;
      rest = {};
    }
    name.found.job = job;
    name.rest = rest;
  } else {
    std::string_view host = text;
    task = TakeNumber(host, '_');
    const auto job = task ? TakeNumber(host, '_') : std::nullopt;
    if (!job || job->size() < 4 || IsDate(*job) || HasRank(text)) {
      return false;
    }
    name.found.host = host;
    name.found.job = *job;
    name.rest = {};
  }
  if (task) {
    name.found.rank = ToNumber(*task, kIdDigits);
    name.found.how = IdentityHow::kGuess;  // an element of an array has the same spelling
  }
  return true;
}

// "HOST.xplane.pb", and beside it "HOST.trace.json.gz"
bool Xplane(Components all, std::string_view text, KnownFileName& name) {
  const bool in_session =
      all.size() > 3 && all[all.size() - 4] == "plugins" && all[all.size() - 3] == "profile";
  const bool trace = in_session && (Ends(text, ".trace.json.gz") || Ends(text, ".trace.json"));
  if (!trace && !Ends(text, ".xplane.pb") && !Ends(text, ".xplane.pb.gz")) {
    return false;
  }
  if (in_session) {  // each session is a recording of its own
    for (const std::string_view component : all.first(all.size() - 1)) {
      name.found.job += (name.found.job.empty() ? "" : "/") + std::string(component);
    }
    name.found.job_is_folder = true;
  }
  if (HasRank(text)) {
    name.rest = text;
    return true;
  }
  name.found.host = text;
  name.found.how = IdentityHow::kPath;
  name.rest = {};
  return true;
}

// "WORKER.TIME.pt.trace.json", where the worker is HOST_PID unless the program named it.
bool TorchTrace(std::string_view text, KnownFileName& name) {
  if (!Ends(text, ".pt.trace.json") && !Ends(text, ".pt.trace.json.gz")) {
    return false;
  }
  std::string_view worker = text;
  const auto time = TakeNumber(worker, '.');
  if (time && time->size() >= kStampDigits) {
    name.found.time = ToNumber(*time, kLongDigits + 1);
    text = worker;
  }
  name.rest = text;
  if (name.found.time && !HasRank(text)) {
    if (const auto pid = TakeNumber(text, '_')) {
      name.found.host = text;
      name.found.pid = ToNumber(*pid, kLongDigits);
      name.found.how = IdentityHow::kPath;
      name.rest = {};
    }
  }
  return true;
}

// "HOST_Jun_07_12_30_59.html": export_memory_timeline's examples, and PyTorch's for snapshots.
bool HostAndDate(std::string_view text, KnownFileName& name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::size_t kDate = std::string_view("_Jun_07_12_30_59").size();
  const std::size_t dot = text.find('.', text.rfind('_') + 1);
  if (text.rfind('_') == std::string_view::npos || dot == std::string_view::npos || dot <= kDate) {
    return false;
  }
  const std::string_view date = text.substr(dot - kDate, kDate);
  const std::size_t month = kMonths.find(date.substr(1, 3));
  bool is_date = date.front() == '_' && month != std::string_view::npos && month % 3 == 0;
  for (std::size_t at = 4; at < kDate; at += 3) {
    is_date = is_date && date[at] == '_' && AllDigits(date.substr(at + 1, 2));
  }
  const std::string_view host = text.substr(0, dot - kDate);
  if (!is_date || HasRank(host)) {
    return false;
  }
  name.found.host = host;
  name.found.how = IdentityHow::kPath;
  std::string sortable = std::to_string(10 + month / 3);  // no year is given
  for (std::size_t at = 5; at < kDate; at += 3) {
    sortable += date.substr(at, 2);
  }
  name.found.time = ToNumber(sortable, kLongDigits);
  name.rest = {};
  return true;
}

// "memory_30.prof", "memory9.prof": JAX's examples number their steps so.
bool JaxProfile(std::string_view text, KnownFileName& name) {
  if (!Ends(text, ".prof")) {
    return false;
  }
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  std::string_view stem = text.substr(0, digits);
  Ends(stem, "_");
  if (digits == text.size() || HasRank(text) || stem != "memory") {
    return false;
  }
  name.found.step = ToNumber(text.substr(digits), kLongDigits);
  name.rest = {};
  return true;
}

// "rank3.20.memory_snapshot.pickle", "rank3.20.pt.trace.json": Composer puts the batch behind it.
void BatchBehindRank(std::string_view text, KnownFileName& name) {
  constexpr std::string_view kRank = "rank";
  if (!text.starts_with(kRank)) {
    return;
  }
  text.remove_prefix(kRank.size());
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || !AllDigits(text.substr(0, dot))) {
    return;
  }
  text.remove_prefix(dot + 1);
  const std::string_view batch = text.substr(0, text.find('.'));
  if (AllDigits(batch) && batch.size() < kStampDigits && batch.size() < text.size()) {
    name.found.step = ToNumber(batch, kLongDigits);
  }
}

}  // namespace

KnownFileName ReadKnownFileName(Components components) {
  const std::string_view text = components.back();
  KnownFileName name{.rest = text};
  if (Torchrun(components, name) || Xplane(components, text, name)) {
    return name;
  }
  BatchBehindRank(text, name);
  if (!TorchTrace(text, name) && !JaxProfile(text, name) && !HostAndDate(text, name)) {
    Slurm(text, name);
  }
  return name;
}

}  // namespace memtool::commands
