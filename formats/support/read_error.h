// Inside one reader, deep failures throw; open.cc catches them once.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

class ReadError : public std::exception {
 public:
  explicit ReadError(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] void ThrowRead(ErrorCode code, std::uint64_t offset, std::string field,
                            std::string message, std::string hint = {});

}  // namespace memtool::formats
