#include "options/keywords_option.h"

#include <boost/program_options/value_semantic.hpp>
#include <map>
#include <mutex>
#include <utility>

#include "words/known_words.h"

namespace memtool::commands {

namespace {

// What XLA's compiler, or a trace of what runs under it, says of its buffers.
bool IsOfXla(const Metadata& metadata) {
  const Origin& origin = metadata.origin;
  const bool of_xla =
      origin.framework == Framework::kJax || origin.framework == Framework::kUnknown;
  return of_xla && (origin.kind == RecordingKind::kProgram ||
                    origin.kind == RecordingKind::kTrace || metadata.frames_are_scopes);
}

// The dictionary that fits the framework that requested the memory; empty for formats with many
// writers.
std::string_view BuiltinFor(const Metadata& metadata) {
  if (metadata.origin.kind == RecordingKind::kLog) {
    return "builtin:log";
  }
  if (IsOfXla(metadata)) {
    return "builtin:xla";
  }
  switch (metadata.origin.framework) {
    case Framework::kMxnet:
      return "builtin:mxnet";
    case Framework::kPyTorch:
      return "builtin:pytorch";
    case Framework::kJax:
      return "builtin:jax";
    case Framework::kDriver:
      return "builtin:driver";
    case Framework::kRapids:
    case Framework::kUnknown:
      break;
  }
  return {};
}

}  // namespace

Result<Keywords> BuiltinKeywords(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Keywords> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) {
    return found->second;
  }
  auto file = formats::ReadKeywords(name);
  MEMTOOL_TRY(file);
  auto keywords = Keywords::Compile(std::move(file->dictionary));
  MEMTOOL_TRY(keywords);
  return known.emplace(name, *std::move(keywords)).first->second;
}

void KeywordsOption::Declare(po::options_description_easy_init add) {
  add("keywords", ToValue(&name_, KeywordFiles())->value_name("FILE"),
      "categories and their words: a YAML or JSON file, or builtin:mxnet, builtin:pytorch, "
      "builtin:jax, builtin:xla, builtin:driver, builtin:log (default: the built-in one for the "
      "input's "
      "framework)");
}

Result<void> KeywordsOption::Take(Result<formats::KeywordsFile> file) {
  MEMTOOL_TRY(file);
  auto keywords = Keywords::Compile(std::move(file->dictionary));
  MEMTOOL_TRY(keywords);
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
  axis_ = by.axis;
  waiting_ = !given();
  if (auto read = waiting_ ? Take(formats::KeywordsFile{}) : Resolve(); !read) {
    return read;
  }
  by.keywords = keywords();  // the pointer stays valid when another is chosen
  return waiting_ ? Result<void>() : CheckAxis();
}

Result<void> KeywordsOption::CheckAxis() const {
  if (!AxisIndex(keywords_->dictionary(), axis_)) {
    return Fail(ErrorCode::kUsage, "--by: " + name_ + " has no axis '" + axis_ + "'");
  }
  return {};
}

Result<void> KeywordsOption::ChooseFor(const Recording& recording) {
  if (!waiting_) {
    return {};
  }
  auto chosen = For(recording);
  return chosen ? CheckAxis() : Result<void>(Fail(std::move(chosen.error())));
}

Result<const Keywords*> KeywordsOption::For(const Recording& recording) {
  if (!keywords_ || waiting_) {
    const std::string_view builtin = BuiltinFor(recording.metadata);
    if (builtin.empty()) {
      return Fail(ErrorCode::kUsage, "--keywords: no built-in dictionary fits this input",
                  "name one with --keywords FILE; memtool buckets --print-keywords "
                  "builtin:pytorch shows what it looks like");
    }
    auto compiled = BuiltinKeywords(std::string(builtin));
    MEMTOOL_TRY(compiled);
    keywords_ = *compiled;
    name_ = builtin;
    chosen_ = true;
    waiting_ = false;
  }
  return &*keywords_;
}

}  // namespace memtool::commands
