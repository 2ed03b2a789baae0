#include "session/readings.h"

#include <filesystem>
#include <system_error>

namespace memtool::commands {

std::uint64_t InputSize(const std::string& name) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(name, error);
  return error || name == "-" ? 0 : size;
}

std::optional<Reading> Readings::Next() {
  BeginMore();
  if (begun_.empty()) {
    return std::nullopt;
  }
  Reading reading = std::move(begun_.front());
  begun_.pop_front();
  window_.Take();
  return reading;
}

void Readings::BeginMore() {
  for (; next_ < names_.size(); ++next_) {
    const std::uint64_t size = jobs_ > 1 ? InputSize(names_[next_]) : 0;
    if (!window_.Takes(size)) {
      break;
    }
    window_.Put(size);
    begun_.push_back(Begin(names_[next_]));
  }
}

Reading Readings::Begin(const std::string& name) {
  Reading reading{name, {}, {}, {}};
  if (!before_.First(name)) {
    return reading;
  }
  if (cache_ != nullptr) {
    reading.key = RecordingCache::GetKey(name, options_);
    reading.cache = cache_->Find(*reading.key);
  }
  if (reading.cache == nullptr) {
    reading.result = workers_.Start(
        [name, &options = options_] { return formats::OpenRecording(name, options); });
  }
  return reading;
}

}  // namespace memtool::commands
