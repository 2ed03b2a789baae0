// The regular expressions of a filter: what Filter makes and View asks.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>

#include "memtool/profile/select/filter.h"
#include "select/tag_matcher.h"

namespace memtool {

struct Filter::Compiled {
  FilterOptions options;
  std::unique_ptr<RE2> focus;
  std::unique_ptr<RE2> ignore;
  std::unique_ptr<RE2> hide;
  std::unique_ptr<RE2> show;
  std::unique_ptr<RE2> show_from;
  std::unique_ptr<RE2> prune_from;
  std::unique_ptr<RE2> drop_frames;
  std::unique_ptr<RE2> keep_frames;
  std::unique_ptr<RE2> tag_show;
  std::unique_ptr<RE2> tag_hide;
  std::optional<TagMatcher> tag_focus;
  std::optional<TagMatcher> tag_ignore;
  std::optional<FrameClassifier> classifier;  // none: the built-in one
};

}  // namespace memtool
