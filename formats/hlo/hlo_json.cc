#include "hlo/hlo_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hlo/shape.h"
#include "memtool/profile/base/numbers.h"
#include "support/json_stream.h"
#include "support/read_error.h"

namespace memtool::formats::hlo {

namespace {

enum class Kind : std::uint8_t { kInt, kSize, kBool, kText, kElementType, kHeapKind, kMessage };

// A field by its name without underscores, in lower case, so that both ways to write it are one.
struct Member {
  std::string_view name;
  std::uint64_t number;
  Kind kind;
  std::size_t message = 0;  // index into kMessages
};

constexpr std::array<Member, 2> kProto{
    {{"hlomodule", 1, Kind::kMessage, 1}, {"bufferassignment", 3, Kind::kMessage, 9}}};
constexpr std::array<Member, 4> kModule{{{"name", 1, Kind::kText},
                                         {"entrycomputationname", 2, Kind::kText},
                                         {"computations", 3, Kind::kMessage, 2},
                                         {"stackframeindex", 17, Kind::kMessage, 6}}};
constexpr std::array<Member, 1> kComputation{{{"instructions", 2, Kind::kMessage, 3}}};
constexpr std::array<Member, 5> kInstruction{{{"name", 1, Kind::kText},
                                              {"opcode", 2, Kind::kText},
                                              {"shape", 3, Kind::kMessage, 4},
                                              {"metadata", 7, Kind::kMessage, 5},
                                              {"id", 35, Kind::kInt}}};
constexpr std::array<Member, 3> kShape{{{"elementtype", 2, Kind::kElementType},
                                        {"dimensions", 3, Kind::kInt},
                                        {"tupleshapes", 4, Kind::kMessage, 4}}};
constexpr std::array<Member, 4> kMetadata{{{"opname", 2, Kind::kText},
                                           {"sourcefile", 3, Kind::kText},
                                           {"sourceline", 4, Kind::kInt},
                                           {"stackframeid", 15, Kind::kInt}}};
constexpr std::array<Member, 4> kFrames{{{"filenames", 1, Kind::kText},
                                         {"functionnames", 2, Kind::kText},
                                         {"filelocations", 3, Kind::kMessage, 7},
                                         {"stackframes", 4, Kind::kMessage, 8}}};
constexpr std::array<Member, 3> kLocation{
    {{"filenameid", 1, Kind::kInt}, {"functionnameid", 2, Kind::kInt}, {"line", 3, Kind::kInt}}};
constexpr std::array<Member, 2> kFrame{
    {{"filelocationid", 1, Kind::kInt}, {"parentframeid", 2, Kind::kInt}}};
constexpr std::array<Member, 3> kAssignment{{{"logicalbuffers", 1, Kind::kMessage, 10},
                                             {"bufferallocations", 3, Kind::kMessage, 12},
                                             {"heapsimulatortraces", 4, Kind::kMessage, 14}}};
constexpr std::array<Member, 4> kBuffer{{{"id", 1, Kind::kInt},
                                         {"size", 2, Kind::kSize},
                                         {"definedat", 3, Kind::kMessage, 11},
                                         {"color", 4, Kind::kInt}}};
constexpr std::array<Member, 3> kDefinedAt{{{"instructionname", 2, Kind::kText},
                                            {"shapeindex", 3, Kind::kInt},
                                            {"instructionid", 4, Kind::kInt}}};
constexpr std::array<Member, 9> kAllocation{{{"index", 1, Kind::kInt},
                                             {"size", 2, Kind::kSize},
                                             {"isthreadlocal", 3, Kind::kBool},
                                             {"isentrycomputationparameter", 5, Kind::kBool},
                                             {"parameternumber", 6, Kind::kInt},
                                             {"maybeliveout", 7, Kind::kBool},
                                             {"color", 8, Kind::kInt},
                                             {"assigned", 9, Kind::kMessage, 13},
                                             {"isconstant", 12, Kind::kBool}}};
constexpr std::array<Member, 2> kAssigned{
    {{"logicalbufferid", 1, Kind::kInt}, {"offset", 2, Kind::kSize}}};
constexpr std::array<Member, 1> kTrace{{{"events", 1, Kind::kMessage, 15}}};
constexpr std::array<Member, 3> kEvent{{{"kind", 1, Kind::kHeapKind},
                                        {"bufferid", 2, Kind::kInt},
                                        {"sharewithcanonicalid", 5, Kind::kInt}}};
constexpr std::array<std::span<const Member>, 16> kMessages{
    kProto, kModule,     kComputation, kInstruction, kShape,      kMetadata, kFrames, kLocation,
    kFrame, kAssignment, kBuffer,      kDefinedAt,   kAllocation, kAssigned, kTrace,  kEvent};

constexpr std::uint64_t kLengthType = 2;

void PutVarint(std::string& out, std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  for (; value >= kMore; value >>= 7U) {
    out.push_back(static_cast<char>((value & (kMore - 1)) | kMore));
  }
  out.push_back(static_cast<char>(value));
}

void PutNumber(std::string& out, std::uint64_t field, std::uint64_t value) {
  PutVarint(out, field << 3U);
  PutVarint(out, value);
}

void PutBytes(std::string& out, std::uint64_t field, std::string_view bytes) {
  PutVarint(out, field << 3U | kLengthType);
  PutVarint(out, bytes.size());
  out += bytes;
}

// RapidJSON's handler; the names are RapidJSON's. Writes each message when its object ends.
class Handler {
 public:
  explicit Handler(JsonStream& stream) : stream_(stream) { open_.push_back({}); }

