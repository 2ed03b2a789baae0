#include "words/known_words.h"

#include "memtool/formats/keywords.h"

namespace memtool::commands {

KnownWords ByWords(Rows rows) {
  KnownWords known{.words = {"function", "filefunction", "line", "file", "module"}};
  if (rows != Rows::kFrames) {
    known.words.insert(known.words.end(), {"stack", "label:", "bucket", "bucket:"});
  }
  if (rows == Rows::kSamples) {
    known.words.insert(known.words.end(), {"tag", "size", "input", "annotation"});
  }
  return known;
}

KnownWords MomentWords() {
  return {.words = {"oom-or-peak", "end", "start", "peak", "peak:reserved", "job-peak", "oom",
                    "oom:", "event:", "time:", "mark:", "step:"}};
}

KnownWords KeywordFiles() {
  KnownWords known{.files = true};
  for (const formats::BuiltinKeywords& builtin : formats::BuiltinDictionaries()) {
    known.words.push_back("builtin:" + std::string(builtin.name));
  }
  return known;
}

}  // namespace memtool::commands
