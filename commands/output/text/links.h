// Links that terminals open (OSC 8): from a place to its file.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "words/known_words.h"

namespace memtool::commands {

class Links {
 public:
  Links() = default;  // none
  // "never", the name of a format, or a format with {path}, and {host} and {line} if wanted.
  // Errors: kUsage.
  static Result<Links> Make(const std::string& name);

  explicit operator bool() const { return !format_.empty(); }
  // Where "/home/a/train.py:20" or "… and 2 more" leads to, with what no URL has escaped; empty for
  // a relative path: which folder it is in is not known.
  [[nodiscard]] std::string UrlOf(std::string_view place) const;

 private:
  std::string format_;
};

// What Make() knows by name.
KnownWords LinkFormatWords();

}  // namespace memtool::commands
