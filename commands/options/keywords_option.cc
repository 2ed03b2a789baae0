#include "options/keywords_option.h"

#include <boost/program_options/value_semantic.hpp>
#include <utility>

namespace memtool::commands {

namespace {

// The dictionary that fits what a reader makes of a format; empty for formats of many origins.
std::string_view BuiltinFor(const Metadata& metadata) {
  const std::string_view format = metadata.format;
  if (format.starts_with("mxnet")) {
    return "builtin:mxnet";
  }
  if (format.starts_with("torch")) {
    return "builtin:pytorch";
  }
  if (format == "pprof" && metadata.format_display.starts_with("JAX")) {
    return "builtin:jax";
  }
  return {};
}

}  // namespace

void KeywordsOption::Declare(po::options_description_easy_init add) {
  add("keywords", po::value(&name_)->value_name("FILE"),
      "categories and their words: a YAML or JSON file, or builtin:mxnet, builtin:pytorch, "
      "builtin:jax (default: the built-in one of the input's framework)");
}

Result<void> KeywordsOption::Take(Result<formats::KeywordsFile> file) {
  if (!file) {
    return Fail(std::move(file.error()));
  }
  auto keywords = Keywords::Compile(std::move(file->dictionary));
  if (!keywords) {
    return Fail(std::move(keywords.error()));
  }
  keywords_ = *std::move(keywords);
  profile_ = std::move(file->profile);
  expected_sum_ = std::move(file->expected_sum);
  return {};
}

Result<void> KeywordsOption::Resolve() {
  return name_.empty() ? Result<void>{} : Take(formats::ReadKeywords(name_));
}

Result<void> KeywordsOption::ResolveBy(By& by) {
  if (by.kind != By::Kind::kBucket) {
    if (given()) {
      return Fail(ErrorCode::kUsage, "--keywords needs --by bucket");
    }
    return {};
  }
  if (!given()) {
    return Fail(ErrorCode::kUsage, "--by bucket needs --keywords",
                "a file, builtin:mxnet, builtin:pytorch or builtin:jax");
  }
  if (auto read = Resolve(); !read) {
    return read;
  }
  by.keywords = keywords();
  if (!AxisIndex(by.keywords->dictionary(), by.axis)) {
    return Fail(ErrorCode::kUsage, "--by: " + name() + " has no axis '" + by.axis + "'");
  }
  return {};
}

Result<const Keywords*> KeywordsOption::For(const Recording& recording) {
  if (!keywords_) {
    const std::string_view builtin = BuiltinFor(recording.metadata);
    if (builtin.empty()) {
      return Fail(ErrorCode::kUsage, "--keywords: no built-in dictionary fits this input",
                  "name one with --keywords FILE; memtool buckets --print-keywords "
                  "builtin:pytorch shows what it looks like");
    }
    if (auto taken = Take(formats::ReadKeywords(std::string(builtin))); !taken) {
      return Fail(std::move(taken.error()));
    }
  }
  return &*keywords_;
}

}  // namespace memtool::commands