  bool Null() { return Ended(); }  // the default
  bool Bool(bool value) {
    if (const Member* const member = Scalar()) {
      member->kind == Kind::kBool ? Put(*member, value ? 1 : 0) : Refuse(*member);
    }
    return Ended();
  }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Int64(std::int64_t value) {
    if (const Member* const member = Scalar()) {
      Number(*member, value);
    }
    return Ended();
  }
  bool Uint64(std::uint64_t value) {
    if (value <= INT64_MAX) {
      return Int64(static_cast<std::int64_t>(value));
    }
    if (const Member* const member = Scalar()) {
      // Ids may use all 64 bits; sizes do not.
      member->kind == Kind::kInt ? Put(*member, value) : Refuse(*member);
    }
    return Ended();
  }
  // A whole number that a writer without integers printed as 1e3 or 12.0.
  bool Double(double value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (const Member* const member = Scalar()) {
      if (!(std::abs(value) <= kExact) || value != std::floor(value)) {
        Refuse(*member);
      }
      Number(*member, static_cast<std::int64_t>(value));
    }
    return Ended();
  }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (const Member* const member = Scalar()) {
      Text(*member, {text, size});
    }
    return Ended();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    stream_.TokenEnded();
    if (skipped_ == 0) {
      open_.back().member = Find({text, size});
    }
    return true;
  }
  bool StartObject() {
    stream_.TokenEnded();
    if (skipped_ > 0) {
      ++skipped_;
    } else if (!begun_) {
      begun_ = true;
    } else if (open_.back().member == nullptr) {
      skipped_ = 1;
    } else if (open_.back().member->kind != Kind::kMessage) {
      Refuse(*open_.back().member);
    } else {
      Down();
    }
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    if (skipped_ > 0) {
      --skipped_;
    } else if (open_.size() > 1) {
      const std::string message = std::move(open_.back().bytes);
      open_.pop_back();
      PutBytes(open_.back().bytes, open_.back().member->number, message);
    }
    return Ended();
  }
  // A list is its elements, one after the other; a list in a list is of no field.
  bool StartArray() {
    stream_.TokenEnded();
    if (skipped_ > 0 || !begun_ || open_.back().member == nullptr) {
      ++skipped_;
    } else if (open_.back().list) {
      Refuse(*open_.back().member);
    } else {
      open_.back().list = true;
    }
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    if (skipped_ > 0) {
      --skipped_;
    } else {
      open_.back().list = false;
    }
    return Ended();
  }

  std::string Take() { return std::move(open_.front().bytes); }

