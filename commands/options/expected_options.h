// What the device says a process holds, to compare with what an input tracks.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/command.h"
#include "memtool/formats/device_report.h"
#include "memtool/formats/keywords.h"
#include "memtool/profile/account/account.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

struct Expected {
  std::int64_t bytes = 0;
  std::int64_t precision = 0;  // bytes that rounding at the source may be off by
  std::string echo;            // how it was read: "11GB = 11,811,160,064 bytes (11.00 GiB)"
  std::optional<formats::DeviceReading> reading{};  // of @FILE
  AccountFacts facts{};                             // what it says about the account
};

class ExpectedOptions {
 public:
  void Declare(po::options_description_easy_init add);
  // `otherwise`: what a keywords file says when the option is not given. None when neither is.
  // Errors: kUsage for what is neither a size nor a reading, kMalformed where a keywords file says
  // it; those of formats::Open.
  Result<std::optional<Expected>> Resolve(
      SizeBase base, const std::optional<formats::ExpectedSum>& otherwise) const;
  // True when --pid or --gpu was given.
  [[nodiscard]] bool chooses() const { return pid_ || !gpu_.empty(); }
  [[nodiscard]] formats::ReportChoice choice() const;

 private:
  std::string text_;
  std::optional<std::int64_t> pid_;
  std::string gpu_;
};

}  // namespace memtool::commands
