// memtool mcp: the answers of this program for agents, over the Model Context Protocol on standard
// input and output (modelcontextprotocol.io, the revisions of kVersions): a JSON-RPC message a
// line.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/command.h"
#include "help/help.h"
#include "mcp/confine.h"
#include "mcp/tools.h"
#include "memtool/profile/answers/write.h"

namespace memtool::commands {

namespace {

constexpr auto kVersions =
    std::to_array<std::string_view>({"2025-06-18", "2025-03-26", "2024-11-05"});
constexpr std::size_t kMaxMessage = std::size_t{1} << 20U;

constexpr std::string_view kInstructions =
    "Explains what holds GPU and TPU memory, from files that jobs left behind. Begin with "
    "`overview` of a file, a log or "
    "a folder of ranks: its NEXT rows name further questions. Sizes in structured content are "
    "bytes; what a file does "
    "not tell is null, or called unknown.";

// JSON-RPC's.
enum class Code : std::int16_t {
  kParse = -32700,
  kRequest = -32600,
  kMethod = -32601,
  kParams = -32602,
};

using JsonDocument = rapidjson::GenericDocument<rapidjson::UTF8<>, JsonMemory, JsonMemory>;

// Lines of a file descriptor, each whole.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  // None at the end. A line that is too long comes empty.
  Result<std::optional<std::string>> Next() {
    bool skipped = false;
    while (true) {
      if (const std::size_t end = held_.find('\n'); end != std::string::npos) {
        std::string line = skipped ? std::string() : held_.substr(0, end);
        held_.erase(0, end + 1);
        return std::optional(std::move(line));
      }
      if (held_.size() > kMaxMessage) {
        skipped = true;
        held_.clear();
      }
      std::array<char, 65536> buffer{};
      const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0) {
        return Fail({.code = ErrorCode::kIo,
                     .input = "standard input",
                     .message = "cannot be read: " + std::generic_category().message(errno)});
      }
      if (got == 0) {
        return std::optional<std::string>();
      }
      held_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_;
  std::string held_;
};

std::string Response(const std::string& id, std::string_view result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result);
}

std::string Refusal(const std::string& id, Code code, const std::string& message) {
  const Value error = Value::Object{{"code", static_cast<int>(code)}, {"message", message}};
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", id, ToJson(error));
}

// As JSON; empty for what no id can be.
std::string IdText(const JsonValue& id) {
  return id.IsString()  ? ToJson(Value(StringOf(&id)))
         : id.IsInt64() ? std::to_string(id.GetInt64())
                        : std::string();
}

std::string Initialized(const JsonValue* params) {
  const std::string_view asked = StringOf(MemberOf(params, "protocolVersion"));
  const auto* const known = std::find(kVersions.begin(), kVersions.end(), asked);
  const Value::Object server{{"name", "memtool"},
                             {"title", "memtool: what holds accelerator memory"},
                             {"version", MEMTOOL_VERSION}};
  return ToJson(Value::Object{
      {"protocolVersion", known == kVersions.end() ? kVersions.front() : *known},
      {"capabilities", Value::Object{{"tools", Value::Object{{"listChanged", false}}}}},
      {"serverInfo", server},
      {"instructions", kInstructions}});
}

class McpCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[--root DIR]...",
            .examples =
                "memtool mcp --root /data/profiles\n"
                "claude mcp add memtool -- memtool mcp --root /data/profiles",
            .often = "root"};
  }

  void Declare(po::options_description& options) override {
    po::options_description group("Server");
    group.add_options()(
        "root", po::value(&folders_)->value_name("DIR"),
        "read files below DIR alone (default: the current folder); may be repeated");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    if (folders_.empty()) {
      folders_.emplace_back(".");
    }
    auto roots = Roots::Make(folders_);
    MEMTOOL_TRY(roots);
    MEMTOOL_TRY(roots->Enter());
    if (!roots->Enforce()) {
      Warn(streams, "this kernel has no Landlock: links inside of the folders are followed");
      (void)streams.err.Flush();
    }
    Tools tools(*std::move(roots));
    Lines lines(STDIN_FILENO);
    while (true) {
      auto line = lines.Next();
      MEMTOOL_TRY(line);
      if (!*line) {
        return ExitCode::kOk;
      }
      if (const std::string response = Take(**line, tools); !response.empty()) {
        streams.out.WriteBytes(response + "\n");
        MEMTOOL_TRY(streams.out.Flush());
      }
    }
  }

 private:
  // The response; empty for what wants none.
  static std::string Take(const std::string& line, Tools& tools) {
    JsonDocument message;
    message.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
        line.data(), line.size());
    if (message.HasParseError()) {
      return Refusal("null", Code::kParse,
                     line.empty() ? "no message, or one that is too long" : "this is no JSON");
    }
    const std::string_view method = StringOf(MemberOf(&message, "method"));
    const JsonValue* id = MemberOf(&message, "id");
    if (id == nullptr && !method.empty()) {
      return {};  // a notification
    }
    const std::string to = id == nullptr ? std::string() : IdText(*id);
    if (method.empty() || to.empty() || StringOf(MemberOf(&message, "jsonrpc")) != "2.0") {
      return Refusal(to.empty() ? "null" : to, Code::kRequest,
                     "this is no request of JSON-RPC 2.0");
    }
    return Answer(method, MemberOf(&message, "params"), to, tools);
  }

  static std::string Answer(std::string_view method, const JsonValue* params, const std::string& id,
                            Tools& tools) {
    if (method == "initialize") {
      return Response(id, Initialized(params));
    }
    if (method == "ping") {
      return Response(id, "{}");
    }
    if (method == "tools/list") {
      return Response(id, ToJson(ToolList()));
    }
    if (method != "tools/call") {
      return Refusal(id, Code::kMethod, fmt::format("there is no method '{}'", method));
    }
    auto called = tools.Call(StringOf(MemberOf(params, "name")), MemberOf(params, "arguments"));
    return called ? Response(id, *called) : Refusal(id, Code::kParams, ToString(called.error()));
  }

  std::vector<std::string> folders_;
};

}  // namespace

std::unique_ptr<Command> MakeMcp() {
  return std::make_unique<McpCommand>();
}

}  // namespace memtool::commands
