#include "torch_snapshot/json_form.h"

#include <fmt/format.h>

#include <vector>

#include "support/byte_interner.h"
#include "support/json_stream.h"
#include "support/known_runs.h"
#include "support/pickle/value_stack.h"
#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

namespace {

// Arrays of frames are repeated with every event: 95 % of a JSON snapshot. Their text is remembered
// up to this size.
constexpr std::size_t kMaxRemembered = std::size_t{32} << 20U;

// RapidJSON's handler: pushes values, and makes containers of them when these end. The names are
// RapidJSON's.
class Handler {
 public:
  Handler(JsonStream& stream, SnapshotBuilder& builder, const Limits& limits)
      : stream_(stream),
        builder_(builder),
        limits_(limits),
        stack_(limits.record_bytes / sizeof(Value)) {}

  bool Null() {
    if (replaced_) {
      replaced_ = false;
      return Push(replacement_);
    }
    return Push({});
  }
  bool Bool(bool value) { return Push(Value::OfBool(value)); }
  bool Int(int value) { return Push(Value::OfInt(value)); }
  bool Uint(unsigned value) { return Push(Value::OfInt(value)); }
  bool Int64(std::int64_t value) { return Push(Value::OfInt(value)); }
  bool Uint64(std::uint64_t value) {
    const bool big = value >> 63U != 0;
    return Push(Value::Of(big ? ValueKind::kBigUint : ValueKind::kInt, value));
  }
  bool Double(double value) { return Push(Value::OfFloat(value)); }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return Push(builder_.String({text, size}, stream_.Offset()));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const Value key = builder_.String({text, size}, stream_.Offset());
    Push(key);
    if (GetWord(key) == Word::kFrames) {
      LookAhead();
    }
    return true;
  }
  bool StartObject() { return Start(); }
  bool EndObject(rapidjson::SizeType) { return End(ValueKind::kEmptyDict); }
  bool StartArray() { return Start(); }
  bool EndArray(rapidjson::SizeType) { return End(ValueKind::kEmptyList); }

  [[nodiscard]] const Value& root() { return stack_.top(); }

 private:
  bool Push(const Value& value) {
    stream_.TokenEnded();
    stack_.Push(value);
    return true;
  }
  bool Start() {
    stream_.TokenEnded();
    if (begins_.size() >= limits_.depth) {
      ThrowRead(ErrorCode::kLimit, stream_.Offset(), {},
                fmt::format("containers nested deeper than {}", limits_.depth),
                "lift it with --max depth=N");
    }
    begins_.push_back(stack_.size());
    return true;
  }
  bool End(ValueKind empty) {
    const std::size_t begin = begins_.back();
    begins_.pop_back();
    const auto values = stack_.From(begin);
    Value made = Value::Of(empty, 0);
    if (!values.empty()) {
      made = empty == ValueKind::kEmptyDict ? builder_.Dict(made, values, stream_.Offset())
                                            : builder_.List(made, values, stream_.Offset());
    }
    stack_.Truncate(begin);
    if (unknown_ && begins_.size() == unknown_depth_) {
      unknown_ = false;
      known_.resize(texts_.size());
      known_[unknown_text_] = made;
      runs_.Add(texts_[unknown_text_], made);
    }
    const std::size_t floor = begins_.empty() ? 0 : begins_.back();
    if (stack_.size() <= floor || !JoinRows(stack_.top(), made)) {
      Push(made);
    }
    return true;
  }

  // An array of frames follows: has the same text been read before?
  void LookAhead() {
    const std::string_view begins = stream_.ArrayBegins();
    if (const auto* run = runs_.Find(std::as_bytes(std::span(begins))); run != nullptr) {
      stream_.SkipArray(run->size);
      return Replace(run->value);
    }
    const std::string_view text = stream_.ArrayAhead();
    if (text.empty() || remembered_ > kMaxRemembered) {
      return;
    }
    const std::size_t before = texts_.size();
    const std::uint32_t id = texts_.Intern(std::as_bytes(std::span(text)));
    if (id < before && id < known_.size() && known_[id].kind != ValueKind::kNone) {
      stream_.SkipArray();
      return Replace(known_[id]);
    }
    remembered_ += text.size();
    unknown_ = true;
    unknown_text_ = id;
    unknown_depth_ = begins_.size();
  }

  // What the null that the parser sees next stands for.
  void Replace(const Value& value) {
    replaced_ = true;
    replacement_ = value;
  }

  JsonStream& stream_;
  SnapshotBuilder& builder_;
  const Limits& limits_;
  ValueStack stack_;
  std::vector<std::size_t> begins_;
  ByteInterner texts_;
  std::vector<Value> known_;  // by text: what the array became; kNone = not yet
  KnownRuns runs_;            // the same, found by how they begin
  std::size_t remembered_ = 0;
  Value replacement_;
  bool replaced_ = false;
  bool unknown_ = false;  // the array being read will be remembered
  std::uint32_t unknown_text_ = 0;
  std::size_t unknown_depth_ = 0;
};

}  // namespace

Value ReadJson(ByteWindow& in, SnapshotBuilder& builder, const Limits& limits) {
  JsonStream stream(in, limits);
  Handler handler(stream, builder, limits);
  ParseJson(stream, handler);
  return handler.root();
}

}  // namespace memtool::formats::torch_snapshot
