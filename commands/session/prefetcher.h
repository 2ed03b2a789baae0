// Inputs read in their order, some of them ahead of their turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memtool/formats/open.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "session/prefetch_window.h"
#include "session/recording_cache.h"
#include "session/thread_pool.h"

namespace memtool::commands {

// Of a file, in bytes; 0 when it is unknown.
std::uint64_t InputSize(const std::string& name);

// One input being read, perhaps on another thread.
struct PendingInput {
  std::string name;
  std::optional<std::string> key;          // to keep it by, for later command lines
  std::shared_ptr<const Recording> cache;  // by an earlier one
  std::future<Result<Recording>> result;   // not valid for an input that was named before
};

// Names of one input are read once: a stream gives its bytes only once, and two moments of a file
// need not be read twice.
class ReadBefore {
 public:
  explicit ReadBefore(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      ++inputs_[GetKey(name)].uses;
    }
  }
  // True for the first name of an input.
  bool First(const std::string& name) { return !std::exchange(inputs_[GetKey(name)].begun, true); }
  // Keeps what was read as long as another name of it follows; null when it could not be read.
  void Keep(const std::string& name, const std::shared_ptr<const Recording>& recording) {
    Input& input = inputs_[GetKey(name)];
    input.recording = --input.uses > 0 ? recording : nullptr;
  }
  std::shared_ptr<const Recording> Take(const std::string& name) {
    Input& input = inputs_[GetKey(name)];
    return --input.uses > 0 ? input.recording : std::move(input.recording);
  }

 private:
  struct Input {
    std::size_t uses = 0;  // still to come
    bool begun = false;
    std::shared_ptr<const Recording> recording;
  };
  static std::string GetKey(const std::string& name) {
    return formats::GetStream(name).value_or("file " + name);
  }
  std::map<std::string, Input> inputs_;
};

// The inputs in their order, each begun some time before its turn.
class Prefetcher {
 public:
  Prefetcher(const std::vector<std::string>& names, std::size_t jobs,
             const formats::OpenOptions& options, RecordingCache* cache, ReadBefore& before)
      : names_(names),
        jobs_(jobs),
        options_(options),
        cache_(cache),
        before_(before),
        window_(jobs),
        pool_(std::min(jobs, names.size())) {}

  // None at the end.
  std::optional<PendingInput> Next();
  // What was read; once for an input whose `result` is valid.
  Result<Recording> Await(PendingInput& input) { return pool_.Await(std::move(input.result)); }

 private:
  void BeginMore();
  PendingInput Begin(const std::string& name);

  const std::vector<std::string>& names_;
  std::size_t jobs_;
  const formats::OpenOptions& options_;
  RecordingCache* cache_;
  ReadBefore& before_;
  std::size_t next_ = 0;
  PrefetchWindow window_;
  ThreadPool pool_;  // ends after what waits for it
  std::deque<PendingInput> begun_;
};

}  // namespace memtool::commands
