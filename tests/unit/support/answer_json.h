// What an answer writes as JSON, read again.
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>

#include "memtool/profile/answers/write.h"

namespace memtool::test {

// Has a parse error when it is not JSON.
inline rapidjson::Document WrittenJson(const AnswerView& answer) {
  std::string text;
  WriteJson(answer, 0, [&text](std::string_view bytes) { text += bytes; });
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  return document;
}

}  // namespace memtool::test
