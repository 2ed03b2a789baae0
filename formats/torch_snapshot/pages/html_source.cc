#include "torch_snapshot/pages/html_source.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr std::string_view kBase64Key = "\"base64\"";
constexpr std::size_t kStep = std::size_t{64} << 10U;
constexpr std::uint8_t kSkipped = 64;
constexpr std::uint8_t kEnd = 65;
constexpr std::uint8_t kWrong = 66;

constexpr std::array<std::uint8_t, 256> MakeTable() {
  std::array<std::uint8_t, 256> table{};
  table.fill(kWrong);
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    table[static_cast<std::uint8_t>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  for (const char c : std::string_view("\\\n\r \t")) {
    table[static_cast<std::uint8_t>(c)] = kSkipped;
  }
  table['='] = kEnd;
  table['"'] = kEnd;
  return table;
}
constexpr std::array<std::uint8_t, 256> kTable = MakeTable();

class Base64Source final : public Source {
 public:
  explicit Base64Source(ByteWindow& page) : page_(page) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    std::size_t made = 0;
    while (made < buffer.size() && !ended_) {
      const auto text = page_.Fill(1);
      if (text.empty()) {
        return Fail(ErrorCode::kTruncated, "the page ends inside its base64 text");
      }
      std::size_t used = 0;
      while (used < text.size() && made < buffer.size() && !ended_) {
        made += Digit(static_cast<std::uint8_t>(text[used]), &buffer[made]) ? 1 : 0;
        ++used;
      }
      if (wrong_) {
        return Fail(Error{.code = ErrorCode::kMalformed,
                          .input = {},
                          .offset = page_.offset() + used - 1,
                          .message = "a byte that is not base64"});
      }
      page_.Advance(used);
    }
    return made;
  }

 private:
  // Takes one character in; true when that completed a byte.
  bool Digit(std::uint8_t c, std::byte* out) {
    const std::uint8_t digit = kTable[c];
    if (digit >= kSkipped) {
      ended_ = digit != kSkipped;
      wrong_ = digit == kWrong;
      return false;
    }
    bits_ = bits_ << 6U | digit;
    have_ += 6;
    if (have_ < 8) {
      return false;
    }
    have_ -= 8;
    *out = static_cast<std::byte>(bits_ >> have_);
    return true;
  }

  ByteWindow& page_;
  std::uint32_t bits_ = 0;
  unsigned have_ = 0;
  bool ended_ = false;
  bool wrong_ = false;
};

}  // namespace

void FindEmbedded(ByteWindow& page) {
  while (true) {
    const std::string_view text = AsText(page.Fill(kStep));
    const std::size_t key = text.find(kBase64Key);
    if (key != std::string_view::npos) {
      page.Advance(key + kBase64Key.size());
      break;
    }
    if (text.size() < kStep) {
      ThrowRead(ErrorCode::kUnsupported, 0, {}, "an HTML page that holds no snapshot",
                "give the file that the page shows");
    }
    page.Advance(text.size() - kBase64Key.size());
  }
  const std::string_view text = AsText(page.Fill(kStep));
  const std::size_t begin = text.find_first_not_of(" \t\r\n:");
  if (begin == std::string_view::npos || text[begin] != '"') {
    ThrowRead(ErrorCode::kMalformed, page.offset(), "base64", "no text follows");
  }
  page.Advance(begin + 1);
}

std::unique_ptr<Source> MakeBase64Source(ByteWindow& page) {
  return std::make_unique<Base64Source>(page);
}

}  // namespace memtool::formats::torch_snapshot