 private:
  struct Open {
    std::size_t message = 0;
    const Member* member = nullptr;  // of the key read last; none for those that nobody needs
    bool list = false;
    std::string bytes;
  };

  bool Ended() {
    stream_.TokenEnded();
    return true;
  }

  [[noreturn]] void Refuse(const Member& member) const {
    ThrowRead(ErrorCode::kMalformed, stream_.Offset(), std::string(member.name),
              "a value that the field cannot have");
  }

  // Tuples lie in tuples; nothing else nests without end.
  void Down() {
    constexpr std::size_t kDeepest = 128;
    if (open_.size() > kDeepest) {
      ThrowRead(ErrorCode::kMalformed, stream_.Offset(), "tuple_shapes", "too many levels");
    }
    open_.push_back({.message = open_.back().member->message, .bytes = {}});
  }

  [[nodiscard]] const Member* Find(std::string_view key) const {
    std::string plain;
    plain.reserve(key.size());
    for (const char c : key) {
      if (c != '_') {
        plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
      }
    }
    const std::span<const Member> members = kMessages[open_.back().message];
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const Member& member) { return member.name == plain; });
    return found == members.end() ? nullptr : &*found;
  }

  // The field that a scalar is of; none where nobody needs it.
  [[nodiscard]] const Member* Scalar() const {
    if (skipped_ > 0 || !begun_) {
      return nullptr;
    }
    const Member* const member = open_.back().member;
    if (member != nullptr && member->kind == Kind::kMessage) {
      Refuse(*member);
    }
    return member;
  }

  void Put(const Member& member, std::uint64_t value) {
    PutNumber(open_.back().bytes, member.number, value);
  }

  void Number(const Member& member, std::int64_t value) {
    if (member.kind == Kind::kText || member.kind == Kind::kBool ||
        (member.kind == Kind::kSize && value < 0)) {
      Refuse(member);
    }
    Put(member, static_cast<std::uint64_t>(value));
  }

  void Text(const Member& member, std::string_view text) {
    switch (member.kind) {
      case Kind::kText:
        return PutBytes(open_.back().bytes, member.number, text);
      case Kind::kElementType:
        return Put(member, ElementType(text));  // a name that is not known is none
      case Kind::kHeapKind:
        return ReadHeapKind(member, text);
      default:
        return Digits(member, text);
    }
  }

  void ReadHeapKind(const Member& member, std::string_view text) {
    constexpr std::array<std::string_view, 3> kNames{"ALLOC", "FREE", "SHARE_WITH"};
    const auto* const found = std::find(kNames.begin(), kNames.end(), text);
    if (found == kNames.end()) {
      Refuse(member);
    }
    Put(member, static_cast<std::uint64_t>(found - kNames.begin()));
  }

  void Digits(const Member& member, std::string_view text) {
    if (const auto value = ParseNumber<std::int64_t>(text)) {
      return Number(member, *value);
    }
    const auto id = ParseNumber<std::uint64_t>(text);
    if (member.kind != Kind::kInt || !id) {
      Refuse(member);
    }
    Put(member, *id);
  }

  JsonStream& stream_;
  std::vector<Open> open_;
  std::size_t skipped_ = 0;  // open objects and lists of what nobody needs
  bool begun_ = false;
};

}  // namespace

bool IsHloJson(std::string_view head) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t at = head.find_first_not_of(kSpace);
  if (at == std::string_view::npos || head[at] != '{') {
    return false;
  }
  at = head.find_first_not_of(kSpace, at + 1);
  if (at == std::string_view::npos) {
    return false;
  }
  const std::string_view key = head.substr(at);
  constexpr std::array<std::string_view, 4> kKeys{"\"hloModule\"", "\"hlo_module\"",
                                                  "\"bufferAssignment\"", "\"buffer_assignment\""};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view each) { return key.starts_with(each); });
}

std::string BytesOfHloJson(ByteWindow& in, const Limits& limits) {
  JsonStream stream(in, limits);
  Handler handler(stream);
  ParseJson(stream, handler);
  return handler.Take();
}

}  // namespace memtool::formats::hlo
