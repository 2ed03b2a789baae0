#include "session/prefetcher.h"

#include <filesystem>
#include <system_error>

namespace memtool::commands {

std::uint64_t InputSize(const std::string& name) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(name, error);
  return error || name == "-" ? 0 : size;
}

std::optional<PendingInput> Prefetcher::Next() {
  BeginMore();
  if (begun_.empty()) {
    return std::nullopt;
  }
  PendingInput input = std::move(begun_.front());
  begun_.pop_front();
  window_.Take();
  return input;
}

void Prefetcher::BeginMore() {
  for (; next_ < names_.size(); ++next_) {
    const std::uint64_t size = jobs_ > 1 ? InputSize(names_[next_]) : 0;
    if (!window_.Takes(size)) {
      break;
    }
    window_.Put(size);
    begun_.push_back(Begin(names_[next_]));
  }
}

PendingInput Prefetcher::Begin(const std::string& name) {
  PendingInput input{name, {}, {}, {}};
  if (!before_.First(name)) {
    return input;
  }
  if (cache_ != nullptr) {
    input.key = RecordingCache::GetKey(name, options_);
    input.cache = cache_->Find(*input.key);
  }
  if (input.cache == nullptr) {
    input.result =
        pool_.Submit([name, &options = options_] { return formats::OpenRecording(name, options); });
  }
  return input;
}

}  // namespace memtool::commands
