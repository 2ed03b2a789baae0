// The commands of this program as tools of the Model Context Protocol.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "mcp/confine.h"
#include "memtool/profile/answers/value.h"
#include "memtool/profile/base/json_memory.h"
#include "session/recording_cache.h"

namespace memtool::commands {

using JsonValue = rapidjson::GenericValue<rapidjson::UTF8<>, JsonMemory>;

// Of an object; null for what is none, or has no such member.
const JsonValue* MemberOf(const JsonValue* object, const char* key);
// Empty for what is no string.
std::string_view StringOf(const JsonValue* value);

// What `tools/list` says.
Value ToolList();

// Runs tools, and keeps what they read.
class Tools {
 public:
  explicit Tools(Roots roots) : roots_(std::move(roots)) {}

  // The result of `tools/call` as JSON: at most 40 lines of text, and the answer as the command's
  // own JSON. What fails is a result too, with isError. Errors: kUsage for a tool that is not
  // there.
  Result<std::string> Call(std::string_view name, const JsonValue* arguments);

 private:
  struct FileState {
    std::int64_t size = 0;
    std::int64_t modified = 0;  // nanoseconds
    std::uint64_t inode = 0;
    friend bool operator==(const FileState&, const FileState&) = default;
  };

  Result<std::vector<std::string>> WordsOf(std::string_view command, const JsonValue& arguments);
  // Forgets what was read before where a file has changed since, or where it is too much.
  void Refresh(const std::vector<std::string>& files);
  std::string Answer(const std::vector<std::string>& words);

  Roots roots_;
  RecordingCache cache_;
  std::map<std::string, FileState> read_;
};

}  // namespace memtool::commands
