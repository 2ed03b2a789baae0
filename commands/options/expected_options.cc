#include "options/expected_options.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>

#include "memtool/formats/device_report_facts.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/result.h"
#include "options/size_option.h"

namespace memtool::commands {

namespace {

std::string Echo(std::string_view written, std::int64_t bytes) {
  return fmt::format("{} = {} bytes ({})", written, FormatCount(bytes), FormatSize(bytes));
}

// A bare number is taken to be this process.
AccountFacts OfProcess(std::int64_t bytes, std::int64_t precision) {
  AccountFacts facts;
  facts.process = Quantity{.bytes = bytes, .precision = precision, .source = "--expected-sum"};
  return facts;
}

}  // namespace

void ExpectedOptions::Declare(po::options_description_easy_init add) {
  add("expected-sum", po::value(&text_)->value_name("SIZE|@FILE"),
      "what the device reports as held: a size (GB is read as GiB), or a file from nvidia-smi, "
      "dcgm, rocm-smi, amd-smi or a framework's memory_stats()");
  add("pid", po::value<std::int64_t>()->value_name("PID")->notifier([this](std::int64_t pid) {
    pid_ = pid;
  }),
      "the process to take from @FILE");
  add("gpu", po::value(&gpu_)->value_name("GPU"),
      "the GPU to take from @FILE: its number, UUID or bus id; or the name of a pod");
}

formats::ReportChoice ExpectedOptions::choice() const {
  return {.pid = pid_, .gpu = gpu_.empty() ? std::nullopt : std::optional(gpu_)};
}

Result<std::optional<Expected>> ExpectedOptions::Resolve(
    SizeBase base, const std::optional<formats::ExpectedSum>& otherwise) const {
  const bool of_file = text_.empty() && otherwise;
  const std::string text = of_file ? otherwise->text : text_;
  if (text.empty()) {
    return std::nullopt;
  }
  if (!text.starts_with('@')) {
    auto bytes = ParseDeviceSize(of_file ? "expected_sum" : "--expected-sum", text, base);
    if (!bytes && of_file) {
      Error error = std::move(bytes.error());
      error.code = ErrorCode::kMalformed;
      error.input = otherwise->place;
      return Fail(std::move(error));
    }
    MEMTOOL_TRY(bytes);
    return Expected{
        .bytes = *bytes, .precision = 0, .echo = Echo(text, *bytes), .facts = OfProcess(*bytes, 0)};
  }
  auto document =
      formats::Open(text.substr(1), {.accepted = {.recordings = false, .device_report = true}});
  MEMTOOL_TRY(document);
  const formats::DeviceReport& report = document->device_report();
  auto reading = formats::ChooseDeviceReading(report, choice());
  if (!reading) {
    Error error = std::move(reading.error());
    error.input = error.input.empty() ? text.substr(1) : error.input;
    return Fail(std::move(error));
  }
  AccountFacts facts = reading->scope == formats::ReportScope::kNumber
                           ? OfProcess(*reading->used, reading->precision)
                           : formats::MakeFacts(report, *reading);
  return Expected{.bytes = *reading->used,
                  .precision = reading->precision,
                  .echo = Echo(report.display, *reading->used),
                  .reading = *std::move(reading),
                  .facts = std::move(facts)};
}

}  // namespace memtool::commands
